import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, test } from "vitest";
import { command } from "../../helpers/command.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { place, SHELL_LOCK, shellGets, take } from "../../helpers/lock.ts";
import { measure } from "../../helpers/measured.ts";
import { slotsStation } from "../../helpers/measured-station.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { PROJECT_ROOT, projectFiles } from "../../helpers/project-files.ts";
import { putProgram, toolHere } from "../../helpers/shells.ts";
import { testStation, type TestStation } from "../../helpers/station.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const EXAMPLES = join(PROJECT_ROOT, "examples");
const MAIN = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));

/** The real command under its name in PATH, as it is where somebody has installed it. */
function withCommand(env: Record<string, string>): Record<string, string> {
  const bin = tempDir();
  putProgram(bin, "touchstoned", `exec '${process.execPath}' '${MAIN}' "$@"`);
  return { ...env, PATH: `${bin}:${process.env["PATH"] ?? ""}` };
}

interface ScriptRun {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Without waiting in this thread: the server that it asks lives here. */
function script(
  path: string,
  args: readonly string[],
  { cwd, env, input = "" }: { cwd: string; env: Record<string, string>; input?: string },
): Promise<ScriptRun> {
  const child = spawn(path, args, { cwd, env: { ...process.env, ...env } });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  // A script that ends at once has read nothing.
  child.stdin.on("error", () => undefined).end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, stdout, stderr }));
  });
}

async function stationWith(models: string[]): Promise<TestStation> {
  const [model, ...aliases] = models;
  const { url } = await fakeLlamaServer({ model: model ?? "", aliases: [model ?? "", ...aliases] });
  const machine = {
    trusted_stations: ["ROOT"],
    runners: [{ name: "local", kind: "llama-server", url }],
  };
  return testStation({ policy: "schema_version: 1\n", machine: JSON.stringify(machine) });
}

describe("a night by hand", () => {
  it("is proven, run, and shown", async () => {
    const station = await stationWith(["qwen3:8b", "llama3.1:8b"]);
    cpSync(join(EXAMPLES, "night"), join(station.root, "night"), { recursive: true });
    const env = withCommand(station.env);
    const run = await script("night/run.sh", [], { cwd: station.root, env });
    expect(run.stderr).toContain("qwen3:8b");
    const summary = JSON.parse(
      readFileSync(join(station.root, "night", "summary.json"), "utf8"),
    ) as { entries: { status: string; model_id: string }[] };
    expect(summary.entries.map(({ model_id, status }) => `${model_id} ${status}`)).toEqual([
      "qwen3:8b ok",
      "llama3.1:8b ok",
    ]);
    expect(run.stdout).toContain("model_id llama3.1:8b");
    expect(run.status).toBe(0);
  });

  it("ends before it begins where a model is not served", async () => {
    const station = await stationWith(["qwen3:8b"]);
    cpSync(join(EXAMPLES, "night"), join(station.root, "night"), { recursive: true });
    const env = withCommand(station.env);
    const run = await script("night/run.sh", [], { cwd: station.root, env });
    expect(run.status).toBe(1);
    expect(run.stdout).not.toContain("model_id");
  });
});

describe("as many at once as are allowed", () => {
  const ASK = `printf '%s\\n' "$1" >> "$ANSWERS"; test "$1" != bad`;

  async function asked(days_ago: number, prompts: string) {
    const server = await fakeLlamaServer({ slots: 4 });
    const station = slotsStation({ kind: "llama-server", url: server.url });
    const model = { id: "unknown", digest: null };
    await measure(
      station.state_dir,
      { kind: "llama-server", version: "b1-fake", model, context_per_slot: 1024 },
      days_ago,
    );
    const answers = join(station.home, "answers");
    writeFileSync(answers, "");
    putProgram(station.home, "ask", ASK);
    const env = { ...withCommand(station.env), ANSWERS: answers };
    const path = join(EXAMPLES, "scripts", "ask-allowed.sh");
    const ask = join(station.home, "ask");
    const run = await script(path, [ask], { cwd: station.root, env, input: prompts });
    return { ...run, answers: readFileSync(answers, "utf8").trim().split("\n").sort() };
  }

  it("asks on each pass and sends every prompt once", async () => {
    const run = await asked(0, "one\ntwo\nand three\n");
    expect(run.answers).toEqual(["and three", "one", "two"]);
    expect(run.stderr.match(/pass \d: \d+ at once/g)).toEqual([
      "pass 1: 2 at once",
      "pass 2: 2 at once",
    ]);
    expect(run.status).toBe(0);
  });

  it("sends one at a time where the evidence has expired, and tells of one that failed", async () => {
    const run = await asked(400, "one\nbad\n");
    expect(run.answers).toEqual(["bad", "one"]);
    expect(run.stderr).toContain("pass 1: 1 at once");
    expect(run.status).toBe(1);
  });
});

