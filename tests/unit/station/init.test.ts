import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jobLimitsSchema, jobSettingsSchema } from "../../../src/core/job-settings.ts";
import { parseText } from "../../../src/core/yaml.ts";
import {
  initStation,
  machineSchema,
  openStation,
  policySchema,
} from "../../../src/station/index.ts";
import { machineTemplate, policyTemplate } from "../../../src/station/templates.ts";
import { testStation } from "../../helpers/station.ts";

describe("initStation", () => {
  it("makes a station that opens and is trusted", async () => {
    const { home, root, env, machine_path } = testStation();
    const report = await initStation("station/new", { env, cwd: home });
    const made = join(root, "new");
    expect(report).toMatchObject({ root: made, trusted: true, trust_reason: null, kept: [] });
    expect(report.changed).toEqual([
      join(made, ".git"),
      join(made, "touchstoned.yaml"),
      join(made, "inbox", "README.md"),
      join(made, "inbox", "examples", "night.yaml"),
      join(made, ".gitignore"),
      join(made, "packs", "office-basics.yaml"),
      join(made, "packs", "plumbing.yaml"),
      machine_path,
    ]);
    expect(existsSync(join(made, "evidence"))).toBe(false);
    expect(statSync(machine_path).mode & 0o777).toBe(0o600);
    expect((await openStation({ env, cwd: made })).trusted).toBe(true);
  });

  it("changes nothing the second time", async () => {
    const { root, env, machine_path } = testStation();
    await initStation(undefined, { env, cwd: root });
    const before = readFileSync(machine_path, "utf8");
    const again = await initStation(undefined, { env, cwd: root });
    expect(again.changed).toEqual([]);
    expect(again.kept).toHaveLength(5);
    expect(readFileSync(machine_path, "utf8")).toBe(before);
  });

  it("makes no repository inside of one, and copies no packs beside others", async () => {
    const { home, root, env } = testStation();
    mkdirSync(join(root, "packs"));
    await initStation(root, { env, cwd: home });
    const inner = join(root, "inner");
    const report = await initStation(inner, { env, cwd: home });
    expect(report.changed).not.toContain(join(inner, ".git"));
    expect(readdirSync(join(root, "packs"))).toEqual([]);
    expect(readdirSync(join(inner, "packs"))).toHaveLength(2);
  });

  it("says that a file is no directory", async () => {
    const { home, env } = testStation();
    const path = join(home, "file");
    writeFileSync(path, "");
    await expect(initStation(path, { env, cwd: home })).rejects.toThrow(
      `${path}: it is not a directory`,
    );
  });

  it("keeps what a person wrote in every file", async () => {
    const machine = "# my machine\ntrusted_stations:\n  - /other # keep me\n";
    const { root, env, machine_path } = testStation({ policy: "# my policy\n", machine });
    writeFileSync(join(root, ".gitignore"), "*.log");
    mkdirSync(join(root, "inbox"));
    writeFileSync(join(root, "inbox", "README.md"), "mine");
    await initStation(root, { env, cwd: "/" });
    expect(readFileSync(join(root, "touchstoned.yaml"), "utf8")).toBe("# my policy\n");
    expect(readFileSync(join(root, "inbox", "README.md"), "utf8")).toBe("mine");
    expect(readFileSync(join(root, ".gitignore"), "utf8")).toBe(
      "*.log\n/inbox/*\n!/inbox/README.md\n!/inbox/examples/\n",
    );
    expect(readFileSync(machine_path, "utf8")).toBe(`${machine}  - ${root}\n`);
  });

  it("edits the file behind a machine.yaml that is a link, and leaves the link", async () => {
    const { home, root, env, machine_path } = testStation({ machine: "" });
    const real = join(home, "dotfiles.yaml");
    writeFileSync(real, "# dots\n", { mode: 0o600 });
    const linkEnv = { ...env, TOUCHSTONED_MACHINE_CONFIG: join(home, "link.yaml") };
    symlinkSync(real, join(home, "link.yaml"));
    await initStation(root, { env: linkEnv, cwd: home });
    expect(readFileSync(real, "utf8")).toContain(`- ${root}`);
    expect(readFileSync(machine_path, "utf8")).toBe("");
  });

  it("trusts nothing whose configuration is wrong", async () => {
    const { root, env, machine_path } = testStation({ policy: "runners: []\n" });
    await expect(initStation(root, { env, cwd: "/" })).rejects.toMatchObject({ exitCode: 78 });
    expect(existsSync(machine_path)).toBe(false);
    expect(existsSync(join(root, "inbox"))).toBe(false);
  });

  it("writes through no link that leads out", async () => {
    const { home, root, env } = testStation();
    mkdirSync(join(home, "victim"));
    symlinkSync(join(home, "victim"), join(root, "inbox"));
    await expect(initStation(root, { env, cwd: "/" })).rejects.toMatchObject({
      code: "outside_station",
    });
    expect(existsSync(join(home, "victim", "README.md"))).toBe(false);
  });

  it("refuses the home directory, which holds the state", async () => {
    const { home, env } = testStation();
    await expect(initStation(home, { env, cwd: "/" })).rejects.toMatchObject({
      code: "nested_station",
    });
  });
});

/** The template with its comment signs taken away, where they stand before a setting. */
function uncommented(text: string): string {
  return text
    .split("\n")
    .map((line) => line.replace(/^# (?=\s*[a-z_]+:(?:\s|$))/, ""))
    .filter((line) => !/: \.\.\./.test(line))
    .join("\n");
}

describe("the templates", () => {
  it("are valid as they are, and say nothing that is not a default", () => {
    expect(policySchema.parse(parseText(policyTemplate(), "t").value)).toEqual(
      policySchema.parse({}),
    );
    expect(machineSchema.parse(parseText(machineTemplate(), "t").value)).toEqual(
      machineSchema.parse({}),
    );
  });

  it("show every default as the schema has it", () => {
    const shown = policySchema.parse(parseText(uncommented(policyTemplate()), "t").value);
    expect(shown.defaults).toEqual(jobSettingsSchema.parse({}));
    expect(shown.limits).toEqual(jobLimitsSchema.parse({}));
    expect(shown.power.keep_awake).toBe("while_running");
  });
});
