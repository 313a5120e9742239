import { expect, test } from "vitest";
import { checkConfig, faultText, openStation, settingRows } from "../../../src/station/index.ts";
import { testStation } from "../../helpers/station.ts";

async function faultsOf(policy: string): Promise<string[]> {
  const { root, env } = testStation({ policy });
  const { faults } = await checkConfig({ env, cwd: root });
  return faults.map((fault) => faultText(fault).replaceAll(root, "ROOT"));
}

const NIGHTLY = "schedule:\n  - {name: nightly, at: 0 22 * * *, file: queues/nightly.yaml}\n";

test("window and schedule are read, with the default of what is left out", async () => {
  const policy = `queue:\n  window: "* 20-23 * * *"\n${NIGHTLY}`;
  const { root, env } = testStation({ policy });
  const { settings } = await openStation({ env, cwd: root });
  expect(settings.queue).toEqual({ window: "* 20-23 * * *" });
  expect(settings.schedule).toEqual([
    { name: "nightly", at: "0 22 * * *", file: "queues/nightly.yaml", catch_up_hours: 24 },
  ]);
  const rows = settingRows({ env, cwd: root });
  const window = rows.find(({ key }) => key === "queue.window");
  expect([window?.value, window?.origin.text]).toEqual(["* 20-23 * * *", "touchstoned.yaml:2"]);
  expect(rows.find(({ key }) => key === "schedule")?.origin.text).toBe("touchstoned.yaml:3");
});

test("without either, jobs start at any time and nothing is dropped", async () => {
  const { root, env } = testStation({ policy: "schema_version: 1\n" });
  const rows = settingRows({ env, cwd: root });
  const values = rows.filter(({ key }) => key === "queue.window" || key === "schedule");
  expect(values.map(({ value }) => value)).toEqual(["any time", []]);
});

test("an impossible pattern is a fault of the file, with its line", async () => {
  const [window] = await faultsOf("schema_version: 1\nqueue:\n  window: 0 0 31 2 *\n");
  expect(window).toBe(
    'ROOT/touchstoned.yaml:3:11: queue.window: "0 0 31 2 *" fits no minute of any year.',
  );
  const [at] = await faultsOf(NIGHTLY.replace("0 22", "0 25"));
  expect(at).toContain("ROOT/touchstoned.yaml:2:25: schedule.0.at:");
  expect(at).toContain("a value of its hour is out of range");
});

test.each([
  ["/etc/night.yaml", "inside the station"],
  ["../night.yaml", "lead out"],
  ["queues/../../night.yaml", "lead out"],
  ["inbox/night.yaml", "must not lie in inbox/"],
  ["night.txt", "must end in"],
])("the file %s is refused", async (file, why) => {
  const [fault] = await faultsOf(NIGHTLY.replace("queues/nightly.yaml", file));
  expect(fault).toContain(`schedule.0.file: `);
  expect(fault).toContain(why);
});

test("names are plain, and each is there once", async () => {
  const [odd] = await faultsOf(NIGHTLY.replace("name: nightly", 'name: "../x"'));
  expect(odd).toContain("schedule.0.name: must be letters");
  const [twice] = await faultsOf(NIGHTLY + NIGHTLY.replace("schedule:\n", ""));
  expect(twice).toContain('another entry is called "nightly", too');
});
