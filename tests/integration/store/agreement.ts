import fc from "fast-check";
import { expect } from "vitest";
import type { FailureKind, Job } from "../../../src/queue/index.ts";
import { QUEUE, type Able, type OwnerVerdict, type Store } from "../../../src/store/index.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";
import { RulesModel, type ModelJob } from "./rules-model.ts";

const SEQUENCES = 300;
const LONGEST = 40;

interface World {
  store: Store;
  model: RulesModel;
  now: number;
  files: number;
}

type Command = (world: World) => Promise<void>;
/** What makes a command print itself when a sequence fails. */
type Named = { name: string; run: Command };

function command<T>(name: string, given: fc.Arbitrary<T>, run: (w: World, v: T) => Promise<void>) {
  return given.map((value): Named & { [fc.toStringMethod]: () => string } => ({
    name,
    run: (world) => run(world, value),
    [fc.toStringMethod]: () => `${name} ${JSON.stringify(value)}`,
  }));
}

const owner = fc.constantFrom("box", "box-2");
const can = fc
  .constantFrom(["local"], ["local", "other"], ["other"])
  .map((runners) => ({ runners }));
/** Place of a job among those that run, or among all; and how old the fence is. */
const target = fc.record({
  at: fc.nat(20),
  running: fc.constantFrom(true, true, false),
  stale: fc.constantFrom(0, 0, 0, 0, 1),
});
const entry = fc.record({
  runner: fc.constantFrom("local", "local", "other"),
  priority: fc.constantFrom(90, 100, 100, 110),
  later_min: fc.constantFrom(null, null, null, 3, 30),
  max_attempts: fc.integer({ min: 1, max: 3 }),
  after: fc.constantFrom(0, 0, 1, 2),
});

function pick({ model }: World, which: { at: number; running: boolean; stale: number }) {
  const running = model.jobs.filter(({ owner: by }) => which.running && by !== null);
  const among = running.length > 0 ? running : model.jobs;
  const job = among[which.at % Math.max(1, among.length)];
  return job === undefined ? undefined : { id: job.id, fence: job.fence - which.stale };
}

/** A command on one job that says yes or no. */
function onJob(
  name: string,
  model: (world: World, id: string, fence: number) => boolean,
  store: (world: World, id: string, fence: number) => Promise<{ ok: boolean }>,
) {
  return command(name, target, async (world, which) => {
    const job = pick(world, which);
    if (job === undefined) return;
    const expected = model(world, job.id, job.fence);
    expect((await store(world, job.id, job.fence)).ok, name).toBe(expected);
  });
}

const accept = command(
  "accept",
  fc.record({ entries: fc.array(entry, { minLength: 1, maxLength: 4 }), hash: fc.nat(2) }),
  async (world, { entries, hash }) => {
    world.files += 1;
    const id = `S${String(world.files).padStart(3, "0")}`;
    const names = entries.map((_, index) => `e${index}`);
    const afters = entries.map(({ after }, index) =>
      names.slice(Math.max(0, index - after), index),
    );
    const times = entries.map(({ later_min }) =>
      later_min === null ? null : world.now + later_min * 60_000,
    );
    const given = jobsOf(
      id,
      entries.map(({ runner, priority, max_attempts }, index) => {
        const time = times[index] ?? null;
        const not_before = time === null ? null : new Date(time).toISOString();
        const base = { id: names[index] ?? null, after: afters[index] ?? [] };
        return { ...base, runner, priority, max_attempts, not_before };
      }),
    );
    const jobs = entries.map(({ runner, priority, max_attempts }, index): ModelJob => ({
      id: `${id}-${index}`,
      submission: id,
      runner,
      state: "PENDING",
      created_ms: world.now,
      first_priority: priority,
      priority,
      not_before_ms: times[index] ?? null,
      max_attempts,
      after: (afters[index] ?? []).map((name) => `${id}-${name.slice(1)}`),
      attempts: 0,
      timeouts: 0,
      deaths: 0,
      retry_after_ms: null,
      fence: 0,
      owner: null,
      held: false,
      news: false,
    }));
    const submission = submissionOf(id, { sha256: `h${hash}`, accepted_at_ms: world.now });
    const report = await world.store.accept(submission, given);
    expect(report.outcome).toBe(world.model.accept(id, `h${hash}`, jobs));
  },
);

