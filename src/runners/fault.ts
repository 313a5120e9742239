import { errorMessage, systemErrorCode } from "../core/errors.ts";
import type { Fault, FaultClass } from "./runner.ts";

/**
 * Whether the same request may succeed later. A server that is away, full, slow or that died may be
 * well in an hour; a name that is not served, a prompt that is too long or an answer in another
 * protocol stay what they are.
 */
const RETRYABLE: Readonly<Record<FaultClass, boolean>> = {
  unreachable: true,
  loading: true,
  busy: true,
  model_not_found: false,
  wrong_model: false,
  context_exceeded: false,
  prompt_truncated: false,
  http_error: false, // by its status: see statusRetryable
  runner_error: true,
  stream_cut: true,
  no_final: true,
  bad_response: false,
  connect_timeout: true,
  first_token_timeout: true,
  stall_timeout: true,
  total_timeout: true,
  cancelled: true,
};

/** Longest message of a server that is kept: some send whole pages. */
const MESSAGE_CHARACTERS = 500;

export function fault(
  faultClass: FaultClass,
  message: string,
  more: { http_status?: number; retryable?: boolean } = {},
): Fault {
  // Control characters, too: what a server says is shown in terminals.
  const line = message.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  return {
    class: faultClass,
    message:
      line.length > MESSAGE_CHARACTERS ? `${line.slice(0, MESSAGE_CHARACTERS - 3)}...` : line,
    retryable: more.retryable ?? RETRYABLE[faultClass],
    http_status: more.http_status ?? null,
  };
}

const REFUSED = "connection refused";

/** Nobody listens there: not slow, not lost on the way, but known to be away. */
export function nobodyThere(trouble: Fault): boolean {
  return trouble.class === "unreachable" && trouble.message.endsWith(REFUSED);
}

/** Trouble of the connection before any byte of an answer. */
export function connectionFault(error: unknown, where: string): Fault {
  const code = systemErrorCode(error);
  const what =
    code === "ECONNREFUSED"
      ? REFUSED
      : code === "ENOTFOUND"
        ? "no such host"
        : code === "ECONNRESET"
          ? "connection reset before any answer"
          : errorMessage(error);
  if (code?.startsWith("HPE_") === true) {
    return fault("bad_response", `${where} does not answer in HTTP: ${errorMessage(error)}`);
  }
  return fault("unreachable", `${where}: ${what}`);
}

interface ErrorBody {
  message: string;
  type: string;
}

/** The two shapes in which servers write errors: `{error: TEXT}` and `{error: {message, type}}`. */
export function errorBody(value: unknown): ErrorBody | undefined {
  if (typeof value !== "object" || value === null || !("error" in value)) return undefined;
  const { error } = value;
  if (typeof error === "string") return { message: error, type: "" };
  if (typeof error !== "object" || error === null) return undefined;
  const fields = error as Record<string, unknown>;
  const message = typeof fields["message"] === "string" ? fields["message"] : JSON.stringify(error);
  const type = [fields["type"], fields["code"]].find((text) => typeof text === "string");
  return { message, type: typeof type === "string" ? type : "" };
}

/**
 * Servers that have no type for it say in words that a prompt is too long: Ollama, vLLM, LM Studio
 * and older llama-server, in this order.
 */
const CONTEXT_WORDS = [
  /prompt.{0,40}(?:longer than|exceeds).{0,40}context/i,
  /maximum context length/i,
  /when (?:the )?context (?:the )?overflows/i,
  /exceeds? the available context size/i,
];

function aboutContext(body: ErrorBody): boolean {
  return (
    body.type === "exceed_context_size_error" ||
    body.type === "context_length_exceeded" ||
    CONTEXT_WORDS.some((words) => words.test(body.message))
  );
}

const MODEL_WORDS = /model\b.{0,200}(?:not found|does not exist|not exist|no such model)/i;

function aboutModel(body: ErrorBody): boolean {
  return body.type === "model_not_found" || MODEL_WORDS.test(body.message);
}

function statusRetryable(status: number): boolean {
  if (status === 501 || status === 505) return false; // "I cannot do that" will be said again
  return status === 408 || status === 425 || status >= 500;
}

/** What an answer other than 200 means. `text` is its body as far as it came. */
export function statusFault(status: number, text: string, location?: string): Fault {
  if (status >= 300 && status < 400) {
    return fault("http_error", `redirected to ${location ?? "nowhere"}: give that URL instead`, {
      http_status: status,
      retryable: false,
    });
  }
  const body = errorBody(parse(text)) ?? { message: plainText(text), type: "" };
  const more = { http_status: status };
  const message = `HTTP ${status}: ${body.message === "" ? "no message" : body.message}`;
  if (status === 503 && /loading model/i.test(body.message)) return fault("loading", message, more);
  if (status === 503 || status === 429) return fault("busy", message, more);
  // Ollama wraps the text of its inner server in a 500, so the words count before the number.
  if (aboutContext(body)) return fault("context_exceeded", message, more);
  if ((status === 404 || status === 400) && aboutModel(body)) {
    return fault("model_not_found", message, more);
  }
  return fault("http_error", message, { ...more, retryable: statusRetryable(status) });
}

/** An error object that came after the status 200 was sent. */
export function streamFault(body: ErrorBody): Fault {
  if (aboutContext(body)) return fault("context_exceeded", body.message, { http_status: 200 });
  return fault("runner_error", body.message, { http_status: 200 });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a person would read of a body that may be a page. */
function plainText(text: string): string {
  return text
    .replaceAll(/<(script|style)\b[^>]*>.*?<\/\1>/gis, " ")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}
