import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import {
  applySlots,
  requireMeasured,
  undoSlots,
  type ApplyOptions,
} from "../../../src/daemon/index.ts";
import type { AllowedAnswer } from "../../../src/evidence/fast.ts";
import type { RunnerSettings } from "../../../src/runners/index.ts";
import { fakeServer } from "../../helpers/fake-http.ts";
import { fakeOllama } from "../../helpers/fake-ollama.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const ANSWERING: RunnerSettings = {
  name: "local",
  kind: "ollama",
  url: null,
  api_key: null,
  start: null,
  declared_slots: null,
};

interface Bench {
  home: string;
  state_dir: string;
  said: string[];
  options: ApplyOptions;
  /** What the stand-ins were called with, in order. */
  calls: () => string[];
}

/**
 * Stand-ins for the programs of the system, which write down how they were called. Their answers are
 * those that the recorded ones gave.
 */
async function bench(
  platform: "darwin" | "linux",
  tools: Record<string, string>,
  runner: Partial<RunnerSettings> = {},
): Promise<Bench> {
  const home = tempDir();
  const bin = join(home, "bin");
  const log = join(home, "calls");
  mkdirSync(bin);
  for (const [name, script] of Object.entries(tools)) {
    const text = `#!/bin/sh\necho "${name} $*" >> ${log}\n${script}\n`;
    writeFileSync(join(bin, name), text, { mode: 0o755 });
  }
  const server = await fakeOllama();
  const state_dir = join(home, "state");
  mkdirSync(state_dir);
  const said: string[] = [];
  const options: ApplyOptions = {
    state_dir,
    runner: { ...ANSWERING, url: server.url, ...runner },
    control: {
      platform,
      env: { PATH: `${bin}:/usr/bin:/bin`, HOME: home },
      system_dir: join(home, "etc"),
      user_dir: join(home, "user"),
    },
    clock: systemClock,
    dry_run: false,
    say: (text) => said.push(text),
    back_limit_s: 5,
  };
  const calls = (): string[] =>
    existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
  return { home, state_dir, said, options, calls };
}

/** `systemctl show` as recorded: one Name=Value a line. `found` says in which of the two it is. */
function systemctl(found: "system" | "user" | "none"): string {
  const state = (scope: string): string => (scope === found ? "loaded" : "not-found");
  return `case "$*" in
"--system show"*) echo LoadState=${state("system")};;
"--user show"*) echo LoadState=${state("user")};;
esac`;
}

const NO_SYSTEMD = 'echo "Failed to connect to bus: Connection refused" >&2; exit 1';

describe("slots apply with a service of systemd", () => {
  it("writes a drop-in of the system's unit, and takes it back to the letter", async () => {
    const { home, options, said, calls, state_dir } = await bench("linux", {
      systemctl: systemctl("system"),
    });
    await applySlots(4, options);
    const directory = join(home, "etc", "ollama.service.d");
    const file = join(directory, "touchstoned-slots.conf");
    expect(readFileSync(file, "utf8")).toContain(
      '[Service]\nEnvironment="OLLAMA_NUM_PARALLEL=4"\n',
    );
    expect(calls()).toEqual([
      "systemctl --system show ollama.service --property=LoadState",
      "systemctl --system daemon-reload",
      "systemctl --system restart ollama.service",
    ]);
    expect(said).toEqual([
      expect.stringContaining(`will: write ${file}:`),
      "will: systemctl --system daemon-reload",
      "will: systemctl --system restart ollama.service",
    ]);
    // Once more: what is gone back to is still what was there first.
    await applySlots(2, options);
    expect(readFileSync(file, "utf8")).toContain("OLLAMA_NUM_PARALLEL=2");
    expect(await undoSlots(options)).toBe(true);
    expect(existsSync(directory)).toBe(false);
    expect(calls().slice(-2)).toEqual([
      "systemctl --system daemon-reload",
      "systemctl --system restart ollama.service",
    ]);
    expect(readdirSync(join(state_dir, "slots"))).toEqual([]);
    expect(await undoSlots(options)).toBe(false);
  });

  it("takes the user's unit where the system has none, and leaves what is there beside it", async () => {
    const { home, options } = await bench("linux", { systemctl: systemctl("user") });
    const directory = join(home, "user", "ollama.service.d");
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "mine.conf"), "[Service]\n");
    const file = join(directory, "touchstoned-slots.conf");
    writeFileSync(file, "# of another time\n");
    await applySlots(3, options);
    await undoSlots(options);
    expect(readFileSync(file, "utf8")).toBe("# of another time\n");
    expect(readdirSync(directory).sort()).toEqual(["mine.conf", "touchstoned-slots.conf"]);
  });

  it.each([
    ["there is no such unit", systemctl("none"), "LoadState is not-found"],
    ["there is no systemd", NO_SYSTEMD, "Failed to connect to bus: Connection refused"],
  ])("says what to do by hand where %s, and changes nothing", async (_, script, reason) => {
    const { options, state_dir } = await bench("linux", { systemctl: script });
    await expect(applySlots(2, options)).rejects.toMatchObject({
      exitCode: 69,
      message: expect.stringContaining(reason),
      hint: expect.stringContaining("OLLAMA_NUM_PARALLEL"),
    });
    expect(readdirSync(state_dir)).toEqual([]);
  });

  it("shows every step and does none of them with --dry-run", async () => {
    const { options, said, calls, home, state_dir } = await bench("linux", {
      systemctl: systemctl("system"),
    });
    await applySlots(4, { ...options, dry_run: true });
    expect(said.every((line) => line.startsWith("would: "))).toBe(true);
    expect(said).toHaveLength(3);
    expect(calls()).toHaveLength(1); // it only asked
    expect(existsSync(join(home, "etc"))).toBe(false);
    expect(readdirSync(state_dir)).toEqual([]);
  });

  it("says so where the service does not start, and can still be undone", async () => {
    const { options, home } = await bench("linux", {
      systemctl: `${systemctl("system")}\ncase "$*" in *restart*) [ -e $HOME/ok ] || { echo "Job for ollama.service failed." >&2; exit 1; };; esac`,
    });
    await expect(applySlots(4, options)).rejects.toThrow("Job for ollama.service failed.");
    writeFileSync(join(home, "ok"), "");
    expect(await undoSlots(options)).toBe(true);
    expect(existsSync(join(home, "etc", "ollama.service.d"))).toBe(false);
  });
});

