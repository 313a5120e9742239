import type {
  Fault,
  FaultClass,
  GenerateRequest,
  GenerateResult,
  LoadResult,
  Runner,
  RunnerKind,
} from "../../src/runners/index.ts";

export function judgeFault(kind: FaultClass, message = "the fake says so"): Fault {
  return { class: kind, message, retryable: true, http_status: null };
}

export function reply(text: string, changes: Partial<GenerateResult> = {}): GenerateResult {
  return {
    ok: true,
    fault: null,
    text,
    reasoning_text: "",
    tool_calls: [],
    finish_reason: "stop",
    answered_model: "judge",
    timing: {
      started_at_ms: 0,
      ended_at_ms: 1000,
      first_byte_s: 0.1,
      first_reasoning_s: null,
      last_reasoning_s: null,
      first_content_s: 0.1,
      e2e_s: 1,
    },
    usage: {
      prompt_tokens: 1,
      completion_tokens: 1,
      reasoning_tokens: null,
      cached_tokens: null,
    },
    server_timing: { load_s: null, prompt_s: null, decode_s: null, queue_s: null },
    ...changes,
  };
}

export function callFails(kind: FaultClass): GenerateResult {
  return reply("", { ok: false, fault: judgeFault(kind), finish_reason: null });
}

export const GOOD_VERDICT = '{"score": 4, "red_flag": false, "rationale": "right and short"}';
export const GOOD_REPORT =
  '{"D1": {"score": 5, "rationale": "A1 holds"}, "D2": {"score": 4, "rationale": "B1 is safe"}}';

/** True for the call about a whole variant. */
export function isReportCall(request: GenerateRequest): boolean {
  return (request.messages[1]?.content ?? "").includes('"verdicts":');
}

/** The material of a call as the judge sees it. */
export function material(request: GenerateRequest): Record<string, unknown> {
  const line = (request.messages[1]?.content ?? "").split("\n")[2] ?? "";
  return JSON.parse(line) as Record<string, unknown>;
}

/** A judge whose replies a test writes. */
export class FakeJudge implements Runner {
  readonly residency = "fixed";
  readonly settings;
  readonly requests: GenerateRequest[] = [];
  version: string | null = "b1";
  fault: Fault | null = null;
  loadResult: LoadResult = { outcome: "not_applicable", fault: null, duration_s: 0 };
  answer: (request: GenerateRequest, n: number) => GenerateResult | Promise<GenerateResult>;

  constructor(answer?: FakeJudge["answer"], kind: RunnerKind = "llama-server") {
    this.answer =
      answer ?? ((request) => reply(isReportCall(request) ? GOOD_REPORT : GOOD_VERDICT));
    this.settings = {
      name: "judge-runner",
      kind,
      url: "http://127.0.0.1:9090",
      api_key: null,
      start: null,
      declared_slots: null,
    };
  }

  async status() {
    return {
      reachable: true,
      reason: null,
      loading: false,
      version: this.version,
      slots: 1,
      slots_source: "runner" as const,
      models: null,
    };
  }
  async findFault() {
    return this.fault;
  }
  async loaded() {
    return { models: null, reason: "does not tell" };
  }
  async load() {
    return this.loadResult;
  }
  async unload() {
    return { outcome: "ok" as const, reason: null };
  }
  async serverPid() {
    return null;
  }
  async generate(request: GenerateRequest) {
    this.requests.push(request);
    return this.answer(request, this.requests.length - 1);
  }
}
