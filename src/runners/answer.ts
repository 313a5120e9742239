import { fault, streamFault } from "./fault.ts";
import type { Fields } from "./fields.ts";
import type { Fault, GenerateProgress, GenerateUsage, ServerTiming, ToolCall } from "./runner.ts";

export { amountOf, fieldsOf, listOf, numberOf, textOf, type Fields } from "./fields.ts";

/** Longest answer that is kept, thoughts included: a server that never ends must not fill the memory. */
const ANSWER_CHARACTERS = 32 << 20;

/** What one protocol's messages add up to, message by message. Times are seconds from sending. */
export class Answer {
  readonly #text: string[] = [];
  readonly #reasoning: string[] = [];
  /** By the place that the server gives them; pieces of one call carry the same. */
  readonly #calls = new Map<number, { id: string | null; name: string; arguments: string[] }>();
  #characters = 0;
  first_reasoning_s: number | null = null;
  last_reasoning_s: number | null = null;
  first_content_s: number | null = null;
  finish_reason: string | null = null;
  answered_model: string | null = null;
  /** The server says itself that it cut the prompt. */
  truncated = false;
  /** The protocol's own end mark was seen. */
  ended = false;
  /** Trouble that the stream itself reports, or that makes it unreadable. */
  trouble: Fault | null = null;
  prompt_share: number | null = null;
  usage: GenerateUsage = {
    prompt_tokens: null,
    completion_tokens: null,
    reasoning_tokens: null,
    cached_tokens: null,
  };
  server_timing: ServerTiming = { load_s: null, prompt_s: null, decode_s: null, queue_s: null };

  get text(): string {
    return this.#text.join("");
  }

  get reasoning_text(): string {
    return this.#reasoning.join("");
  }

  /** True from the first token on, be it thought or said. */
  get begun(): boolean {
    return this.#said || this.first_reasoning_s !== null;
  }

  get #said(): boolean {
    return this.first_content_s !== null || this.#calls.size > 0;
  }

  get tool_calls(): ToolCall[] {
    const calls = [...this.#calls].sort(([a], [b]) => a - b);
    return calls.map(([, { id, name, arguments: parts }]) => ({
      id,
      name,
      arguments_text: parts.join(""),
    }));
  }

  get phase(): GenerateProgress["phase"] {
    if (this.#said) return "answer";
    return this.first_reasoning_s === null ? "prefill" : "reasoning";
  }

  /** False, and the trouble noted, where the answer has grown beyond what any model writes. */
  #grow(text: string): boolean {
    this.#characters += text.length;
    if (this.#characters <= ANSWER_CHARACTERS) return true;
    this.unreadable(`an answer of more than ${ANSWER_CHARACTERS} characters`);
    return false;
  }

  say(text: string, at_s: number): void {
    // Servers open an answer with an empty piece before the first token.
    if (text === "" || !this.#grow(text)) return;
    this.first_content_s ??= at_s;
    this.#text.push(text);
  }

  think(text: string, at_s: number): void {
    if (text === "" || !this.#grow(text)) return;
    this.first_reasoning_s ??= at_s;
    this.last_reasoning_s = at_s;
    this.#reasoning.push(text);
  }

  /** A piece of a tool call. `place` null: a whole call, after those that are there. */
  addCall(
    place: number | null,
    piece: { id: string | null; name: string; arguments: string },
  ): void {
    if (!this.#grow(piece.name + piece.arguments)) return;
    const at = place ?? this.#calls.size;
    const call = this.#calls.get(at) ?? { id: null, name: "", arguments: [] };
    call.id ??= piece.id;
    // Most servers send the name once; some repeat it in every piece.
    if (call.name === "") call.name = piece.name;
    call.arguments.push(piece.arguments);
    this.#calls.set(at, call);
  }

  fail(body: { message: string; type: string }): void {
    this.trouble ??= streamFault(body);
  }

  unreadable(what: string): void {
    this.trouble ??= fault("bad_response", what, { http_status: 200 });
  }
}

/** How one protocol streams an answer. */
export interface Dialect {
  framing: "sse" | "lines";
  /** Media types that the stream may come as; an absent one is taken for the first. */
  media_types: readonly string[];
  read(message: string, at_s: number, answer: Answer): void;
}

/** `value` as an object to look into; an empty one where it is none. */
/** One message as an object; undefined, and the trouble noted, where it is something else. */
export function parseMessage(message: string, answer: Answer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(message);
    if (typeof value === "object" && value !== null) return value as Fields;
  } catch {
    // Said below, together with JSON that is no object.
  }
  answer.unreadable(`a message of the stream is not a JSON object: ${message.slice(0, 100)}`);
  return undefined;
}
