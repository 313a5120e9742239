import { describe, expect, it } from "vitest";
import { REASON_SUFFIX } from "../../../src/intake/placing.ts";
import { Crash, TEARS, type FaultCode, type Tear } from "../../helpers/fault-disk.ts";
import { INBOX, MIN_AGE_MS, NEVER, queueText, ripen, RUNS, World } from "./world.ts";

const GOOD = queueText("good");
const EDITED = queueText("edited");
const BAD = "entries: 3\n";

/** What happens in one life of the process. Each call may be its last. */
type Scene = (world: World) => Promise<void>;

async function takeUpAll(world: World): Promise<void> {
  const inbox = await world.open();
  for (let pass = 0; pass < 3; pass += 1) {
    await inbox.pass(NEVER);
    world.clock.advance(MIN_AGE_MS);
  }
}

async function endAll(world: World): Promise<void> {
  for (const { id } of await world.store.submissions({ open: true })) await world.endJobs(id);
}

const SCENES: Record<string, { scene: Scene; files: { [name: string]: string } }> = {
  "taking up and rejecting": { scene: takeUpAll, files: { "good.yaml": GOOD, "bad.yaml": BAD } },
  "taking up what was prepared": {
    files: { "good.yaml": GOOD },
    async scene(world) {
      const inbox = await world.open();
      await ripen(world, inbox);
      await inbox.pass(NEVER);
    },
  },
  "taking up where what was prepared does not hold any more": {
    files: { "good.yaml": GOOD },
    async scene(world) {
      const inbox = await world.open();
      await ripen(world, inbox);
      world.parser.pack = "another pack";
      await inbox.pass(NEVER);
    },
  },
  "starting while the runs are away, and having them back": {
    files: { "good.yaml": GOOD },
    async scene(world) {
      // A life that ends with the file whole in its directory, and not yet stored.
      const before = await world.open();
      await ripen(world, before);
      world.inboxFault = "the runs are away";
      const inbox = await world.open();
      await inbox.pass(NEVER);
      world.inboxFault = null;
      await inbox.pass(NEVER);
      world.clock.advance(MIN_AGE_MS);
      await inbox.pass(NEVER);
    },
  },
  "a stop after a file was prepared": {
    files: { "good.yaml": GOOD },
    async scene(world) {
      const inbox = await world.open();
      await ripen(world, inbox);
      await inbox.close();
    },
  },
  "putting away": {
    files: { "good.yaml": GOOD },
    async scene(world) {
      const inbox = await world.open();
      await endAll(world);
      await inbox.finishEnded();
    },
  },
  "putting away what was edited meanwhile": {
    files: { "good.yaml": GOOD },
    async scene(world) {
      const inbox = await world.open();
      await endAll(world);
      await inbox.finishEnded();
    },
  },
};

/** A world in which the scene can begin. */
async function begin(name: string): Promise<World> {
  const world = new World();
  for (const [file, text] of Object.entries(SCENES[name]?.files ?? {})) world.drop(file, text);
  if (name.startsWith("putting")) await takeUpAll(world);
  if (name.endsWith("meanwhile")) world.drop("good.yaml", EDITED);
  return world;
}

/** Runs the scene; `at` is called before each step of disk and store with its number. */
async function play(name: string, world: World, at: (step: number, call: string) => void) {
  let steps = 0;
  world.disk.step = (call, path) => at(steps++, `${call} ${path}`);
  world.fault = (method, when) => {
    if (["accept", "place"].includes(method)) at(steps++, `${when} ${method}`);
  };
  try {
    await SCENES[name]?.scene(world);
  } catch {
    // The process ends with it, whatever it was.
  }
  world.disk.step = () => {};
  world.fault = () => {};
  return steps;
}

