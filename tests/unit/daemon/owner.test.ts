import { expect, test } from "vitest";
import { silentLog } from "../../../src/core/log.ts";
import { processIdentity } from "../../../src/core/process-table.ts";
import { beatOnce, heartbeat, ownerProof, registerOwner } from "../../../src/daemon/owner.ts";
import type { RegisteredOwner } from "../../../src/store/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";

const ME = processIdentity(process.pid) ?? { pid: 0, start_token: "", boot_id: "" };

function registered(change: Partial<RegisteredOwner>): RegisteredOwner {
  return { ...ownerOf("box"), ...ME, registered_at_ms: T0, beat_at_ms: T0, ...change };
}

test("the host's name, then -2, -3", async () => {
  const store = new MemoryStore();
  await store.register(ownerOf("box"), T0);
  const second = await registerOwner(store, T0, ME, "box");
  const third = await registerOwner(store, T0, { ...ME, pid: 2 }, "box");
  expect([second.id, third.id]).toEqual(["box-2", "box-3"]);
});

test("on this host life is proven by number, start and boot; elsewhere nothing is", () => {
  const proof = ownerProof("box");
  expect(proof(registered({}))).toBe("alive");
  expect(proof(registered({ start_token: "other" }))).toBe("dead");
  expect(proof(registered({ boot_id: "before the reboot" }))).toBe("dead");
  expect(proof(registered({ host: "far", boot_id: "other" }))).toBe("unknown");
});

async function withDeadOwner() {
  const store = new MemoryStore();
  const clock = new FakeClock({ wall_ms: T0 });
  await store.accept(submissionOf("S"), jobsOf("S", [{}]));
  await store.register(ownerOf("box", { host: "box" }), T0);
  const job = await store.claim("box", T0, { runners: ["local"] });
  await store.start("S-0", job?.fence ?? 0, T0);
  const owner = await registerOwner(store, T0, ME, "box");
  let reaped = 0;
  const options = { store, owner, clock, log: silentLog(), onReaped: () => void (reaped += 1) };
  return { store, clock, options, reaped: () => reaped };
}

test("a beat reaps the dead, whose jobs wait again without an attempt", async () => {
  const { store, options, reaped } = await withDeadOwner();
  await beatOnce(options);
  expect(reaped()).toBe(1);
  expect(await store.job("S-0")).toMatchObject({ state: "PENDING", attempt_count: 0, owner: null });
  expect((await store.owners()).map(({ id }) => id)).toEqual(["box-2"]);
  await beatOnce(options);
  expect(reaped()).toBe(1);
});

test("one that was given up registers again", async () => {
  const { store, options } = await withDeadOwner();
  await store.reap(T0, () => "dead");
  await beatOnce(options);
  expect((await store.owners()).map(({ id }) => id)).toEqual(["box-2"]);
});

test("trouble with the store is no end of the heartbeat", async () => {
  const { options, clock } = await withDeadOwner();
  const end = new AbortController();
  let beats = 0;
  const store = {
    register: async () => ({ ok: true }) as const,
    reap: async () => ({ owners: [], interrupted: [], failed: [] }),
    beat: async () => {
      beats += 1;
      if (beats === 3) end.abort();
      throw new Error("disk full");
    },
  };
  const jumping = new FakeClock({ jumpSleeps: true, wall_ms: clock.now_ms() });
  await heartbeat({ ...options, store, clock: jumping, signal: end.signal });
  expect(beats).toBe(3);
  expect(jumping.monotonic_ms()).toBeGreaterThanOrEqual(180_000);
});
