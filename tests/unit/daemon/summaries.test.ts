import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sha256Hex } from "../../../src/core/json.ts";
import { silentLog } from "../../../src/core/log.ts";
import { Summaries } from "../../../src/daemon/summaries.ts";
import { summarySchema } from "../../../src/queue/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** A submission with two jobs, of which the first one runs its eval. */
async function inEval() {
  const directory = tempDir();
  const record = {
    schema_version: 1,
    id: "S",
    created: "2026-01-15T20:00:00.000Z",
    origin: "inbox",
    source: { path: "night.yaml", sha256: sha256Hex(""), copy: "source.yaml" },
    runner_override: null,
    inputs: [],
  };
  writeFileSync(join(directory, "submission.json"), JSON.stringify(record));
  const store = new MemoryStore();
  const detail = { file_key: "", directory, warnings: [] };
  await store.accept(
    submissionOf("S", { detail }),
    jobsOf("S", [{ id: "a", max_attempts: 1 }, { after: ["a"] }]),
  );
  const clock = new FakeClock({ wall_ms: T0 });
  const rooms = { clock, stepFault: () => "nothing is there" };
  const summaries = new Summaries({ store, rooms, log: silentLog() });
  const opened = await summaries.open("S");
  mkdirSync(join(directory, opened.summary.summary.entries[0]?.bundle_dir ?? ""));
  opened.summary.update(({ entries: [row] }) => {
    if (row === undefined) return;
    [row.status, row.step, row.since] = ["running", "eval", "2026-01-15T20:01:00.000Z"];
    [row.load_status, row.eval_status] = ["ok", "running"];
  });
  const read = () => ({
    summary: summarySchema.parse(JSON.parse(readFileSync(join(directory, "summary.json"), "utf8"))),
    page: readFileSync(join(directory, "summary.md"), "utf8"),
  });
  return { store, summaries, read };
}

test("a job whose owners died is not said to run any more, and what never ran is skipped", async () => {
  const { store, summaries, read } = await inEval();
  for (let death = 0; death < 3; death += 1) {
    await store.register(ownerOf("box"), T0);
    const job = await store.claim("box", T0, { runners: ["local"] });
    await store.start("S-0", job?.fence ?? 0, T0);
    await store.reap(T0, () => "dead");
  }
  await store.failDependants(T0);
  await summaries.sync("S");
  const { summary, page } = read();
  expect(summary.entries).toMatchObject([
    { status: "failed", step: null, since: null, eval_status: "interrupted" },
    { status: "failed", load_status: "skipped", eval_status: "skipped", eval_seconds: null },
  ]);
  expect(summary.entries[0]?.error).toContain("3 owners died");
  expect(page).not.toContain("Now:");
  expect(page).toContain("Finished: 0 of 2 ok, 2 failed.");
  // No path to a folder that was never made.
  expect(page.split("\n").find((line) => line.startsWith("| 1 "))).toMatch(/\|\s*\|$/);
});