async function doClaim(world: World, by: string, able: Able): Promise<Job | undefined> {
  const expected = world.model.claim(by, world.now, able);
  if (expected === undefined) {
    await expect(world.store.claim(by, world.now, able)).rejects.toMatchObject({
      code: "owner_unknown",
    });
    return undefined;
  }
  const job = await world.store.claim(by, world.now, able);
  expect(job?.id ?? null, "claim").toBe(expected);
  return job;
}

const claim = command("claim", fc.record({ owner, can }), async (world, given) => {
  await doClaim(world, given.owner, given.can);
});

async function doReap(world: World, proof: (owner: { id: string }) => OwnerVerdict) {
  const report = await world.store.reap(world.now, proof);
  const taken = [...report.interrupted, ...report.failed].sort();
  expect(taken).toEqual(world.model.reap(world.now, proof));
}

const KINDS: FailureKind[] = ["error", "error", "timeout", "stalled", "incurable"];
const fail = command(
  "fail",
  fc.record({ which: target, kind: fc.constantFrom(...KINDS) }),
  async (world, { which, kind }) => {
    const job = pick(world, which);
    if (job === undefined) return;
    const failure = { kind, message: "it broke", step: null };
    const outcome = await world.store.fail(job.id, job.fence, world.now, failure);
    expect(outcome.ok).toBe(world.model.fail(job.id, job.fence, kind, world.now));
  },
);

const adopt = command("adopt", fc.record({ which: target, owner }), async (world, given) => {
  const job = pick(world, given.which);
  if (job === undefined) return;
  const expected = world.model.adopt(job.id, job.fence, given.owner);
  const call = world.store.adopt(job.id, job.fence, given.owner, world.now);
  if (expected === undefined) await expect(call).rejects.toMatchObject({ code: "owner_unknown" });
  else expect((await call).ok).toBe(expected);
});

const verdict = fc.constantFrom<OwnerVerdict>("alive", "dead", "dead", "unknown");
const reap = command("reap", fc.tuple(verdict, verdict), async (world, [first, second]) => {
  await doReap(world, ({ id }) => (id === "box" ? first : second));
});

/**
 * A whole execution, after a while. Single calls taken by chance seldom come so far that a job has
 * failed twice or has ended three owners.
 */
const execution = command(
  "execution",
  fc.record({
    wait_min: fc.constantFrom(0, 6, 6, 61),
    end: fc.constantFrom(...KINDS, "complete", "complete", "die", "die", "die"),
  }),
  async (world, { wait_min, end }) => {
    const { store, model } = world;
    world.now += wait_min * 60_000;
    const { now } = world;
    const registered = await store.register(ownerOf("box", { pid: 1 }), now);
    expect(registered.ok).toBe(model.register("box", 1, now));
    const job = await doClaim(world, "box", { runners: ["local", "other"] });
    if (job === undefined) return;
    const { id, fence } = job;
    expect((await store.start(id, fence, now)).ok).toBe(model.start(id, fence));
    if (end === "die") await doReap(world, (dead) => (dead.id === "box" ? "dead" : "alive"));
    else if (end === "complete") {
      expect((await store.complete(id, fence, now, null)).ok).toBe(model.complete(id, fence));
    } else {
      const failure = { kind: end, message: "it broke", step: null };
      const outcome = await store.fail(id, fence, now, failure);
      expect(outcome.ok).toBe(model.fail(id, fence, end, now));
    }
  },
);