describe("sharing the lock without us", () => {
  const path = join(EXAMPLES, "scripts", "share-the-lock.sh");

  it("runs the command under the very lock, and passes its status on", async () => {
    const { home, path: lock, env } = place();
    const inside = `${SHELL_LOCK.join(" ")} '${lock}' true && echo free || echo held; exit 7`;
    const setting = { cwd: home, env: withCommand(env) };
    const run = await script(path, ["sh", "-c", inside], setting);
    expect(run.stdout).toBe("held\n");
    expect(run.status).toBe(7);
    expect(shellGets(lock)).toBe(true);
  });

  it("ends 75 while something else measures", async () => {
    const { home, path: lock, env } = place();
    const held = await take(lock);
    const setting = { cwd: home, env: withCommand(env) };
    const run = await script(path, ["echo", "ran"], setting);
    held.release();
    expect(run).toMatchObject({ status: 75, stdout: "" });
  });

  it.each(onlyIf(process.platform === "linux"))("uses lockf where there is no flock", async () => {
    const { home, path: lock, env } = place();
    const bin = join(home, "bin");
    mkdirSync(bin);
    putProgram(bin, "lockf", `echo "lockf $*"`);
    for (const tool of ["sh", "sed"]) putProgram(bin, tool, `exec /bin/${tool} "$@"`);
    putProgram(bin, "touchstoned", `printf '{\\n  "path": "${lock}",\\n  "held": false\\n}\\n'`);
    const setting = { cwd: home, env: { ...env, PATH: bin, WAIT: "5" } };
    const run = await script(path, ["./bench", "x"], setting);
    expect(run.stdout).toBe(`lockf -k -t 5 ${lock} ./bench x\n`);
  });
});

describe("settings", () => {
  it.each(["station", "schedule"])("examples/%s: nothing is wrong with them", async (name) => {
    const station = await stationWith(["qwen3:8b"]);
    expect((await command(["init", station.root], { env: station.env })).exit_code).toBe(0);
    cpSync(join(EXAMPLES, name), station.root, { recursive: true });
    const setting = { cwd: station.root, env: station.env };
    const run = await command(["config", "check"], setting);
    expect(`${run.stdout}${run.stderr}`).toContain("nothing is wrong");
    expect(run.exit_code).toBe(0);
  });

  it("the scheduled files can be taken up", async () => {
    const station = await stationWith(["qwen3:8b", "llama3.1:8b"]);
    expect((await command(["init", station.root], { env: station.env })).exit_code).toBe(0);
    cpSync(join(EXAMPLES, "schedule"), station.root, { recursive: true });
    const setting = { cwd: station.root, env: station.env };
    for (const name of ["short", "long"]) {
      const run = await command(["queue", "submit", `nightly/${name}.yaml`], setting);
      expect(run).toMatchObject({ exit_code: 0 });
    }
  });
});

const scripts = projectFiles("examples", ".sh");

test.each(onlyIf(toolHere("shellcheck") !== null))("shellcheck is content with all", () => {
  expect(scripts).toHaveLength(3);
  const paths = scripts.map((path) => join(PROJECT_ROOT, path));
  const run = spawnSync(toolHere("shellcheck") ?? "", paths, { encoding: "utf8" });
  expect(run.stdout).toBe("");
});
