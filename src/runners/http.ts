import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Clock } from "../core/clock.ts";
import { connectionFault, fault, statusFault } from "./fault.ts";
import type { Fault } from "./runner.ts";

/** Where requests go, and with which key. */
export interface Endpoint {
  /** Base URL; a path in it is kept in front of every request's path. */
  url: string;
  api_key: string | null;
}

export interface OpenRequest {
  method: "GET" | "POST";
  path: string;
  body?: unknown;
}

/** `base` and `path` as one URL; a base that already ends in `/v1` does not get a second one. */
function joinUrl(base: string, path: string): URL {
  const trimmed = base.replace(/\/+$/, "");
  const doubled = trimmed.endsWith("/v1") && path.startsWith("/v1/");
  return new URL((doubled ? trimmed.slice(0, -3) : trimmed) + path);
}

/**
 * Sends one request on a connection of its own. llama-server closes the socket after each streamed
 * answer although it announces keep-alive: a pooled client then loses one request in fifteen. Node
 * has no time limits for requests, and a load of ten minutes needs that: limits are the caller's.
 */
export function openRequest(endpoint: Endpoint, options: OpenRequest): ClientRequest {
  const url = joinUrl(endpoint.url, options.path);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const body = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body));
  const request = send(url, {
    method: options.method,
    agent: false,
    headers: {
      connection: "close",
      // No compression: it would hold back tokens until a block is full.
      "accept-encoding": "identity",
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": body.length }),
      ...(endpoint.api_key === null ? {} : { authorization: `Bearer ${endpoint.api_key}` }),
    },
  });
  request.end(body);
  return request;
}

/** A shorter key keeps nobody out, and its letters stand in every message. */
const SECRET_CHARACTERS = 6;

/** Some services repeat the key that they refuse, and what a fault says is written into bundles. */
export function withoutKey(trouble: Fault, { api_key }: Endpoint): Fault {
  if (api_key === null || api_key.length < SECRET_CHARACTERS) return trouble;
  return { ...trouble, message: trouble.message.replaceAll(api_key, "***") };
}

/** Host and path for messages, never with user names or keys in it. */
export function describe(endpoint: Endpoint, path: string): string {
  const url = joinUrl(endpoint.url, path);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/** Longest body that is read whole: a list of models, an error page. */
const BODY_BYTES = 8 << 20;

/** Reads a body to its end; cuts it at a limit that no honest answer reaches. */
export async function readBody(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    size += part.length;
    if (size > BODY_BYTES) break;
  }
  return Buffer.concat(parts).toString("utf8");
}

export function encodingFault(response: IncomingMessage): Fault | undefined {
  const encoding = response.headers["content-encoding"] ?? "identity";
  if (encoding === "identity" || encoding === "") return undefined;
  return fault(
    "bad_response",
    `the answer is packed (${encoding}) although that was not asked for`,
    {
      http_status: response.statusCode ?? 0,
    },
  );
}

export type JsonAnswer =
  | { ok: true; value: unknown; http_status: number }
  | { ok: false; fault: Fault; http_status: number | null };

export interface JsonCall extends OpenRequest {
  limit_s: number;
  signal?: AbortSignal | undefined;
}

function received(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once("response", resolve);
    request.once("error", reject);
  });
}

async function readAnswer(request: ClientRequest, where: string): Promise<JsonAnswer> {
  let response: IncomingMessage | undefined;
  try {
    response = await received(request);
    const status = response.statusCode ?? 0;
    const packed = encodingFault(response);
    if (packed !== undefined) return { ok: false, fault: packed, http_status: status };
    const text = await readBody(response);
    if (status !== 200) {
      const trouble = statusFault(status, text, response.headers.location);
      return { ok: false, fault: trouble, http_status: status };
    }
    try {
      return { ok: true, value: JSON.parse(text), http_status: status };
    } catch {
      const trouble = fault("bad_response", `${where} answered with something that is not JSON`, {
        http_status: status,
      });
      return { ok: false, fault: trouble, http_status: status };
    }
  } catch (error) {
    const trouble =
      response === undefined
        ? connectionFault(error, where)
        : fault("stream_cut", `${where}: connection ended inside the answer`);
    return { ok: false, fault: trouble, http_status: response?.statusCode ?? null };
  }
}

function limitFault(request: ClientRequest, where: string, limit_s: number): Fault {
  if (request.socket?.connecting === false) {
    return fault("total_timeout", `${where}: no complete answer in ${limit_s} s`);
  }
  return fault("connect_timeout", `${where}: no connection in ${limit_s} s`);
}

/** Asks for one JSON document. Never throws; `limit_s` covers everything from connecting on. */
export async function callJson(
  endpoint: Endpoint,
  call: JsonCall,
  clock: Clock,
): Promise<JsonAnswer> {
  const where = describe(endpoint, call.path);
  if (call.signal?.aborted === true) return stopped(fault("cancelled", "cancelled"));
  const request = openRequest(endpoint, call);
  const over = new AbortController();
  let trouble: Fault | undefined;
  const stop = (reason: Fault): void => {
    trouble ??= reason;
    request.destroy(new Error(reason.message));
  };
  const cancel = (): void => stop(fault("cancelled", "cancelled"));
  call.signal?.addEventListener("abort", cancel, { once: true });
  const watch = async (): Promise<void> => {
    await clock.sleep(call.limit_s * 1000, over.signal);
    if (!over.signal.aborted) stop(limitFault(request, where, call.limit_s));
  };
  void watch();
  try {
    const answer = await readAnswer(request, where);
    if (trouble !== undefined) return stopped(trouble);
    return answer.ok ? answer : { ...answer, fault: withoutKey(answer.fault, endpoint) };
  } finally {
    over.abort();
    call.signal?.removeEventListener("abort", cancel);
    request.on("error", () => {}); // what a torn connection says after we are done with it
    request.destroy();
  }
}

function stopped(reason: Fault): JsonAnswer {
  return { ok: false, fault: reason, http_status: null };
}
