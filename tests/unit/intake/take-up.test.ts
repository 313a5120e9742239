import { describe, expect, it } from "vitest";
import { detailOf } from "../../../src/intake/detail.ts";
import { readRecord } from "../../../src/intake/journal.ts";
import { Crash } from "../../helpers/fault-disk.ts";
import {
  INBOX,
  MIN_AGE_MS,
  NEVER,
  outcomes,
  queueText,
  reasonOf,
  rest,
  taken,
  World,
} from "./world.ts";

const GOOD = queueText("good");

describe("taking up", () => {
  it("stores the jobs of a file in the order of its entries, and leaves it where it is", async () => {
    const world = new World();
    const inbox = await world.open();
    const text = `${GOOD}  - model: other\n    runner: local\n    pack: packs/a.yaml\n`;
    const sha256 = world.drop("night.yaml", text);
    const { "night.yaml": outcome } = await taken(world, inbox);
    expect(outcome).toMatchObject({ kind: "accepted", jobs: 2, warnings: [] });
    const [submission] = await world.store.submissions();
    expect(submission).toMatchObject({ file_name: "night.yaml", sha256, open_jobs: 2 });
    const jobs = await world.store.jobsOf(submission?.id ?? "");
    expect(jobs.map(({ entry }) => entry.model.id)).toEqual(["good", "other"]);
    const { directory } = detailOf(submission ?? { detail: null }) ?? { directory: "" };
    expect(jobs.map(({ bundle_dir }) => bundle_dir)).toEqual([
      `${directory}/e0`,
      `${directory}/e1`,
    ]);
    expect(world.disk.text(submission?.snapshot_path ?? "")).toBe(text);
    expect(world.disk.exists(`${INBOX}/night.yaml`)).toBe(true);
    expect(world.disk.tree("/state/intake")).toEqual([]);
  });

  it("does not look at the file of an open submission again, nor after a restart", async () => {
    const world = new World();
    let inbox = await world.open();
    world.drop("a.yaml", GOOD);
    await taken(world, inbox);
    expect(await taken(world, inbox)).toEqual({});
    inbox = await world.open();
    expect(await taken(world, inbox)).toEqual({});
    expect(world.parser.parsed).toBe(1);
  });

  it("knows a file again that was only touched or copied over itself", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    const first = await taken(world, inbox);
    world.clock.advance(1000);
    world.drop("a.yaml", GOOD);
    expect(await taken(world, inbox)).toEqual({
      "a.yaml": {
        kind: "already",
        submission_id: (first["a.yaml"] as { submission_id: string }).submission_id,
      },
    });
    expect(await taken(world, inbox)).toEqual({});
    expect(world.in("rejected")).toEqual([]);
  });

  it("rejects the same bytes under another name while they are open, and names the submission", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    const first = await taken(world, inbox);
    const { submission_id } = first["a.yaml"] as { submission_id: string };
    world.drop("b.yaml", GOOD);
    expect(await taken(world, inbox)).toMatchObject({
      "b.yaml": { kind: "rejected", duplicate_of: submission_id, refusal: { rule: "duplicate" } },
    });
    expect(reasonOf(world, "b.yaml").message).toContain(submission_id);
  });

  it("takes the same bytes up again once they have ended: a nightly file runs every night", async () => {
    const world = new World();
    const inbox = await world.open();
    for (let night = 1; night <= 3; night += 1) {
      world.drop("nightly.yaml", GOOD);
      const { "nightly.yaml": outcome } = await taken(world, inbox);
      expect(outcome?.kind).toBe("accepted");
      const [open] = await world.store.submissions({ open: true });
      await world.endJobs(open?.id ?? "");
      expect(await inbox.finish(open?.id ?? "")).toMatchObject({ how: "moved" });
      expect(world.in("done")).toHaveLength(night);
      expect(await world.store.submissions()).toHaveLength(night);
    }
  });

  it("takes an edited file up as new work beside the first", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    await taken(world, inbox);
    world.drop("a.yaml", queueText("edited"));
    expect((await taken(world, inbox))["a.yaml"]?.kind).toBe("accepted");
    const submissions = await world.store.submissions({ open: true });
    for (const { id } of submissions) await world.endJobs(id);
    expect((await inbox.finish(submissions[0]?.id ?? ""))?.how).toBe("copied");
    expect((await inbox.finish(submissions[1]?.id ?? ""))?.how).toBe("moved");
    const texts = world.disk.tree(`${INBOX}/done`).map((path) => world.disk.text(path));
    expect(texts.sort()).toEqual([queueText("edited"), GOOD].sort());
  });

  it("waits for a file that is changed while it is read", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    await inbox.pass(NEVER);
    world.clock.advance(MIN_AGE_MS);
    let looks = 0;
    world.disk.step = (call, path) => {
      // After the scan's look and before the read.
      if (path.endsWith("/a.yaml") && call === "read" && (looks += 1) === 1) {
        world.drop("a.yaml", queueText("changed"));
      }
    };
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("waits");
    expect((await taken(world, inbox))["a.yaml"]?.kind).toBe("accepted");
    const [submission, ...more] = await world.store.submissions();
    expect(more).toEqual([]);
    expect(world.disk.text(submission?.snapshot_path ?? "")).toBe(queueText("changed"));
  });
});

