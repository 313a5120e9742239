import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { inputError, systemErrorCode } from "../core/errors.ts";
import { printable } from "../core/text.ts";
import type { RecordedRequest, Recordings } from "./pool.ts";
import {
  isFields,
  messagesOfBody,
  NotReplayable,
  toolsOfBody,
  type Fields,
} from "./request-messages.ts";
import { countsOf, requestBody } from "./request-shapes.ts";

/** Lines shown in full; beyond that they are only counted. */
const SHOWN_FAULTS = 5;

/** `FILE:LINE: what is wrong`, and how many more there are. */
interface Faults {
  shown: string[];
  count: number;
}

/**
 * The requests that one line holds: the one that was logged, or, where the last message is the
 * model's, each of those that led to an answer in that transcript.
 */
function requestsOfBody(body: Fields, line: unknown): RecordedRequest[] {
  const messages = messagesOfBody(body);
  const tools = toolsOfBody(body);
  const counts = countsOf(line);
  if (messages.at(-1)?.role !== "assistant") return [{ messages, tools, ...counts }];
  const none = { prompt_tokens: null, output_tokens: null };
  return messages.flatMap(({ role }, at) => {
    const before = messages.slice(0, at);
    if (role !== "assistant" || !before.some((message) => message.role === "user")) return [];
    const told = at === messages.length - 1 ? counts : none;
    return [{ messages: before, tools, ...told }];
  });
}

class LogReader {
  readonly requests: RecordedRequest[] = [];
  readonly faults: Faults = { shown: [], count: 0 };
  readonly leftOut = new Map<string, number>();
  readonly models = new Set<string>();
  others = 0;

  take(text: string, place: string): void {
    if (text.trim() === "") return;
    let line: unknown;
    try {
      line = JSON.parse(text);
    } catch {
      this.#fault(`${place}: not JSON (${text.length} characters)`);
      return;
    }
    const body = requestBody(line);
    if (body === undefined) {
      // Embeddings, model lists, the program's own log lines: logs hold more than chats.
      this.others += 1;
      return;
    }
    try {
      this.requests.push(...requestsOfBody(body, line));
      if (isFields(body) && typeof body["model"] === "string") this.models.add(body["model"]);
    } catch (error) {
      if (error instanceof NotReplayable) {
        this.leftOut.set(error.message, (this.leftOut.get(error.message) ?? 0) + 1);
      } else if (error instanceof TypeError) this.#fault(`${place}: ${printable(error.message)}`);
      else throw error;
    }
  }

  #fault(text: string): void {
    this.faults.count += 1;
    if (this.faults.shown.length < SHOWN_FAULTS) this.faults.shown.push(text);
  }

  faultLines(): string[] {
    const { shown, count } = this.faults;
    const more = count - shown.length;
    return more === 0 ? shown : [...shown, `and ${more} more lines like these`];
  }

  notes(): string[] {
    const notes: string[] = [];
    for (const [reason, n] of this.leftOut) {
      notes.push(`${n} requests of the log were left out: ${reason}`);
    }
    if (this.faults.count > 0) notes.push(`${this.faults.count} lines of the log were unreadable`);
    if (this.models.size > 1) {
      notes.push(
        `the log has requests to ${this.models.size} models, each of which counts its own tokens`,
      );
    }
    return notes;
  }
}

async function readLines(path: string, take: (text: string, line: number) => void): Promise<void> {
  let number = 0;
  try {
    const lines = createInterface({
      input: createReadStream(path, "utf8"),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    for await (const text of lines)
      take(number === 0 ? text.replace(/^\uFEFF/, "") : text, (number += 1));
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === undefined) throw error;
    throw inputError(
      `${path}: cannot read this request log (${code})`,
      code === "ENOENT" ? "Check the path." : "It must be a file of JSON lines that you may read.",
      code === "ENOENT" ? "no_such_file" : "unreadable_file",
    );
  }
}

/**
 * Reads request logs, one JSON document a line, of OpenAI's or Ollama's interface. Lines that are
 * something else are passed over; `warnings` names those that look like chats and cannot be read.
 * Throws an input error (exit 64) where a file cannot be read or no chat is found.
 */
export async function readRequestLogs(
  paths: readonly string[],
): Promise<Recordings & { warnings: string[] }> {
  const reader = new LogReader();
  for (const path of paths) {
    await readLines(path, (text, line) => reader.take(text, `${path}:${line}`));
  }
  if (reader.requests.length === 0) {
    const others = reader.others === 0 ? "" : `${reader.others} lines hold no chat request`;
    const found = [...reader.faultLines(), ...reader.notes(), others].filter((text) => text !== "");
    throw inputError(
      `${paths.join(", ")}: no chat request in it` +
        (found.length === 0 ? " (no lines)" : `\n${found.join("\n")}`),
      'One JSON document a line: a request body with "messages" (or "prompt"), alone or under ' +
        '"request" or "body", the answer beside it under "response".',
      "no_requests",
    );
  }
  return {
    kind: "requests",
    requests: reader.requests,
    notes: reader.notes(),
    warnings: reader.faultLines(),
  };
}
