import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GenerateProgress, GenerateRequest, Runner } from "../../../src/runners/index.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { chatRequest } from "../../helpers/requests.ts";

/** A running server with one model, and what is known of it. */
export interface Subject {
  runner: Runner;
  model: string;
  close(): Promise<void>;
}

export interface Traits {
  /** Whether it can let go of its model. */
  managed: boolean;
  /** Context of one slot in tokens, where the server minds it. */
  slot_context: number | null;
}

/** More tokens than a test waits for: it cancels long before. */
export const VERY_LONG = 8000;

/**
 * What every runner must do, whatever speaks at the other end. One call per adapter; servers with
 * faults are tested elsewhere.
 */
export function runnerConformance(
  name: string,
  traits: Traits,
  open: () => Promise<Subject>,
): void {
  describe(`${name} conforms`, () => {
    let subject: Subject;
    beforeAll(async () => {
      subject = await open();
    });
    afterAll(() => subject.close());

    const ask = (more: Partial<GenerateRequest> = {}) =>
      subject.runner.generate(chatRequest({ model: subject.model, max_tokens: 8, ...more }));

    test("says that it is there and serves the model", async () => {
      const status = await subject.runner.status();
      expect(status).toMatchObject({ reachable: true, reason: null, loading: false });
      expect(status.models?.some(({ id }) => id.startsWith(subject.model))).toBe(true);
      expect(status.slots_source === null).toBe(status.slots === null);
    });

    test("knows its model by name and no other", async () => {
      expect(await subject.runner.findFault(subject.model)).toBeNull();
      const missing = await subject.runner.findFault("no-such-model");
      expect(missing).toMatchObject({ class: "model_not_found", retryable: false });
      expect(missing?.message).toContain("no-such-model");
    });

    test("answers with text, finish reason, counts and times in order", async () => {
      const before_ms = Date.now();
      const result = await ask();
      expect(result).toMatchObject({ ok: true, fault: null });
      expect(["stop", "length"]).toContain(result.finish_reason);
      expect(result.text).not.toBe("");
      expect(result.usage.prompt_tokens).toBeGreaterThan(0);
      expect(result.usage.completion_tokens).toBeGreaterThan(0);
      expect(result.usage.completion_tokens).toBeLessThanOrEqual(8);
      const { timing } = result;
      const { first_byte_s, first_content_s, e2e_s } = timing;
      expect(first_byte_s).toBeGreaterThan(0);
      expect(first_content_s).toBeGreaterThanOrEqual(first_byte_s ?? Infinity);
      expect(e2e_s).toBeGreaterThanOrEqual(first_content_s ?? Infinity);
      expect(timing.started_at_ms).toBeGreaterThanOrEqual(before_ms);
      expect(timing.ended_at_ms - timing.started_at_ms).toBeCloseTo(e2e_s * 1000, 3);
      expect(timing.first_reasoning_s).toBeNull();
    });

    test("answers the same question in the same way", async () => {
      const messages = [{ role: "user", content: "What is the capital of France?" }] as const;
      const [first, second] = [await ask({ messages }), await ask({ messages })];
      expect(second.text).toBe(first.text);
      expect(second.usage.prompt_tokens).toBe(first.usage.prompt_tokens);
    });

    test("takes a system message, an earlier turn and any character", async () => {
      const result = await ask({
        messages: [
          { role: "system", content: "Be short. „Süß“ 你好 🙂" },
          { role: "user", content: 'a "quoted"\n\tline\\' },
          { role: "assistant", content: "b" },
          { role: "user", content: "\u2028 c" },
        ],
      });
      expect(result).toMatchObject({ ok: true });
    });

    test("shows life while it answers", async () => {
      const steps: GenerateProgress[] = [];
      await ask({ onProgress: (step) => steps.push(step) });
      expect(steps.length).toBeGreaterThan(0);
      expect(steps.at(-1)?.phase).toBe("answer");
      const bytes = steps.map((step) => step.bytes);
      expect(bytes).toEqual([...bytes].sort((a, b) => a - b));
    });

    test("can be cancelled in mid-answer, and answers the next one", async () => {
      const controller = new AbortController();
      const result = await ask({
        max_tokens: VERY_LONG,
        signal: controller.signal,
        onProgress: ({ phase }) => {
          if (phase === "answer") controller.abort();
        },
      });
      expect(result).toMatchObject({ ok: false, fault: { class: "cancelled" } });
      expect(result.text).not.toBe("");
      expect(await ask()).toMatchObject({ ok: true });
    });

    test("answers more than one at once", async () => {
      const results = await Promise.all([1, 2, 3].map(() => ask()));
      expect(results.map(({ ok }) => ok)).toEqual([true, true, true]);
    });

    test("is held by a process of this machine", async () => {
      const pid = await subject.runner.serverPid();
      expect(pid).toBeGreaterThan(0);
      expect(() => process.kill(pid ?? 0, 0)).not.toThrow();
    });

    const { slot_context, managed } = traits;

    test.each(onlyIf(slot_context !== null))("refuses a prompt that does not fit", async () => {
      const content = "word ".repeat((slot_context ?? 0) + 50);
      const result = await ask({ messages: [{ role: "user", content }] });
      expect(result).toMatchObject({
        ok: false,
        fault: { class: "context_exceeded", retryable: false },
      });
      expect(await ask()).toMatchObject({ ok: true });
    });

    test("loads on request, and answers then", async () => {
      const { runner, model } = subject;
      const loaded = await runner.load(model, { limit_s: 60 });
      expect(loaded).toMatchObject({ outcome: "ok", fault: null });
      expect(loaded.duration_s).toBeGreaterThanOrEqual(0);
      expect(await ask()).toMatchObject({ ok: true });
      expect(await runner.load("no-such-model", { limit_s: 5 })).toMatchObject({
        outcome: "failed",
        fault: { class: "model_not_found" },
      });
    });

    test.each(onlyIf(managed))("lets go of its model, and takes it up again", async () => {
      const { runner, model } = subject;
      expect(runner.residency).toBe("managed");
      expect(await runner.unload()).toEqual({ outcome: "ok", reason: null });
      expect(await runner.loaded()).toEqual({ models: [], reason: null });
      expect(await runner.load(model, { limit_s: 60 })).toMatchObject({ outcome: "ok" });
      expect((await runner.loaded()).models).toHaveLength(1);
      expect(await runner.unload(model)).toEqual({ outcome: "ok", reason: null });
      expect(await ask()).toMatchObject({ ok: true }); // a request brings it back
    });

    test.each(onlyIf(!managed))("holds its model, and says that it does", async () => {
      expect(subject.runner.residency).toBe("fixed");
      expect(await subject.runner.unload()).toMatchObject({ outcome: "not_applicable" });
      expect(await ask()).toMatchObject({ ok: true });
    });
  });
}