describe("a text that ends its parser", () => {
  it("is tried once more after a window and then rejected; other files are taken up", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a-killer.yaml", queueText("killer"));
    world.drop("b.yaml", GOOD);
    const die = (bytes: Buffer) =>
      bytes.includes("killer") ? { kind: "died" as const, message: "signal SIGABRT" } : undefined;
    world.parser.play.push(die, die, die, die);
    const first = await taken(world, inbox);
    expect(first["a-killer.yaml"]).toEqual({ kind: "waits", why: "signal SIGABRT" });
    expect(first["b.yaml"]?.kind).toBe("accepted");
    expect(outcomes(await inbox.pass(NEVER))).toEqual({});
    expect((await taken(world, inbox))["a-killer.yaml"]).toMatchObject({
      kind: "rejected",
      refusal: { rule: "kills_parser", message: expect.stringContaining("signal SIGABRT") },
    });
    expect(world.disk.tree("/state/intake")).toEqual([]);
  });

  it("is put aside unparsed once it has cost two whole processes", async () => {
    const world = new World();
    const sha256 = world.drop("killer.yaml", queueText("killer"));
    for (let life = 1; life <= 2; life += 1) {
      const inbox = await world.open();
      world.parser.play.push(() => {
        world.disk.step = () => {
          throw new Crash();
        };
        throw new Crash();
      });
      await rest(world, inbox);
      world.disk.crash(() => false, "none");
      expect(readRecord(world.disk, world.intake.paths, sha256)?.strikes).toBe(life);
    }
    const found = await taken(world, await world.open());
    expect(found["killer.yaml"]).toMatchObject({ refusal: { rule: "kills_parser" } });
    expect(world.parser.parsed).toBe(2);
    expect(world.disk.tree("/state/intake")).toEqual([]);
  });

  it("is not blamed for an orderly stop, nor for a machine that can start no parser", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    world.parser.play.push(
      () => ({ kind: "stopped" }),
      () => ({ kind: "unavailable", message: "EAGAIN" }),
    );
    expect((await taken(world, inbox))["a.yaml"]).toEqual({ kind: "stopped" });
    expect((await taken(world, inbox))["a.yaml"]).toEqual({ kind: "trouble", message: "EAGAIN" });
    expect((await taken(world, inbox))["a.yaml"]?.kind).toBe("accepted");
  });
});

