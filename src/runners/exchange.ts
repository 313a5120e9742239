import type { ClientRequest, IncomingMessage } from "node:http";
import { setImmediate as afterPoll } from "node:timers/promises";
import type { Clock } from "../core/clock.ts";
import { Answer, type Dialect } from "./answer.ts";
import { connectionFault, errorBody, fault, statusFault, streamFault } from "./fault.ts";
import { FramingError, lineFraming, sseFraming, type Framing } from "./framing.ts";
import {
  describe,
  encodingFault,
  openRequest,
  readBody,
  withoutKey,
  type Endpoint,
} from "./http.ts";
import { nextLimit, type LimitState } from "./limits.ts";
import type { Fault, GenerateRequest } from "./runner.ts";

export interface ExchangeOptions {
  endpoint: Endpoint;
  path: string;
  body: unknown;
  dialect: Dialect;
  request: Pick<GenerateRequest, "limits" | "signal" | "onProgress">;
}

/** How one streamed request went, before any judgement on what the answer says. */
export interface ExchangeOutcome {
  answer: Answer;
  /** Trouble of the connection, the status, the limits or the stream; null where there was none. */
  fault: Fault | null;
  /** The connection ended as HTTP says it should: false where a cut cannot be told from an end. */
  clean_end: boolean;
  started_at_ms: number;
  ended_at_ms: number;
  first_byte_s: number | null;
  e2e_s: number;
}

/** Pieces wait this long to be read together; their time stamps are taken when they come. */
const READ_INTERVAL_MS = 40;
/** Node's timers take no more than 2^31 ms. */
const LONGEST_NAP_MS = 2 ** 31 - 1;

/**
 * One request and its streamed answer. The socket's handler only stamps the time and keeps the
 * bytes; framing and parsing follow in batches, so that many streams do not blur each other's times.
 */
class Exchange {
  readonly #clock: Clock;
  readonly #options: ExchangeOptions;
  readonly #answer = new Answer();
  readonly #framing: Framing;
  readonly #started_at_ms: number;
  readonly #start_ms: number;
  readonly #finished: Promise<void>;
  #resolveFinished: () => void = () => undefined;
  #rejectFinished: (error: unknown) => void = () => undefined;
  #queue: { at_s: number; chunk: Buffer }[] = [];
  #readTimer: NodeJS.Timeout | undefined;
  #nap = new AbortController();
  #request: ClientRequest | undefined;
  #over = false;
  #fault: Fault | null = null;
  #cleanEnd = false;
  #connected = false;
  #first_byte_s: number | null = null;
  #life_s = 0;
  #at_s = 0;
  #end_s = 0;
  #bytes = 0;
  #messages = 0;

