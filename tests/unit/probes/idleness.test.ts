import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readIdleness } from "../../../src/probes/idleness.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function rootWith(files: Record<string, string>): string {
  const root = tempDir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const STALLS = "some avg10=0.00 avg60=12.50 avg300=1.00 total=9\nfull avg10=0.00 avg60=1.00\n";

test("pressure is the share of the last minute, power what the supplies say", async () => {
  const root = rootWith({
    "proc/pressure/memory": STALLS,
    "sys/class/power_supply/BAT0/type": "Battery",
    "sys/class/power_supply/BAT0/status": "Discharging",
  });
  const { load, pressure, power } = await readIdleness({ platform: "linux", root });
  expect(pressure).toEqual({ value: 0.125, reason: null });
  expect(power.value).toBe("battery");
  expect(load.value).toBeGreaterThanOrEqual(0);
});

test("what is not told has its reason", async () => {
  const bare = await readIdleness({ platform: "linux", root: tempDir() });
  expect(bare.pressure).toMatchObject({ value: null, reason: /keeps no pressure/ });
  expect(bare.power.value).toBeNull();
  const odd = rootWith({ "proc/pressure/memory": "some avg10=0.00\n" });
  const without = await readIdleness({ platform: "linux", root: odd });
  expect(without.pressure.reason).toContain("without avg60");
  const other = await readIdleness({ platform: "freebsd" });
  expect(other.pressure.reason).toContain("freebsd");
});
