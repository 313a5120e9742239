import { describe, expect, it } from "vitest";
import { checkConfig, openStation, settingRows, faultText } from "../../../src/station/index.ts";
import { DEFAULT_BOUNDS } from "../../../src/verdict/index.ts";
import { testStation } from "../../helpers/station.ts";

const RUNNERS = `runners:
  - name: one
    kind: llama-server
    url: http://127.0.0.1:8080
  - name: two
    kind: ollama
    url: http://127.0.0.1:11434
`;

async function faultsOf(policy: string, machine = RUNNERS): Promise<string[]> {
  const { root, env } = testStation({ policy, machine });
  const { faults } = await checkConfig({ env, cwd: root });
  return faults.map((fault) => faultText(fault).replaceAll(root, "ROOT"));
}

describe("the split between the two files", () => {
  it("merges the policy into what the machine allows", async () => {
    const { root, env } = testStation({
      policy:
        "defaults: {runner: two, settle: {timeout_s: 5}, reset_command: ollama stop m}\nlimits: {step_timeout_s: {eval: 600}, min_free_disk_mb: 5000}\npower: {keep_awake: never}\n",
      machine: `${RUNNERS}limits: {step_timeout_s: {eval: 7200, judge: 100}}\nreset_commands: [restart it]\nslots: {text_answers: any}\n`,
    });
    const { settings } = await openStation({ env, cwd: root });
    expect(settings).toEqual({
      defaults: { runner: "two", settle: { timeout_s: 5 }, reset_command: "ollama stop m" },
      limits: {
        step_timeout_s: { load: 14_400, eval: 600, judge: 100 },
        idle_timeout_s: { eval: 7200, judge: 7200 },
        min_free_disk_mb: 5000,
      },
      power: { keep_awake: "never" },
      inbox: { min_age_seconds: 30 },
      queue: {},
      schedule: [],
      local_models: { concurrent_runs: 1 },
      slots: { max_slots: 8, bounds: DEFAULT_BOUNDS, text_answers: "any" },
      evidence: { commit: "branch", max_age_days: 30, renew_before_days: 5 },
      calibration: {
        by_itself: true,
        max_load: 0.3,
        max_pressure: 0.05,
        power: "ac",
        max_tokens: 512,
      },
      runner_names: ["one", "two"],
      allowed_reset_commands: ["lms unload --all", "ollama stop MODEL", "restart it"],
    });
  });

  it("takes a list of trusted stations without an entry for an empty one", async () => {
    expect(await faultsOf("", "trusted_stations:\n")).toEqual([]);
    const { root, env } = testStation({ policy: "", machine: "trusted_stations:\n  # - /x\n" });
    const station = await openStation({ env, cwd: root });
    expect(station.machine.trusted_stations).toEqual([]);
    expect(station.trust_reason).toContain("trusted_stations");
  });

  it("lets machine.yaml decide where both speak about power", async () => {
    const { root, env } = testStation({
      policy: "power: {keep_awake: while_running}\n",
      machine: "power: {keep_awake: never}\n",
    });
    const { settings } = await openStation({ env, cwd: root });
    expect(settings.power.keep_awake).toBe("never");
  });

  it("refuses a looser limit, naming both values and both files", async () => {
    const [fault, other] = await faultsOf(
      "limits:\n  step_timeout_s:\n    eval: 9000\n  min_free_disk_mb: 5\n",
      "schema_version: 1\nlimits:\n  step_timeout_s: {eval: 7200}\n",
    );
    expect(fault).toMatch(
      /^ROOT\/touchstoned\.yaml:3:11: limits\.step_timeout_s\.eval: 9000 is looser than 7200 \(.*machine\.yaml:3\)/,
    );
    expect(other).toMatch(
      /min_free_disk_mb: 5 is looser than 1024 \(the default, which .*machine\.yaml/,
    );
  });

  it.each([
    ["runners: []", '"runners" is not for a repository to say'],
    ["lock_path: /tmp/x", '"lock_path" is not for a repository to say'],
    ["trusted_stations: [/]", '"trusted_stations" is not for a repository to say'],
    ["defaults: {api_key_file: /etc/shadow}", '"api_key_file" is not for a repository to say'],
    ["defaults: {binary: /bin/sh}", '"binary" is not for a repository to say'],
    ["defaults: {runner: 'http://evil.example'}", '"http://evil.example" is no runner of'],
    ["defaults: {runner: onee}", 'Did you mean "one"?'],
    ["local_models: {runner: twoo}", 'Did you mean "two"?'],
    ["local_models: {concurrent_runs: 0}", "expected number to be >0"],
    ["local_models: {concurrent_runs: true}", 'from 1 to 64, or "measured"'],
    ["local_models: {concurrent_runs: many}", 'from 1 to 64, or "measured"'],
    ["slots: {bounds: {memory_ceiling: 0.9}}", "a repository may only tighten it"],
    ["slots: {bounds: {swap_growth: 0}}", "a repository may only tighten it"],
    ["slots: {bounds: {swap_floor_mb_per_min: 65}}", "a repository may only tighten it"],
    ["slots: {bounds: {pressure_stall_share: .2}}", "a repository may only tighten it"],
    ["evidence: {max_age_days: 31}", "a repository may only tighten it"],
    ["evidence: {commit: main}", "evidence.commit"],
    ["evidence: {renew_before_days: 31}", "evidence.renew_before_days"],
    ["calibration: {window: '* 25 * * *'}", "its hour is out of range"],
    ["calibration: {power: battery}", "calibration.power"],
    ["calibration: {max_pressure: 2}", "calibration.max_pressure"],
    ["calibration: {binary: /bin/sh}", '"binary" is not for a repository to say'],
    ["defaults: {reset_command: sh evil.sh}", '"sh evil.sh" is not among the reset commands'],
    ["defaults: {reset_command: ollama stop m; sh}", "is not among the reset commands"],
    ["defaults: {setle: {}}", 'Did you mean "settle"?'],
    ["defaults: {step_timeout_s: {eval: 900000}}", "900000 is above the limit of 172800"],
    ["schema_version: 2", "this program knows schema_version 1 only"],
    ["- 1", "expected object"],
    ["a: [", "not valid YAML"],
    ["[".repeat(900), "nested deeper"],
  ])("refuses %s in touchstoned.yaml", async (policy, message) => {
    const faults = await faultsOf(policy);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(message);
    expect(faults[0]).toMatch(/^ROOT\/touchstoned\.yaml/);
  });

  it.each([
    ["{name: a, kind: ollama}", "needs url"],
    ["{name: a, kind: llama-server}", "needs either url or start"],
    ["{name: a, kind: embedded}", "needs start with a model_file"],
    ["{name: a, kind: openai, start: {model_file: /m}}", "is not started by this program"],
    ["{name: a, kind: ollama, url: 'ftp://h'}", "must be a URL like"],
    ["{name: a, kind: ollama, url: 'http://h:1/v1'}", "must end after the port (http://h:1)"],
    ["{name: a, kind: ollama, url: 'http://u:p@h'}", "use api_key_file"],
    ["{name: a/b, kind: ollama, url: 'http://h'}", "must be letters"],
    ["{name: a, kind: olama, url: 'http://h'}", "ollama"],
    ["{name: a, kind: llama-server, start: {model_file: m.gguf}}", "must be an absolute path"],
    ["{name: a, kind: llama-server, start: {model_file: /m, binary: ./x}}", "looked up in PATH"],
    [
      '{name: a, kind: llama-server, start: {model_file: /m, args: ["-t", "2", "--port=22222"]}}',
      "--port is set by touchstoned",
    ],
  ])("refuses the runner %s in machine.yaml", async (runner, message) => {
    const [fault] = await faultsOf("", `runners:\n  - ${runner}\n`);
    expect(fault).toContain(message);
    expect(fault).toContain("machine.yaml:2:");
  });

  it("refuses two runners of one name", async () => {
    const runner = "{name: a, kind: ollama, url: 'http://h'}";
    const [fault] = await faultsOf("", `runners:\n  - ${runner}\n  - ${runner}\n`);
    expect(fault).toMatch(/machine\.yaml:3:\d+: runners\.1\.name: another runner is called "a"/);
  });
});

describe("checkConfig", () => {
  it("lists what is wrong in both files, all of it", async () => {
    const faults = await faultsOf(
      "limts: {}\ndefaults: {cooldown_s: -1}\n",
      "lock_path: relative\nrunner: []\n",
    );
    expect(faults).toHaveLength(4);
    expect(faults.join("\n")).toContain('Did you mean "runners"?');
    expect(faults.join("\n")).toContain('Did you mean "limits"?');
  });

  it("says what is missing without calling it wrong", async () => {
    const { root, env } = testStation({ policy: "" });
    const report = await checkConfig({ env, cwd: root });
    expect(report.faults).toEqual([]);
    expect(report.warnings.join("\n")).toContain("`touchstoned init` makes one");
    expect(report.warnings.join("\n")).toContain("not trusted:");
  });

  it("looks at key files", async () => {
    const [fault] = await faultsOf(
      "",
      "runners: [{name: a, kind: openai, url: 'http://h', api_key_file: /nonexistent/key}]\n",
    );
    expect(fault).toContain('api_key_file of runner "a": there is no /nonexistent/key');
  });
});

describe("settingRows", () => {
  it("says where each value comes from", () => {
    const { root, env } = testStation({
      policy: "defaults:\n  settle:\n    timeout_s: 5\nlimits:\n  step_timeout_s: {eval: 600}\n",
      machine: `${RUNNERS}limits: {idle_timeout_s: {eval: 60}}\n`,
    });
    const rows = new Map(settingRows({ env, cwd: root }).map((row) => [row.key, row]));
    const said = (key: string): unknown[] => [rows.get(key)?.value, rows.get(key)?.origin.text];
    expect(said("defaults.settle.timeout_s")).toEqual([5, "touchstoned.yaml:3"]);
    expect(said("defaults.settle.epsilon_mb")).toEqual([200, "default"]);
    expect(said("limits.step_timeout_s.eval")).toEqual([600, "touchstoned.yaml:5"]);
    expect(said("limits.idle_timeout_s.eval")).toEqual([60, "machine.yaml:8"]);
    // The default of 1800 is above the machine's limit, so the limit is what holds.
    expect(said("defaults.idle_timeout_s.eval")).toEqual([60, "machine.yaml:8"]);
    expect(said("runners.1.url")).toEqual(["http://127.0.0.1:11434", "machine.yaml:7"]);
    expect(said("lock_path")).toEqual([env["TOUCHSTONED_LOCK"], "environment TOUCHSTONED_LOCK"]);
    expect(said("station")).toEqual([root, "nearest parent with touchstoned.yaml"]);
    expect(rows.get("runners.1.url")?.origin.file).toMatch(/machine\.yaml$/);
  });
});

describe("the policy of slots", () => {
  it("is shown with every default, and with the line where one is changed", () => {
    const policy =
      "local_models:\n  concurrent_runs: measured\nslots:\n  bounds: {memory_ceiling: 0.7}\n";
    const { root, env } = testStation({ policy, machine: RUNNERS });
    const shown = new Map(
      settingRows({ env, cwd: root }).map(({ key, value, origin }) => [key, [value, origin.text]]),
    );
    expect(shown.get("local_models.concurrent_runs")).toEqual(["measured", "touchstoned.yaml:2"]);
    expect(shown.get("local_models.runner")).toEqual([null, "default"]);
    expect(shown.get("slots.bounds.memory_ceiling")).toEqual([0.7, "touchstoned.yaml:4"]);
    expect(shown.get("slots.bounds.swap_growth")).toEqual([2, "default"]);
    expect(shown.get("slots.max_slots")).toEqual([8, "default"]);
    expect(shown.get("evidence.max_age_days")).toEqual([30, "default"]);
  });
});
