import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { createParser, type Parser, type ParserOptions } from "../../../src/intake/index.ts";
import { openStation, type Station } from "../../../src/station/index.ts";
import { testStation } from "../../helpers/station.ts";
import { waitFor } from "../../helpers/wait.ts";
import { packText } from "../steps/setting.ts";

const ID = "01KF1KXHSGW59R65YVKSME2YM1";
const MACHINE =
  "trusted_stations: [ROOT]\nrunners: [{name: local, kind: ollama, url: 'http://127.0.0.1:1'}]\n";

async function station(): Promise<Station> {
  const { root, env } = testStation({ policy: "schema_version: 1\n", machine: MACHINE });
  mkdirSync(join(root, "inbox"));
  mkdirSync(join(root, "packs"));
  writeFileSync(join(root, "packs", "mini.json"), packText({ prompts: 1, max_tokens: 5 }));
  return openStation({ env, cwd: root });
}

async function parse(parser: Parser, root: string, text: string, stop?: AbortController) {
  const seen: string[] = [];
  const outcome = await parser.parse(
    {
      schema_version: 1,
      id: ID,
      path: join(root, "inbox", "night.yaml"),
      bytes_base64: Buffer.from(text).toString("base64"),
      created_ms: Date.UTC(2026, 0, 15),
    },
    {
      signal: (stop ?? new AbortController()).signal,
      beforeText() {
        seen.push("ready");
        // A stop that comes while the text is parsed.
        setImmediate(() => stop?.abort());
      },
    },
  );
  return { outcome, seen };
}

function real(of: Station, change: Partial<ParserOptions> = {}): Parser {
  return createParser({ station: of, clock: systemClock, ...change });
}

/** A parser whose child runs `script` instead of the real command. */
function played(of: Station, script: string, change: Partial<ParserOptions> = {}): Parser {
  return real(of, { command: [process.execPath, "-e", script], ...change });
}

const READ_THEN = (what: string) =>
  `console.log("ready"); process.stdin.once("data", () => { ${what} });`;

describe("the parsing child", () => {
  it("plans the directory of a submission with everything that the file names", async () => {
    const of = await station();
    const text = "entries:\n  - {model: m, pack: packs/mini.json}\n";
    const { outcome, seen } = await parse(real(of), of.root, text);
    expect(seen).toEqual(["ready"]);
    if (outcome.kind !== "plan") throw new Error(JSON.stringify(outcome));
    const { plan } = outcome;
    expect(plan.directory).toBe(`2026-01-15T00-00-00Z-${ID}-night`);
    expect(plan.files.map(({ path }) => path)).toEqual([
      "source.yaml",
      expect.stringMatching(/^inputs\/[0-9a-f]{12}-mini\.json$/),
      "submission.json",
    ]);
    expect(plan.files[0]?.bytes.toString()).toBe(text);
    expect(plan.jobs).toMatchObject([{ bundle: "e0-m-mini", entry: { runner: "local" } }]);
  });

  it.each<[string, string, object]>([
    [
      "a fault",
      "entries:\n  - {modl: m, pack: packs/mini.json}\n",
      { rule: "bad_queue_file", line: 2, column: 5 },
    ],
    [
      "no pack",
      "entries:\n  - {model: m, pack: packs/no.json}\n",
      { rule: "bad_queue_file", line: 2 },
    ],
    [
      "a path outside",
      "entries:\n  - {model: m, pack: ../x}\n",
      { message: expect.stringContaining("leads out") },
    ],
    [
      "a pack",
      packText({ prompts: 1, max_tokens: 5 }),
      { rule: "misplaced", what_to_do: expect.stringContaining("packs/") },
    ],
    [
      "a config",
      "request_limits: {load_s: 5}\n",
      { rule: "misplaced", message: expect.stringContaining("an eval config") },
    ],
    [
      "a machine.yaml",
      MACHINE,
      { rule: "misplaced", message: expect.stringContaining("a machine.yaml") },
    ],
    [
      "a policy",
      "limits: {}\n",
      { rule: "misplaced", message: expect.stringContaining("touchstoned.yaml") },
    ],
  ])("refuses %s with a reason", async (_, text, refusal) => {
    const of = await station();
    const { outcome } = await parse(real(of), of.root, text);
    expect(outcome).toMatchObject({ kind: "refused", refusal });
    if (outcome.kind !== "refused") return;
    expect(outcome.refusal.message).toMatch(/^night\.yaml:/);
    expect(outcome.refusal.message).not.toContain(`${of.root}/inbox`);
  });

  it("is there ahead of time where it was asked for, and is used once", async () => {
    const of = await station();
    const parser = played(
      of,
      READ_THEN(`console.log(JSON.stringify({ok: false, refusal:
      {rule: "pid", message: String(process.pid), line: null, column: null, what_to_do: ""}}))`),
    );
    parser.warm();
    parser.warm();
    const pids = [];
    for (let n = 0; n < 2; n += 1) {
      const { outcome } = await parse(parser, of.root, "x");
      if (outcome.kind === "refused") pids.push(outcome.refusal.message);
    }
    expect(new Set(pids).size).toBe(2);
    parser.close();
  });

  it("is ended when it takes too long, whatever it does", async () => {
    const of = await station();
    const parser = played(of, READ_THEN("for (;;);"), { limit_s: 0.3 });
    const { outcome, seen } = await parse(parser, of.root, "x");
    expect(outcome).toEqual({ kind: "died", message: "parsing took longer than 0.3 s" });
    expect(seen).toEqual(["ready"]);
  });

  it("may not eat the memory of the machine", async () => {
    const of = await station();
    const script = READ_THEN(
      "const all = []; for (;;) all.push(new Array(1e5).fill({}).map(() => ({})));",
    );
    const { outcome } = await parse(played(of, script, { heap_mb: 32 }), of.root, "x");
    expect(outcome).toMatchObject({
      kind: "died",
      message: expect.stringMatching(/heap|SIGABRT/i),
    });
  });

  it("that ends without an answer has died of the text", async () => {
    const of = await station();
    const { outcome } = await parse(played(of, READ_THEN("process.abort()")), of.root, "x");
    expect(outcome).toMatchObject({ kind: "died", message: expect.stringContaining("SIGABRT") });
  });

  it.each([
    [
      "never starts",
      'process.stderr.write("Error: no memory\\n"); process.exit(1)',
      /exit 1: Error: no memory/,
    ],
    ["says something else", 'console.log("hello"); process.exit(0)', /did not start/],
  ])("that %s is the machine's trouble, before any text was seen", async (_, script, message) => {
    const of = await station();
    const { outcome, seen } = await parse(played(of, script), of.root, "x");
    expect(outcome).toMatchObject({ kind: "unavailable", message: expect.stringMatching(message) });
    expect(seen).toEqual([]);
  });

  it("that was warmed for nothing is let go, and ends", async () => {
    const of = await station();
    const marker = join(of.root, "ended");
    const parser = played(
      of,
      `process.stdin.resume().on("end", () => fs.writeFileSync(${JSON.stringify(marker)}, ""));`,
    );
    parser.warm();
    parser.close();
    expect(await waitFor("the end of the child", () => existsSync(marker))).toBe(true);
  });

  it("is ended at once when the daemon stops", async () => {
    const of = await station();
    const parser = played(of, READ_THEN("for (;;);"));
    const stop = new AbortController();
    const { outcome } = await parse(parser, of.root, "x", stop);
    expect(outcome).toEqual({ kind: "stopped" });
  });
});