/** The app of macOS: launchd's variable in a file, and a server that is up unless it was quit. */
const LAUNCHCTL = `case "$1" in
getenv) cat $HOME/variable 2>/dev/null; exit 0;;
setenv) echo "$3" > $HOME/variable;;
unsetenv) rm -f $HOME/variable;;
esac`;

/** Answers while it was not quit, and does not while it was: a file says which. */
async function app(gone: string): Promise<string> {
  const answers: Record<string, unknown> = {
    "/api/version": { version: "0.30.1" },
    "/api/tags": { models: [] },
    "/api/ps": { models: [] },
  };
  const server = await fakeServer(({ path }) =>
    existsSync(gone) ? { steps: [{ cut: true }] } : { body: answers[path] },
  );
  return server.url;
}

describe("slots apply with the app of macOS", () => {
  it.each([
    ["was not set", null],
    ["was set", "3\n"],
  ])("sets launchd's variable, starts the app again, undoes it where it %s", async (_, value) => {
    const made = await bench("darwin", {
      launchctl: LAUNCHCTL,
      osascript: "touch $HOME/gone",
      // Opened while it still answers, it would not be opened at all.
      open: "[ -e $HOME/gone ] || exit 1; rm $HOME/gone",
    });
    const { home, calls, said } = made;
    const variable = join(home, "variable");
    if (value !== null) writeFileSync(variable, value);
    const url = await app(join(home, "gone"));
    const options = { ...made.options, runner: { ...made.options.runner, url } };
    await applySlots(4, options);
    expect(readFileSync(variable, "utf8")).toBe("4\n");
    expect(calls()).toEqual([
      "launchctl getenv OLLAMA_NUM_PARALLEL",
      "launchctl setenv OLLAMA_NUM_PARALLEL 4",
      'osascript -e quit app "Ollama"',
      "open -a Ollama",
    ]);
    expect(said).toContain("will: wait until it has quit");
    expect(await undoSlots(options)).toBe(true);
    expect(existsSync(variable) ? readFileSync(variable, "utf8") : null).toBe(value);
  });
});

describe("what is not set by this program", () => {
  it("is refused with how it is done", async () => {
    const { options } = await bench("linux", {}, { kind: "llama-server" });
    await expect(applySlots(2, options)).rejects.toMatchObject({
      exitCode: 3,
      hint: expect.stringContaining("-np N"),
    });
  });

  it("is a number that was not measured to be safe", () => {
    const answer = {
      evidence: { max_safe: 3 },
      reason: "2 measured",
    } as unknown as AllowedAnswer;
    expect(() => requireMeasured(3, answer)).not.toThrow();
    expect(() => requireMeasured(4, answer)).toThrow("3 is the last number inside every bound");
    const none = { ...answer, evidence: null, reason: "never measured here" };
    expect(() => requireMeasured(1, none)).not.toThrow();
    expect(() => requireMeasured(2, none)).toThrow("never measured here");
  });
});
