import { isFields, type Fields } from "./request-messages.ts";

// Where programs that log requests put them. Each is looked for under the usual names, at most
// three levels down, also where a body was logged as text.

const BODY_KEYS = ["request", "body", "request_body", "requestBody", "req", "input", "payload"];
const ANSWER_KEYS = [
  "response",
  "body",
  "response_body",
  "responseBody",
  "resp",
  "res",
  "output",
  "result",
  "final",
];
const LEVELS = 3;

function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function isBody(value: Fields): boolean {
  if (Array.isArray(value["messages"]) || Array.isArray(value["conversations"])) return true;
  return typeof value["prompt"] === "string" && value["prompt"] !== "";
}

/** The body of a chat request somewhere in a logged line; undefined where there is none. */
export function requestBody(logged: unknown, levels = LEVELS): Fields | undefined {
  const value = parsed(logged);
  if (!isFields(value)) return undefined;
  if (isBody(value)) return value;
  if (levels === 0) return undefined;
  for (const key of BODY_KEYS) {
    const found = requestBody(value[key], levels - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

export interface Counts {
  prompt_tokens: number | null;
  output_tokens: number | null;
}

function countIn(fields: Fields, names: readonly string[]): number | null {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  }
  return null;
}

/** OpenAI's `usage`, Ollama's own counts, llama-server's `timings` with what was cached. */
function countsIn(fields: Fields): Counts | undefined {
  const usage = isFields(fields["usage"]) ? fields["usage"] : fields;
  const prompt_tokens = countIn(usage, ["prompt_tokens", "prompt_eval_count", "input_tokens"]);
  const output_tokens = countIn(usage, ["completion_tokens", "eval_count", "output_tokens"]);
  if (prompt_tokens !== null || output_tokens !== null) return { prompt_tokens, output_tokens };
  const { timings } = fields;
  if (!isFields(timings)) return undefined;
  const [fresh, cached] = [countIn(timings, ["prompt_n"]), countIn(timings, ["cache_n"])];
  if (fresh === null || cached === null) return undefined;
  return { prompt_tokens: fresh + cached, output_tokens: countIn(timings, ["predicted_n"]) };
}

/** Pieces of a logged stream: server-sent events or one JSON document a line. */
function pieces(text: string): unknown[] {
  return text
    .split("\n")
    .map((line) => line.replace(/^data:\s*/, "").trim())
    .filter((line) => line.startsWith("{"))
    .map((line) => parsed(line));
}

/** What the server counted, somewhere in a logged line; nulls where it is not told. */
export function countsOf(logged: unknown, levels = LEVELS): Counts {
  const none = { prompt_tokens: null, output_tokens: null };
  const value = parsed(logged);
  if (levels < 0) return none;
  // A stream tells its counts in its last pieces.
  const list = typeof value === "string" ? pieces(value) : value;
  if (Array.isArray(list)) {
    const told = list.map((piece) => (isFields(piece) ? countsIn(piece) : undefined));
    return told.findLast((counts) => counts !== undefined) ?? none;
  }
  if (!isFields(value)) return none;
  const own = countsIn(value);
  if (own !== undefined) return own;
  for (const key of ANSWER_KEYS) {
    if (value[key] === undefined) continue;
    const found = countsOf(value[key], levels - 1);
    if (found.prompt_tokens !== null || found.output_tokens !== null) return found;
  }
  return none;
}
