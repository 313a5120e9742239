import { describe, expect, it } from "vitest";
import { askJudge } from "../../../src/eval/judge-call.ts";
import { parseJudgeConfig } from "../../../src/eval/judge-config.ts";
import { identifyJudge } from "../../../src/eval/judge-identity.ts";
import type { GenerateRequest, Runner } from "../../../src/runners/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";

const FORMAT = { type: "json_schema", json_schema: { schema: { type: "object" } } };
const plain = parseJudgeConfig("model: m\n", "judge.yaml").config;
const formatted = parseJudgeConfig(
  `model: m\nextra_body:\n  reasoning_effort: low\n  response_format: ${JSON.stringify(FORMAT)}\n`,
  "judge.yaml",
).config;

/** A runner that only writes down what it is asked. */
function recorder(requests: GenerateRequest[]): Runner {
  return {
    settings: { name: "r", kind: "llama-server" },
    status: () => Promise.resolve({ version: "1", models: null }),
    generate(request: GenerateRequest) {
      requests.push(request);
      return Promise.resolve({ ok: true, fault: null, text: "{}", finish_reason: "stop" });
    },
  } as unknown as Runner;
}

describe("extra_body of a judge config", () => {
  it("goes into every request, over the hints of our own", async () => {
    const requests: GenerateRequest[] = [];
    const caller = {
      runner: recorder(requests),
      model: "m",
      config: formatted,
      clock: new FakeClock(),
      signal: undefined,
    };
    await askJudge(caller, {
      messages: [{ role: "user", content: "?" }],
      default_tokens: 10,
      read: () => ({ value: 1, fault: null }),
      onProgress: () => {},
    });
    expect(requests.map((request) => request.extra_body)).toEqual([
      expect.objectContaining({ response_format: FORMAT, reasoning_effort: "low" }),
    ]);
    expect(requests[0]?.extra_body).toHaveProperty("chat_template_kwargs");
  });

  it("is part of who judges", async () => {
    const runner = recorder([]);
    const [without, withFormat] = [
      await identifyJudge(runner, "m", plain),
      await identifyJudge(runner, "m", formatted),
    ];
    expect(without.hash).not.toBe(withFormat.hash);
  });
});