describe("putting away", () => {
  async function ended(how: "complete" | "fail" | "cancel") {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    const found = await taken(world, inbox);
    const { submission_id } = found["a.yaml"] as { submission_id: string };
    expect(await inbox.finish(submission_id)).toBeNull(); // not before the last job ended
    await world.endJobs(submission_id, how);
    return { world, inbox, submission_id };
  }

  it.each([
    ["complete", "done"],
    ["fail", "failed"],
    ["cancel", "failed"],
  ] as const)("after %s the file is in %s/, by a name of its own", async (how, folder) => {
    const { world, inbox, submission_id } = await ended(how);
    const placed = await inbox.finish(submission_id);
    expect(placed?.how).toBe("moved");
    expect(placed?.path).toMatch(
      new RegExp(`/${folder}/2026-01-15T20-00-30Z-${submission_id}-a\\.yaml$`),
    );
    expect((await world.store.submission(submission_id))?.placed_path).toBe(placed?.path);
    expect(world.disk.exists(`${INBOX}/a.yaml`)).toBe(false);
    expect(await inbox.finish(submission_id)).toMatchObject({ how: "already" });
    expect(world.in(folder)).toEqual(["a.yaml"]);
  });

  it("keeps a copy of what ran where the person deleted the file", async () => {
    const { world, inbox, submission_id } = await ended("complete");
    world.disk.remove(`${INBOX}/a.yaml`);
    expect(await inbox.finishEnded()).toEqual({ placed: [submission_id], troubles: [] });
    expect(world.disk.tree(`${INBOX}/done`).map((path) => world.disk.text(path))).toEqual([GOOD]);
  });

  it("moves no link, directory or other thing that has the name now", async () => {
    const { world, inbox, submission_id } = await ended("complete");
    world.disk.remove(`${INBOX}/a.yaml`);
    world.disk.putSpecial(`${INBOX}/a.yaml`, "symlink");
    expect(await inbox.finish(submission_id)).toMatchObject({ how: "copied" });
    expect(world.disk.exists(`${INBOX}/a.yaml`)).toBe(true);
  });

  it("says so where neither file nor snapshot are there", async () => {
    const { world, inbox, submission_id } = await ended("complete");
    world.disk.remove(`${INBOX}/a.yaml`);
    world.disk.remove((await world.store.submission(submission_id))?.snapshot_path ?? "");
    expect(await inbox.finish(submission_id)).toMatchObject({ how: "nothing" });
    expect(await inbox.finishEnded()).toEqual({ placed: [], troubles: [] });
  });

  it("loses no edit that comes between the look and the move", async () => {
    const { world, inbox, submission_id } = await ended("complete");
    world.disk.step = (call, path) => {
      if (call !== "rename" || !path.includes("/done/")) return;
      world.disk.step = () => {};
      world.drop("a.yaml", queueText("edited"));
    };
    expect(await inbox.finish(submission_id)).toMatchObject({ how: "copied" });
    expect(world.disk.text(`${INBOX}/a.yaml`)).toBe(queueText("edited"));
    expect(world.disk.tree(`${INBOX}/done`).map((path) => world.disk.text(path))).toEqual([GOOD]);
    expect((await taken(world, inbox))["a.yaml"]?.kind).toBe("accepted");
  });

  it("moves a file from failed/ to done/ when a retry by hand ended well", async () => {
    const { world, inbox, submission_id } = await ended("fail");
    await inbox.finish(submission_id);
    const [job] = await world.store.jobsOf(submission_id);
    expect(await world.store.retry(job?.id ?? "", world.clock.now_ms())).toMatchObject({
      ok: true,
    });
    await world.endJobs(submission_id);
    expect(await inbox.finish(submission_id)).toMatchObject({ how: "moved" });
    expect([world.in("failed"), world.in("done")]).toEqual([[], ["a.yaml"]]);
  });
});

describe("when to look next", () => {
  it("is a little before a file falls ripe, so that a parser is ready by then", async () => {
    const world = new World();
    const inbox = await world.open();
    expect(await inbox.pass(NEVER)).toMatchObject({ next_look_ms: null, waiting: 0 });
    world.drop("a.yaml", GOOD);
    expect(await inbox.pass(NEVER)).toMatchObject({ next_look_ms: MIN_AGE_MS - 4000, waiting: 1 });
    expect(world.parser.warmed).toBe(0);
    world.clock.advance(MIN_AGE_MS - 4000);
    expect(await inbox.pass(NEVER)).toMatchObject({ next_look_ms: MIN_AGE_MS - 2000 });
    expect(world.parser.warmed).toBe(1);
    world.clock.advance(2000);
    expect(await inbox.pass(NEVER)).toMatchObject({ next_look_ms: MIN_AGE_MS });
    world.clock.advance(2000);
    expect(await inbox.pass(NEVER)).toMatchObject({ next_look_ms: null, waiting: 0 });
  });

  it("comes ten seconds after trouble, and the file is then taken up", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    await inbox.pass(NEVER);
    world.clock.advance(MIN_AGE_MS);
    world.disk.step = (call) => {
      if (call === "mkdir") throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    };
    const report = await inbox.pass(NEVER);
    expect(outcomes(report)["a.yaml"]).toEqual({
      kind: "trouble",
      message: "ENOSPC: no space left",
    });
    expect(report.next_look_ms).toBe(MIN_AGE_MS + 6000);
    expect(outcomes(await inbox.pass(NEVER))).toEqual({});
    world.disk.step = () => {};
    world.clock.advance(10_000);
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
  });
});