/** From here on all goes well: what was dropped ends where it belongs, once. */
async function settleAndCheck(world: World, name: string, what: string): Promise<void> {
  world.inboxFault = null;
  const edited = name.endsWith("meanwhile");
  await takeUpAll(world);
  await endAll(world);
  const inbox = await world.open();
  expect(await inbox.finishEnded(), what).toMatchObject({ troubles: [] });
  if (edited) {
    // The edit is new work, at the latest when the first submission has ended.
    await takeUpAll(world);
    await endAll(world);
    await (await world.open()).finishEnded();
  }
  const submissions = await world.store.submissions();
  const names = submissions.map(({ file_name }) => file_name);
  expect(await world.store.check(), what).toEqual([]);
  expect(new Set(submissions.map(({ sha256 }) => sha256)).size, what).toBe(names.length);
  expect(world.in("done"), what).toEqual(edited ? ["good.yaml", "good.yaml"] : ["good.yaml"]);
  expect(world.in("failed"), what).toEqual([]);
  const bad =
    "bad.yaml" in (SCENES[name]?.files ?? {}) ? ["bad.yaml", `bad.yaml${REASON_SUFFIX}`] : [];
  expect(world.in("rejected"), what).toEqual(bad);
  const left = world.disk.tree(INBOX).filter((path) => !/\/(?:done|rejected)\//.test(path));
  expect(left, what).toEqual([]);
  const snapshots = submissions.map(({ snapshot_path }) => world.disk.text(snapshot_path ?? ""));
  expect(snapshots.sort(), what).toEqual((edited ? [EDITED, GOOD] : [GOOD]).sort());
  const done = world.disk.tree(`${INBOX}/done`).map((path) => world.disk.text(path));
  expect(done.sort(), what).toEqual(snapshots);
  // No directory but those of stored submissions, and each of these whole.
  const runs = submissions.flatMap(({ snapshot_path }) => {
    const directory = (snapshot_path ?? "").replace(/\/source\.yaml$/, "");
    return ["inputs/pack.yaml", "source.yaml", "submission.json"].map((f) => `${directory}/${f}`);
  });
  expect(world.disk.tree(RUNS), what).toEqual(runs.sort());
  expect(world.disk.tree("/state/intake"), what).toEqual([]);
}

/** Which of the unsynced changes survive: all subsets of a few, else some telling ones. */
function subsets(count: number): ((change: number) => boolean)[] {
  if (count <= 4) {
    return Array.from({ length: 2 ** count }, (_, bits) => (n: number) => (bits & (1 << n)) !== 0);
  }
  return [() => false, () => true, (n) => n % 2 === 0, (n) => n % 2 === 1, (n) => n === count - 1];
}

async function crashAt(name: string, last: number) {
  const world = await begin(name);
  let what = "";
  await play(name, world, (step, call) => {
    if (step < last) return;
    if (what === "") what = `crash before step ${last}: ${call}`;
    throw new Crash(what);
  });
  return { world, what };
}

describe.each(Object.keys(SCENES))("%s", { timeout: 60_000 }, (name) => {
  // `settleAndCheck` holds the expectations.
  it("survives a crash before each step, with any of what was not synced lost or torn", async () => {
    const total = await play(name, await begin(name), () => {});
    expect(total).toBeGreaterThan(15);
    for (let step = 0; step <= total; step += 1) {
      const { unsynced } = (await crashAt(name, step)).world.disk;
      const tears: readonly Tear[] = unsynced === 0 ? ["all"] : TEARS;
      for (const [index, kept] of subsets(unsynced).entries()) {
        for (const tear of tears) {
          const { world, what } = await crashAt(name, step);
          world.disk.crash(kept, tear);
          await settleAndCheck(world, name, `${what}; subset ${index} of ${unsynced}, ${tear}`);
        }
      }
    }
  });

  it.each(["ENOSPC", "EIO", "EACCES", "EMFILE"] satisfies FaultCode[])(
    "survives %s at each call",
    async (code) => {
      const total = await play(name, await begin(name), () => {});
      for (let step = 0; step < total; step += 1) {
        const world = await begin(name);
        let what = "";
        await play(name, world, (at, call) => {
          if (at !== step) return;
          what = `${code} at step ${step}: ${call}`;
          throw Object.assign(new Error(what), { code });
        });
        await settleAndCheck(world, name, what);
      }
      expect(total).toBeGreaterThan(15);
    },
  );

  it("survives a disk that is full from each step on, and a crash after it", async () => {
    const total = await play(name, await begin(name), () => {});
    for (let step = 0; step < total; step += 1) {
      const world = await begin(name);
      await play(name, world, (at, call) => {
        if (at < step || !/^(?:open|write|fsync|mkdir|link|before)/.test(call)) return;
        throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
      });
      world.disk.crash(() => true, "half");
      await settleAndCheck(world, name, `full from step ${step} on`);
    }
    expect(total).toBeGreaterThan(15);
  });
});
