import { describe, expect, it } from "vitest";
import { readRecord, writeRecord } from "../../../src/intake/journal.ts";
import { parseQueueFile } from "../../../src/queue/index.ts";
import { queueContext } from "../queue/context.ts";
import { Inbox } from "../../../src/intake/inbox.ts";
import {
  INBOX,
  MIN_AGE_MS,
  NEVER,
  outcomes,
  queueText,
  ripen,
  RUNS,
  taken,
  World,
} from "./world.ts";

const GOOD = queueText("good");
/** What has to be written before a submission is whole. */
const PARTS = ["inputs/pack.yaml", "source.yaml"];

function written(world: World): string[] {
  return world.disk.tree(RUNS).map((path) => path.split("/").slice(4).join("/"));
}

/** A file of which all is done but the last step. */
async function prepared() {
  const world = new World();
  const inbox = await world.open();
  const sha256 = world.drop("a.yaml", GOOD);
  await ripen(world, inbox);
  expect(written(world)).toEqual(PARTS);
  expect(readRecord(world.disk, world.intake.paths, sha256)?.storing).not.toBeNull();
  return { world, inbox, sha256 };
}

async function expectNothingLeft(world: World): Promise<void> {
  const stored = await world.store.submissions();
  expect(written(world)).toHaveLength(3 * stored.length);
  expect(world.disk.readdir(RUNS)).toHaveLength(stored.length);
  expect(world.disk.tree("/state/intake")).toEqual([]);
}

describe("a file that rests alone", () => {
  it("is parsed before it is ripe, and stored when it is, with nothing parsed anew", async () => {
    const { world, inbox } = await prepared();
    expect(await world.store.submissions()).toEqual([]);
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]).toMatchObject({ kind: "accepted" });
    expect(world.parser.parsed).toBe(1);
    const [submission] = await world.store.submissions();
    expect(submission?.accepted_at_ms).toBe(world.clock.now_ms());
    expect(world.disk.text(submission?.snapshot_path ?? "")).toBe(GOOD);
    await expectNothingLeft(world);
  });

  it("is stored no earlier than it is ripe, however often it is looked at", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    const report = await ripen(world, inbox);
    expect(report).toMatchObject({ outcomes: [], next_look_ms: MIN_AGE_MS });
    world.clock.advance(-1);
    expect(outcomes(await inbox.pass(NEVER))).toEqual({});
    world.clock.advance(1);
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    expect(world.parser.parsed).toBe(1);
  });

  it("waits for a parser that is only being started, and goes the usual way without one", async () => {
    const world = new World();
    const inbox = await world.open();
    world.parser.starts = false;
    world.drop("a.yaml", GOOD);
    expect((await ripen(world, inbox)).next_look_ms).toBe(MIN_AGE_MS - 1750);
    expect(written(world)).toEqual([]);
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });
});