const step = { step: "eval", status: "ok", record: null };
const commands = fc.oneof(
  { weight: 3, arbitrary: accept },
  { weight: 14, arbitrary: execution },
  { weight: 5, arbitrary: claim },
  { weight: 4, arbitrary: fail },
  { weight: 1, arbitrary: adopt },
  { weight: 2, arbitrary: reap },
  {
    weight: 6,
    arbitrary: onJob(
      "start",
      ({ model }, id, fence) => model.start(id, fence),
      ({ store, now }, id, fence) => store.start(id, fence, now),
    ),
  },
  {
    weight: 4,
    arbitrary: onJob(
      "complete",
      ({ model }, id, fence) => model.complete(id, fence),
      ({ store, now }, id, fence) => store.complete(id, fence, now, { cells_ok: 1 }),
    ),
  },
  {
    weight: 2,
    arbitrary: onJob(
      "interrupt",
      ({ model }, id, fence) => model.interrupt(id, fence),
      ({ store, now }, id, fence) => store.interrupt(id, fence, now, "shutdown"),
    ),
  },
  onJob(
    "step",
    ({ model }, id, fence) => model.mayWrite(id, fence),
    ({ store, now }, id, fence) => store.step(id, fence, now, step),
  ),
  onJob(
    "cancel",
    ({ model }, id) => model.cancel(id),
    ({ store, now }, id) => store.cancel(id, now),
  ),
  {
    weight: 2,
    arbitrary: onJob(
      "retry",
      ({ model }, id) => model.retry(id),
      ({ store, now }, id) => store.retry(id, now),
    ),
  },
  {
    weight: 2,
    arbitrary: onJob(
      "hold",
      ({ model }, id) => model.hold(id),
      ({ store, now }, id) => store.hold(id, now),
    ),
  },
  onJob(
    "release",
    ({ model }, id) => model.release(id),
    ({ store, now }, id) => store.release(id, now),
  ),
  command("hold or release the queue", fc.constantFrom(true, false, false), async (world, held) => {
    world.model.queue_held = held;
    await (held ? world.store.hold(QUEUE, world.now) : world.store.release(QUEUE, world.now));
  }),
  command("fail dependants", fc.constant(null), async (world) => {
    const failed = await world.store.failDependants(world.now);
    expect(failed.sort()).toEqual(world.model.failDependants());
  }),
  {
    weight: 3,
    arbitrary: command(
      "register",
      fc.record({ owner, pid: fc.constantFrom(1, 1, 2) }),
      async (world, given) => {
        const outcome = await world.store.register(
          ownerOf(given.owner, { pid: given.pid }),
          world.now,
        );
        expect(outcome.ok).toBe(world.model.register(given.owner, given.pid, world.now));
      },
    ),
  },
  command("beat", owner, async (world, id) => {
    expect((await world.store.beat(id, world.now)).ok).toBe(world.model.beat(id, world.now));
  }),
  command("deregister", owner, async (world, id) => {
    expect((await world.store.deregister(id)).ok).toBe(world.model.deregister(id));
  }),
  {
    weight: 4,
    arbitrary: command(
      "tick",
      fc.constantFrom(1, 4, 6, 11, 61, -2, -90),
      async (world, minutes) => {
        world.now += minutes * 60_000;
      },
    ),
  },
);

async function compare({ store, model, now }: World): Promise<void> {
  const seen = (await store.jobs()).map((job) => ({
    id: job.id,
    state: job.state,
    priority: job.priority,
    attempts: job.attempt_count,
    timeouts: job.timeout_count,
    deaths: job.owner_deaths,
    retry_after_ms: job.state === "FAILED" ? job.retry_after_ms : null,
    fence: job.fence,
    owner: job.owner,
    held: job.held_at_ms !== null,
  }));
  const wanted = model.jobs.map((job) => ({
    id: job.id,
    state: job.state,
    priority: job.priority,
    attempts: job.attempts,
    timeouts: job.timeouts,
    deaths: job.deaths,
    retry_after_ms: job.state === "FAILED" ? job.retry_after_ms : null,
    fence: job.fence,
    owner: job.owner,
    held: job.held,
  }));
  expect(seen).toEqual(wanted);
  const open = (await store.submissions()).map(({ id, open_jobs }) => [id, open_jobs]);
  expect(open).toEqual(model.submissions.map(({ id }) => [id, model.open(id)]));
  const owners = (await store.owners()).map(({ id, beat_at_ms }) => `${id} ${beat_at_ms}`);
  expect(owners).toEqual(model.owners.map(({ id, beat_ms }) => `${id} ${beat_ms}`).sort());
  for (const runners of [["local"], ["local", "other"]]) {
    expect(await store.nextDue(now, { runners }), "nextDue").toBe(model.nextDue(now, { runners }));
  }
  expect(await store.check()).toEqual([]);
}

/** Random sequences of calls: the store and the rules must say the same after each of them. */
export function agreesWithRules(open: () => Store): Promise<void> {
  const sequences = fc.array(commands, { maxLength: LONGEST, size: "max" });
  const property = fc.asyncProperty(sequences, async (sequence) => {
    const world: World = { store: open(), model: new RulesModel(), now: T0, files: 0 };
    world.model.register("box", 1, T0);
    await world.store.register(ownerOf("box", { pid: 1 }), T0);
    for (const { run } of sequence) {
      await run(world);
      await compare(world);
    }
    await world.store.close();
  });
  return fc.assert(property, { numRuns: SEQUENCES });
}
