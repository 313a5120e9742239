import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleState } from "../../../src/eval/index.ts";
import { lockStatus } from "../../../src/station/index.ts";
import { writeMadeModel } from "../../../src/models/index.ts";
import { fill, smallDisk } from "../../helpers/small-disk.ts";
import { waitFor } from "../../helpers/wait.ts";
import { Night, ownRunner, packText, processesWith, readSummary } from "./setting.ts";

test("a disk that fills up under a run: said clearly, nothing broken, and resume finishes", async () => {
  const disk = smallDisk();
  if (disk === undefined) return;
  const night = new Night({});
  const model_file = writeMadeModel(join(night.home, "tiny.gguf")).path;
  night.writeMachine({ runs_dir: disk, runners: [ownRunner("own", model_file)] });
  night.write("pack.json", packText({ prompts: 30, max_tokens: 200 }));
  const file = night.write("night.json", {
    entries: [
      { model: "tiny", pack: "pack.json" },
      { model: { id: "tiny", quant: "q" }, pack: "pack.json" },
    ],
  });
  const running = night.start("queue", "run", file);
  const directory = await waitFor("the first answer", () => {
    const [found] = night.submissions(disk);
    if (found === undefined) return undefined;
    try {
      const [entry] = readSummary(found).entries;
      const events = readFileSync(join(found, entry?.bundle_dir ?? "", "events.jsonl"), "utf8");
      return events.includes('"cell_done"') ? found : undefined;
    } catch {
      return undefined; // not there yet
    }
  });
  fill(disk);
  const { exit_code, stderr } = await running.finished;
  expect(exit_code).toBe(1);
  expect(stderr).toMatch(/disk is full|No space left|of disk left/);
  const before = readSummary(directory);
  for (const entry of before.entries) {
    const whole = bundleState(join(directory, entry.bundle_dir)).state === "whole";
    expect(whole && entry.eval_status !== "ok").toBe(false);
  }
  await waitFor("all to end", () => processesWith(night.home).length === 0, 10_000);
  expect((await lockStatus(night.env["TOUCHSTONED_LOCK"] ?? "")).held).toBe(false);

  for (const name of execFileSync("ls", [disk], { encoding: "utf8" }).split("\n")) {
    if (name.startsWith("filler-")) rmSync(join(disk, name));
  }
  const again = await night.run("queue", "run", "--resume", directory);
  expect(again.stderr).not.toContain("error:");
  expect(again.exit_code).toBe(0);
  expect(readSummary(directory).ok).toBe(2);
}, 240_000);
