import { expect, test } from "vitest";
import type { Loop, LoopDeps } from "../../../src/daemon/loop.ts";
import type { Job } from "../../../src/queue/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";
import { loopOver, NO_FILES, settle } from "./quiet-loop.ts";

interface Told {
  asked: number;
  held: number;
  ran: string[];
}

/** A loop that finds `files` at its first look and stores what `store` does meanwhile. */
function storing(whileStoring: (loop: Loop) => Promise<void>, change: Partial<LoopDeps> = {}) {
  const clock = new FakeClock({ wall_ms: T0 });
  const told: Told = { asked: 0, held: 0, ran: [] };
  let looks = 0;
  const loop: Loop = loopOver(clock, {
    runners: ["local"],
    takeLock: async () => {
      told.asked += 1;
      told.held += 1;
      return { path: "/lock", release: () => void (told.held -= 1) };
    },
    inbox: {
      pass: async () => {
        looks += 1;
        if (looks === 1) await whileStoring(loop);
        return NO_FILES;
      },
      finishEnded: async () => ({ placed: [], troubles: [] }),
    },
    jobRun: ({ id }: Job) => ({
      run: async (lock) => {
        told.ran.push(id);
        lock.release();
      },
      look: async () => undefined,
    }),
    ...change,
  });
  return { loop, told };
}

async function stopped(loop: Loop, running: Promise<unknown>): Promise<void> {
  await settle();
  loop.stop();
  await running;
}

test("the lock that was asked for while a file was stored is the one its job runs under", async () => {
  const store = new MemoryStore();
  const { loop, told } = storing(
    async (one) => {
      one.lockAhead();
      one.lockAhead();
      await store.register(ownerOf("box"), T0);
      await store.accept(submissionOf("S"), jobsOf("S", [{}]));
    },
    { store, owner_id: "box" },
  );
  await stopped(loop, loop.run(null));
  expect(told).toEqual({ asked: 1, held: 0, ran: [expect.any(String)] });
});

test("where no job is due it is given back before the loop waits", async () => {
  const { loop, told } = storing(async (one) => one.lockAhead());
  const running = loop.run(null);
  await settle();
  expect(told).toEqual({ asked: 1, held: 0, ran: [] });
  await stopped(loop, running);
});

test("a refusal is said where the lock is needed, and is no trouble where it is not", async () => {
  let asked = 0;
  const takeLock = () => {
    asked += 1;
    return Promise.reject(new Error("held by a shell"));
  };
  const { loop } = storing(async (one) => one.lockAhead(), { takeLock });
  const running = loop.run(null);
  await settle();
  loop.stop();
  expect(await running).toBe("stopped");
  expect(asked).toBe(1);
});

test("one that stops asks for no lock", async () => {
  const { loop, told } = storing(async (one) => {
    one.stop();
    one.lockAhead();
  });
  await loop.run(null);
  expect(told.asked).toBe(0);
});

test("it is given back before idle hours are used, whose measurements take it themselves", async () => {
  const held: number[] = [];
  const idle: LoopDeps["idle"] = {
    look: async () => {
      held.push(told.held);
      return { task: null, look_at_ms: null };
    },
    giveWay: () => undefined,
    jobEnded: () => undefined,
  };
  const { loop, told } = storing(async (one) => one.lockAhead(), { idle });
  const running = loop.run(null);
  await settle();
  expect([told.asked, held[0]]).toEqual([1, 0]);
  await stopped(loop, running);
});
