import { expect, test } from "vitest";
import {
  connectionFault,
  errorBody,
  fault,
  statusFault,
  streamFault,
} from "../../../src/runners/fault.ts";
import { fixture, jsonFixture } from "../../helpers/fixtures.ts";

const recorded = (path: string): string => fixture(`runner/${path}`).toString("utf8");

test.each([
  [500, "llama-server-error/06-new-bad-json.json", "http_error", true],
  [501, "llama-server-error/07-new-metrics-disabled.json", "http_error", false],
  [400, "llama-server-error/09-deb-bad-json.json", "http_error", false],
  [400, "lmstudio-errors/01-keep-first-400.json", "context_exceeded", false],
  [500, "ollama-error/04-docs-plain-error.json", "http_error", true],
] as const)("HTTP %i of %s is %s", (status, path, expected, retryable) => {
  const found = statusFault(status, recorded(path));
  expect(found).toMatchObject({ class: expected, retryable, http_status: status });
  expect(found.message).toMatch(/^HTTP \d+: \S/);
});

test.each([
  [
    503,
    '{"error":{"message":"Loading model","type":"unavailable_error","code":503}}',
    "loading",
    true,
  ],
  [
    503,
    '{"error":"server busy, please try again.  maximum pending requests exceeded"}',
    "busy",
    true,
  ],
  [429, "slow down", "busy", true],
  [404, '{"error":"model \\"x\\" not found, try pulling it first"}', "model_not_found", false],
  [
    404,
    '{"error":{"message":"The model `x` does not exist.","type":"NotFoundError"}}',
    "model_not_found",
    false,
  ],
  [404, '{"error":{"message":"File Not Found","type":"not_found_error"}}', "http_error", false],
  [
    400,
    '{"error":{"message":"This model\'s maximum context length is 4096 tokens","type":"BadRequestError"}}',
    "context_exceeded",
    false,
  ],
  [500, '{"error":"the prompt is longer than the context"}', "context_exceeded", false],
  [401, '{"error":{"message":"Invalid API key"}}', "http_error", false],
  [408, "", "http_error", true],
  [502, "<html><style>p{}</style><body><h1>Bad Gateway</h1></body></html>", "http_error", true],
] as const)("HTTP %i with %s is %s", (status, body, expected, retryable) => {
  expect(statusFault(status, body)).toMatchObject({ class: expected, retryable });
});

test("a page is told as a person would read it, a long text is cut, an empty one is said to be so", () => {
  expect(statusFault(502, "<h1>Bad\n Gateway</h1>").message).toBe("HTTP 502: Bad Gateway");
  expect(statusFault(500, "x".repeat(9000)).message).toHaveLength(500);
  expect(statusFault(500, "").message).toBe("HTTP 500: no message");
});

test("a redirect names where it leads", () => {
  const found = statusFault(301, "", "https://elsewhere.example/");
  expect(found).toMatchObject({ class: "http_error", retryable: false });
  expect(found.message).toContain("https://elsewhere.example/");
});

test("both shapes of error bodies are read, and other bodies are none", () => {
  expect(errorBody({ error: "plain" })).toEqual({ message: "plain", type: "" });
  expect(errorBody(jsonFixture("runner/lmstudio-errors/03-docs-stream-error-event.json"))).toEqual({
    message: '"model" is required',
    type: "invalid_request",
  });
  expect(errorBody({ error: { code: "model_not_found" } })).toMatchObject({
    type: "model_not_found",
  });
  for (const other of [{}, { error: null }, null, "error", 1])
    expect(errorBody(other)).toBeUndefined();
});

test("trouble inside a stream may pass, a prompt that is too long does not", () => {
  expect(streamFault({ message: "out of memory", type: "" })).toMatchObject({
    class: "runner_error",
    retryable: true,
  });
  expect(streamFault({ message: "", type: "exceed_context_size_error" })).toMatchObject({
    class: "context_exceeded",
    retryable: false,
  });
});

const error = (code: string) => Object.assign(new Error(code), { code });

test("connection trouble says what a person can check", () => {
  expect(connectionFault(error("ECONNREFUSED"), "http://a/")).toMatchObject({
    class: "unreachable",
    message: "http://a/: connection refused",
    retryable: true,
  });
  expect(connectionFault(error("ENOTFOUND"), "x").message).toMatch(/no such host/);
  expect(connectionFault(error("HPE_INVALID_CONSTANT"), "x")).toMatchObject({
    class: "bad_response",
  });
});

test("every class has its own verdict on trying again", () => {
  expect(fault("wrong_model", "m").retryable).toBe(false);
  expect(fault("stream_cut", "m").retryable).toBe(true);
  expect(fault("http_error", "m", { retryable: true, http_status: 500 })).toMatchObject({
    retryable: true,
    http_status: 500,
  });
});