describe("what was prepared is let go, and the file taken up as it is by then", () => {
  it("where a file that it names was changed", async () => {
    const { world, inbox } = await prepared();
    world.parser.pack = "edited pack";
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    const [submission] = await world.store.submissions();
    const directory = submission?.snapshot_path?.replace("/source.yaml", "") ?? "";
    expect(world.disk.text(`${directory}/inputs/pack.yaml`)).toBe("edited pack");
    expect(world.parser.parsed).toBe(2);
    await expectNothingLeft(world);
  });

  it("where the file itself was", async () => {
    const { world, inbox } = await prepared();
    world.drop("a.yaml", queueText("edited"));
    expect(outcomes(await inbox.pass(NEVER))).toEqual({});
    await expectNothingLeft(world);
    await ripen(world, inbox);
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    const [submission, ...more] = await world.store.submissions();
    expect(more).toEqual([]);
    expect(world.disk.text(submission?.snapshot_path ?? "")).toBe(queueText("edited"));
    await expectNothingLeft(world);
  });

  it("where it is changed between the look and the reading", async () => {
    const { world, inbox } = await prepared();
    world.disk.step = (call, path) => {
      if (call !== "read" || !path.endsWith("/a.yaml")) return;
      world.disk.step = () => {};
      world.drop("a.yaml", queueText("edited"));
    };
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("waits");
    await expectNothingLeft(world);
  });

  it("where it was deleted", async () => {
    const { world, inbox } = await prepared();
    world.disk.remove(`${INBOX}/a.yaml`);
    expect(await inbox.pass(NEVER)).toMatchObject({ outcomes: [], next_look_ms: null });
    await expectNothingLeft(world);
  });

  it("where its mode is not to be trusted any more", async () => {
    const { world, inbox } = await prepared();
    world.fileFault = "run: chmod go-w it";
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]).toMatchObject({
      kind: "rejected",
      refusal: { rule: "bad_mode" },
    });
    await expectNothingLeft(world);
  });

  it("where it has another name by now", async () => {
    const { world, inbox } = await prepared();
    world.disk.move(`${INBOX}/a.yaml`, `${INBOX}/b.yaml`);
    await inbox.pass(NEVER);
    await expectNothingLeft(world);
    await ripen(world, inbox);
    expect(outcomes(await inbox.pass(NEVER))["b.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });

  it("where the same bytes were taken up meanwhile", async () => {
    const { world, inbox, sha256 } = await prepared();
    const { entries } = parseQueueFile(GOOD, "b.yaml", queueContext());
    const meta = { snapshot_path: null, accepted_at_ms: 0, detail: null };
    await world.store.accept(
      { id: "other", file_name: "b.yaml", sha256, ...meta },
      entries.map((entry, index) => ({ id: `job ${index}`, index, entry, bundle_dir: "/b" })),
    );
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]).toMatchObject({
      kind: "rejected",
      refusal: { rule: "duplicate" },
    });
    expect(world.disk.readdir(RUNS)).toEqual([]);
    expect(world.disk.tree("/state/intake")).toEqual([]);
  });

  it("where the daemon stops", async () => {
    const { world, inbox } = await prepared();
    await inbox.close();
    await expectNothingLeft(world);
    expect(world.disk.exists(`${INBOX}/a.yaml`)).toBe(true);
  });

  it("where another file is ripe first, since it cannot be looked at any more", async () => {
    const { world, inbox } = await prepared();
    world.disk.step = (call, path) => {
      if (call !== "lstat" || !path.endsWith("/a.yaml")) return;
      throw Object.assign(new Error("input/output error"), { code: "EIO" });
    };
    world.drop("b.yaml", queueText("other"));
    await ripen(world, inbox);
    expect(written(world)).toEqual(PARTS);
    expect(outcomes(await inbox.pass(NEVER))["b.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });

  it("where the disk fails at the last step, which is said, and it is tried again", async () => {
    const { world, inbox } = await prepared();
    world.disk.step = (call, path) => {
      if (call !== "open" || !path.endsWith("submission.json")) return;
      throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    };
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("trouble");
    world.disk.step = () => {};
    world.clock.advance(10_000);
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });
});

describe("nothing is prepared", () => {
  async function unprepared(world: World, ...names: string[]) {
    const inbox = await world.open();
    for (const name of names) world.drop(name, queueText(name));
    await ripen(world, inbox);
    expect(written(world)).toEqual([]);
    return outcomes(await inbox.pass(NEVER));
  }

  it("where two files wait: each has the parser to itself when it is ripe", async () => {
    const found = await unprepared(new World(), "a.yaml", "b.yaml");
    expect(Object.values(found).map(({ kind }) => kind)).toEqual(["accepted", "accepted"]);
  });

  it("where what it names may have been changed unseen", async () => {
    const world = new World();
    world.parser.settled = false;
    const found = await unprepared(world, "a.yaml");
    expect(found["a.yaml"]?.kind).toBe("accepted");
    expect(world.parser.parsed).toBe(2);
    await expectNothingLeft(world);
  });

  it("of a fault, which is said when the file is ripe: it may be mended by then", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", "entries: 3\n");
    expect((await ripen(world, inbox)).outcomes).toEqual([]);
    expect(world.parser.parsed).toBe(1);
    await expectNothingLeft(world);
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("rejected");
  });

  it("of a text that ends its parser, which has its two tries when it is ripe", async () => {
    const world = new World();
    const die = () => ({ kind: "died" as const, message: "signal SIGABRT" });
    world.parser.play.push(die, die, die);
    const found = await unprepared(world, "a.yaml");
    expect(found["a.yaml"]).toEqual({ kind: "waits", why: "signal SIGABRT" });
    expect(world.parser.parsed).toBe(2);
    expect(world.parser.limits_s).toEqual([2, undefined]);
  });

  it("of a text that has cost a parser before", async () => {
    const world = new World();
    const inbox = await world.open();
    const sha256 = world.drop("a.yaml", GOOD);
    world.parser.play.push(() => ({ kind: "died" as const, message: "signal SIGABRT" }));
    await inbox.pass(NEVER);
    world.clock.advance(MIN_AGE_MS);
    await inbox.pass(NEVER);
    await ripen(world, inbox);
    expect(world.parser.parsed).toBe(1);
    expect(readRecord(world.disk, world.intake.paths, sha256)?.strikes).toBe(1);
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });

  it("of an orderly stop, and nothing stays of it", async () => {
    const world = new World();
    world.parser.play.push(() => ({ kind: "stopped" as const }));
    const found = await unprepared(world, "a.yaml");
    expect(found["a.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });

  it("where the disk is full, without a word: the file is not due yet", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    world.disk.step = (call) => {
      if (call === "mkdir") throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    };
    expect((await ripen(world, inbox)).outcomes).toEqual([]);
    await expectNothingLeft(world);
    world.disk.step = () => {};
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });
});

describe("what was prepared stays with the journal", () => {
  it("while the runs are away, over stop and start, until they are there again", async () => {
    const { world, inbox, sha256 } = await prepared();
    world.inboxFault = "the runs are away";
    expect(await inbox.pass(NEVER)).toMatchObject({ blocked: "the runs are away" });
    await inbox.close();
    const next = await world.open();
    expect(await next.pass(NEVER)).toMatchObject({ blocked: "the runs are away" });
    expect(written(world)).toEqual(PARTS);
    expect(readRecord(world.disk, world.intake.paths, sha256)?.storing).not.toBeNull();
    world.inboxFault = null;
    await next.pass(NEVER);
    await expectNothingLeft(world);
    await ripen(world, next);
    expect(outcomes(await next.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });

  it("where it cannot be undone, which is said at the start and keeps nothing else", async () => {
    const { world } = await prepared();
    world.drop("b.yaml", queueText("other"));
    const failing = world.disk.readdir(RUNS)[0] ?? "";
    world.disk.step = (call, path) => {
      if (call !== "rmdir" || !path.endsWith(failing)) return;
      throw Object.assign(new Error("not empty"), { code: "ENOTEMPTY" });
    };
    const next = new Inbox(world.intake, { min_age_ms: MIN_AGE_MS });
    const { troubles } = await next.recover();
    expect(troubles).toEqual([`${failing}: its taking-up cannot be undone: not empty`]);
    const found = await taken(world, next);
    expect(found["b.yaml"]?.kind).toBe("accepted");
    expect(found["a.yaml"]?.kind).toBe("trouble");
    world.disk.step = () => {};
    world.clock.advance(10_000);
    expect(outcomes(await next.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });

  it("until a pass that can settle it, and is not taken for settled by one that could not", async () => {
    const { world } = await prepared();
    world.inboxFault = "the runs are away";
    const next = new Inbox(world.intake, { min_age_ms: MIN_AGE_MS });
    expect((await next.recover()).accepted).toBeNull();
    let asked = 0;
    const { trust } = world.intake;
    // There when it is asked first, gone when the journal is to be settled.
    const inbox = () => ((asked += 1) === 2 ? "gone" : null);
    const flicker = new Inbox({ ...world.intake, trust: { ...trust, inbox } }, { min_age_ms: 0 });
    expect(await flicker.pass(NEVER)).toMatchObject({ blocked: expect.stringContaining("gone") });
    expect(written(world)).toEqual(PARTS);
    world.inboxFault = null;
    await next.pass(NEVER);
    await expectNothingLeft(world);
  });

  it("where it is not ours any more: another daemon has begun the same file", async () => {
    const { world, inbox, sha256 } = await prepared();
    const record = readRecord(world.disk, world.intake.paths, sha256);
    if (record === undefined) throw new Error("no record");
    const other = { ...record, storing: { submission_id: "other", directory: "night-other" } };
    writeRecord(world.disk, world.intake.paths, other);
    await inbox.close();
    expect(readRecord(world.disk, world.intake.paths, sha256)).toEqual(other);
    expect(written(world)).toEqual(PARTS);
  });
});

describe("trouble around the parsing of a text", () => {
  const failure = (): Error => Object.assign(new Error("input/output error"), { code: "EIO" });

  it.each<[string, (world: World) => void]>([
    [
      "a parser that cannot be understood",
      (world) =>
        world.parser.play.push(() => {
          throw new Error("what is this?");
        }),
    ],
    [
      "a disk that fails when it is noted that a text is parsed",
      (world) => {
        let syncs = 0;
        world.disk.step = (call, path) => {
          if (call === "fsync" && path.includes("/intake/") && (syncs += 1) === 1) throw failure();
        };
      },
    ],
    [
      "a disk that fails when it is noted what it becomes",
      (world) => {
        let opens = 0;
        world.disk.step = (call, path) => {
          if (call === "open" && path.includes("/intake/") && (opens += 1) === 2) throw failure();
        };
      },
    ],
  ])("%s is no strike against it, however often it happens", async (_, fail) => {
    const world = new World();
    const inbox = await world.open();
    const sha256 = world.drop("a.yaml", GOOD);
    fail(world);
    await ripen(world, inbox); // in vain
    expect(written(world)).toEqual([]);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      fail(world);
      expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("trouble");
      expect(readRecord(world.disk, world.intake.paths, sha256)).toBeUndefined();
      world.clock.advance(10_000);
    }
    world.disk.step = () => {};
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("accepted");
    await expectNothingLeft(world);
  });
});
