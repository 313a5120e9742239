import { describe, expect, test } from "vitest";
import type { Job } from "../../../src/queue/index.ts";
import type { Store } from "../../../src/store/index.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";

export const CAN = { runners: ["local"] };
export const MINUTE = 60_000;
export const ERROR = { kind: "error", message: "it broke", step: "eval" } as const;

/** Takes up one file and registers the owner `box`. */
export async function withJobs(store: Store, entries: Parameters<typeof jobsOf>[1]): Promise<void> {
  await store.accept(submissionOf("S1"), jobsOf("S1", entries));
  await store.register(ownerOf("box"), T0);
}

export async function claimed(store: Store, now_ms = T0): Promise<Job> {
  const job = await store.claim("box", now_ms, CAN);
  if (job === undefined) throw new Error("nothing was claimed");
  return job;
}

export async function started(store: Store, now_ms = T0): Promise<Job> {
  const job = await claimed(store, now_ms);
  const outcome = await store.start(job.id, job.fence, now_ms);
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.job;
}

export async function stateOf(store: Store, id: string): Promise<string | undefined> {
  return (await store.job(id))?.state;
}

export type Open = () => Promise<Store>;

/** The tests of one topic; each gets an empty store, which must be sound afterwards. */
export type Topic = Record<string, (store: Store) => Promise<void>>;

export function runTopic(title: string, open: Open, topic: Topic): void {
  describe.each([{ title }])("$title", () => {
    test.each(Object.entries(topic))("%s", async (_what, body) => {
      const store = await open();
      try {
        await body(store);
        expect(await store.check()).toEqual([]);
      } finally {
        await store.close();
      }
    });
  });
}
