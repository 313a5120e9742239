import { expect, it } from "vitest";
import { benchRecorder } from "../../../bench/recorder.ts";
import { benchSampler } from "../../../bench/sampler.ts";

it("measures the share of a core that the sampler takes", async () => {
  const rows = await benchSampler(1000);
  expect(rows).toMatchObject([{ name: "sampler_cpu_share", unit: "% of a core", goal: "< 0.3" }]);
  // How much it is depends on the machine; that it is more than nothing and no busy loop does not.
  expect(rows[0]?.value).toBeGreaterThan(0);
  expect(rows[0]?.value).toBeLessThan(20);
});

it("measures what one look of the recorder costs", async () => {
  const rows = await benchRecorder(20);
  expect(rows).toMatchObject([
    { name: "probe_sample_cost", unit: "us of a core", goal: "< 1500" },
    { name: "probe_cpu_share", unit: "% of a core", goal: "< 0.3" },
  ]);
  for (const { value } of rows) expect(value).toBeGreaterThan(0);
});