  constructor(options: ExchangeOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#started_at_ms = clock.now_ms();
    this.#start_ms = clock.monotonic_ms();
    const onMessage = (message: string): void => this.#read(message);
    this.#framing =
      options.dialect.framing === "sse" ? sseFraming(onMessage) : lineFraming(onMessage);
    this.#finished = new Promise((resolve, reject) => {
      this.#resolveFinished = resolve;
      this.#rejectFinished = reject;
    });
  }

  async run(): Promise<ExchangeOutcome> {
    const { signal } = this.#options.request;
    const cancel = (): void => this.#stop(fault("cancelled", "cancelled"));
    if (signal?.aborted === true) cancel();
    else {
      signal?.addEventListener("abort", cancel, { once: true });
      this.#send();
      void this.#watch();
    }
    try {
      await this.#finished;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
    const end_s = this.#end_s;
    const trouble = this.#fault ?? this.#answer.trouble;
    return {
      answer: this.#answer,
      fault: trouble === null ? null : withoutKey(trouble, this.#options.endpoint),
      clean_end: this.#cleanEnd,
      started_at_ms: this.#started_at_ms,
      ended_at_ms: this.#started_at_ms + end_s * 1000,
      first_byte_s: this.#first_byte_s,
      e2e_s: end_s,
    };
  }

  #now_s(): number {
    return (this.#clock.monotonic_ms() - this.#start_ms) / 1000;
  }

  #send(): void {
    const { endpoint, path, body } = this.#options;
    const request = openRequest(endpoint, { method: "POST", path, body });
    this.#request = request;
    request.on("socket", (socket) => {
      const event = "encrypted" in socket ? "secureConnect" : "connect";
      socket.once(event, () => {
        this.#connected = true;
        this.#nap.abort(); // another limit counts now
      });
    });
    request.on("error", (error) => {
      if (this.#first_byte_s === null) this.#stop(connectionFault(error, describe(endpoint, path)));
      else this.#cut();
    });
    request.once("response", (response) => {
      this.#first_byte_s = this.#now_s();
      response.on("error", () => this.#cut());
      void this.#receive(response);
    });
  }

  async #receive(response: IncomingMessage): Promise<void> {
    const status = response.statusCode ?? 0;
    const packed = encodingFault(response);
    if (packed !== undefined) return this.#stop(packed);
    if (status !== 200) {
      const text = await readBody(response).catch(() => "");
      return this.#stop(statusFault(status, text, response.headers.location));
    }
    const type = (response.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
    const expected = this.#options.dialect.media_types;
    if (type !== undefined && type !== "" && !expected.includes(type)) {
      const text = await readBody(response).catch(() => "");
      return this.#stop(otherType(type, text));
    }
    const framed =
      response.headers["transfer-encoding"] !== undefined ||
      response.headers["content-length"] !== undefined;
    response.on("data", (chunk: Buffer) => {
      this.#queue.push({ at_s: this.#now_s(), chunk });
      this.#bytes += chunk.length;
      this.#readTimer ??= setTimeout(() => this.#drain(), READ_INTERVAL_MS);
    });
    response.once("end", () => {
      this.#drain();
      if (this.#over) return;
      this.#feed(() => this.#framing.end());
      this.#cleanEnd = framed && response.complete;
      this.#finish(this.#answer.ended ? this.#at_s : this.#now_s());
    });
  }

  /** The connection broke inside the answer. What had come is read first: it may be whole. */
  #cut(): void {
    this.#drain();
    if (this.#over) return;
    this.#stop(fault("stream_cut", "the connection ended inside the answer", { http_status: 200 }));
  }

  #feed(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (!(error instanceof FramingError)) throw error;
      this.#answer.unreadable(`the stream cannot be read: ${error.message}`);
    }
  }

  #drain(): void {
    clearTimeout(this.#readTimer);
    this.#readTimer = undefined;
    if (this.#over) return;
    const begun = this.#answer.begun;
    const messages = this.#messages;
    const queue = this.#queue;
    this.#queue = [];
    for (const { at_s, chunk } of queue) {
      this.#at_s = at_s;
      this.#feed(() => this.#framing.feed(chunk));
      if (this.#answer.ended || this.#answer.trouble !== null) break;
    }
    if (this.#messages > messages) this.#tell();
    if (this.#answer.ended || this.#answer.trouble !== null) this.#finish(this.#at_s);
    else if (!begun && this.#answer.begun) this.#nap.abort(); // the limit on silence counts now
  }

  #read(message: string): void {
    if (this.#answer.ended || this.#answer.trouble !== null) return;
    this.#messages += 1;
    this.#life_s = this.#at_s;
    this.#options.dialect.read(message, this.#at_s, this.#answer);
  }

  #tell(): void {
    const { phase, prompt_share } = this.#answer;
    try {
      this.#options.request.onProgress?.({ bytes: this.#bytes, phase, prompt_share });
    } catch (error) {
      // The caller's own trouble (a full disk, say) is the caller's: it gets its error back.
      this.#rejectFinished(error);
      this.#finish(this.#now_s());
    }
  }

  #limitState(): LimitState {
    return { connected: this.#connected, begun: this.#answer.begun, life_s: this.#life_s };
  }

  async #watch(): Promise<void> {
    while (!this.#over) {
      const { limits } = this.#options.request;
      let limit = nextLimit(limits, this.#limitState());
      if (this.#now_s() >= limit.at_s) {
        // Timers run before sockets are read: what a busy process has not read yet is no silence.
        await afterPoll();
        this.#drain();
        limit = nextLimit(limits, this.#limitState());
        if (this.#now_s() >= limit.at_s) return this.#stop(limit.fault());
      }
      this.#nap = new AbortController();
      const left_ms = (limit.at_s - this.#now_s()) * 1000;
      await this.#clock.sleep(Math.min(Math.max(left_ms, 0), LONGEST_NAP_MS), this.#nap.signal);
      this.#drain();
    }
  }

  #stop(reason: Fault): void {
    if (this.#over) return;
    this.#drain();
    this.#fault ??= this.#answer.ended ? null : reason;
    this.#finish(this.#now_s());
  }

  #finish(at_s: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#end_s = at_s;
    clearTimeout(this.#readTimer);
    this.#nap.abort();
    this.#request?.destroy();
    this.#resolveFinished();
  }
}

/** A 200 with another media type: an error after all, a whole answer, or some other program. */
function otherType(type: string, text: string): Fault {
  try {
    const body = errorBody(JSON.parse(text));
    if (body !== undefined) return streamFault(body);
  } catch {
    // No JSON: said below.
  }
  return fault("bad_response", `answered with ${type} where a stream was asked for`, {
    http_status: 200,
  });
}

/** Sends one request and follows its stream to the end. Never throws for what a server does. */
export function exchange(options: ExchangeOptions, clock: Clock): Promise<ExchangeOutcome> {
  return new Exchange(options, clock).run();
}
