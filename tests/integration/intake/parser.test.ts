import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { prettyJson } from "../../../src/core/json.ts";
import { createParser, type Parser, type ParserOptions } from "../../../src/intake/index.ts";
import { describeModel, writeMadeModel } from "../../../src/models/index.ts";
import { openStation, type Station } from "../../../src/station/index.ts";
import { testStation } from "../../helpers/station.ts";
import { waitFor } from "../../helpers/wait.ts";
import { packText } from "../steps/setting.ts";

const SMALL_MODEL = { dim: 64, layers: 1, heads: 4, ff: 64, vocabulary_size: 400 };
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

async function parse(
  parser: Parser,
  root: string,
  text: string,
  stop?: AbortController,
  created_ms = Date.UTC(2026, 0, 15),
) {
  const seen: string[] = [];
  const outcome = await parser.parse(
    {
      schema_version: 1,
      id: ID,
      path: join(root, "inbox", "night.yaml"),
      bytes_base64: Buffer.from(text).toString("base64"),
      created_ms,
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

  it("may be given less time for one text", async () => {
    const of = await station();
    const parser = played(of, READ_THEN("for (;;);"));
    const request = { schema_version: 1 as const, id: ID, path: "q.yaml", bytes_base64: "" };
    const { signal } = new AbortController();
    const how = { signal, beforeText: () => undefined, limit_s: 0.2 };
    const outcome = await parser.parse({ ...request, created_ms: 0 }, how);
    expect(outcome).toEqual({ kind: "died", message: "parsing took longer than 0.2 s" });
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

  it("that ends in the middle of its answer has died of the text, too", async () => {
    const of = await station();
    const script = READ_THEN(`process.stdout.write('{"ok":', () => process.abort())`);
    const { outcome } = await parse(played(of, script), of.root, "x");
    expect(outcome).toMatchObject({ kind: "died", message: expect.stringContaining("SIGABRT") });
  });

  it("that says what this program does not understand is trouble, and no fault of a text", async () => {
    const of = await station();
    const script = READ_THEN(`console.log('{"ok": true, "plan": {"other": 1}}')`);
    await expect(parse(played(of, script), of.root, "x")).rejects.toThrow(/other/);
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

describe("what a plan was made of", () => {
  const TEXT = "entries:\n  - {model: m, pack: packs/mini.json}\n";
  /** By then nothing that was just written can be written once more and show the same times. */
  const LATER_MS = 3000;

  async function planned(text = TEXT, ahead_ms = LATER_MS) {
    const of = await station();
    // A station as the daemon has it, whose settings are replaced while it runs.
    const live = { ...of };
    const parser = real(live);
    const created_ms = Date.now() + ahead_ms;
    const { outcome } = await parse(parser, of.root, text, undefined, created_ms);
    if (outcome.kind !== "plan") throw new Error(JSON.stringify(outcome));
    const holds = (): boolean => parser.holds(outcome.basis);
    return { live, pack: join(of.root, "packs", "mini.json"), holds };
  }

  it("is the same as long as nobody touches it", async () => {
    const { holds, live } = await planned();
    writeFileSync(join(live.root, "packs", "other.json"), "{}");
    expect(holds()).toBe(true);
  });

  it.each<[string, (pack: string) => void]>([
    [
      "a pack was edited, with its size and its date kept",
      (pack) => {
        const { mtime } = statSync(pack);
        const text = readFileSync(pack, "utf8");
        writeFileSync(pack, text.replace("number 0", "number 9"));
        utimesSync(pack, mtime, mtime);
      },
    ],
    ["a pack got another mode", (pack) => chmodSync(pack, 0o666)],
    [
      "a pack is a link to the same file by now",
      (pack) => {
        renameSync(pack, `${pack}.real`);
        symlinkSync(`${pack}.real`, pack);
      },
    ],
    ["a pack is gone", (pack) => rmSync(pack)],
    [
      "its folder is another one",
      (pack) => {
        const folder = dirname(pack);
        cpSync(folder, `${folder}.copy`, { recursive: true, preserveTimestamps: true });
        rmSync(folder, { recursive: true });
        renameSync(`${folder}.copy`, folder);
      },
    ],
  ])("is not the same where %s", async (_, change) => {
    const { pack, holds } = await planned();
    expect(holds()).toBe(true);
    change(pack);
    expect(holds()).toBe(false);
  });

  it("is not the same where the settings of the station are others", async () => {
    const { live, holds } = await planned();
    const { settings } = live;
    live.settings = { ...settings, defaults: { ...settings.defaults, cooldown_s: 7 } };
    expect(holds()).toBe(false);
  });

  it("counts for nothing where a pack was written a moment before it was read", async () => {
    expect((await planned(TEXT, 0)).holds()).toBe(false);
  });

  it("counts for nothing where a model disk file is named: its model is judged, too", async () => {
    const of = await station();
    writeMadeModel(join(of.root, "m.gguf"), SMALL_MODEL);
    const { model } = await describeModel(join(of.root, "m.gguf"), { source_path: "m.gguf" });
    writeFileSync(join(of.root, "m.json"), prettyJson(model));
    const parser = real(of);
    const text = "entries:\n  - {model: {file: m.json}, pack: packs/mini.json}\n";
    const { outcome } = await parse(parser, of.root, text, undefined, Date.now() + LATER_MS);
    expect(outcome).toMatchObject({ kind: "plan", basis: { seen: null } });
    expect(outcome.kind === "plan" && parser.holds(outcome.basis)).toBe(false);
  });
});
