import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, ListenOptions, Socket } from "node:net";
import { onTestFinished } from "vitest";

/** One thing that a fake server does with its answer, in order. */
export type Step =
  | { write: string | Uint8Array }
  /** Goes on only when the promise is settled: tests hold a server, they do not sleep. */
  | { until: Promise<unknown> }
  /** Destroys the connection, as a killed server does. */
  | { cut: true }
  /** Says nothing more and keeps the connection open. */
  | { hang: true };

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON; a text or bytes as they are. */
  body?: unknown;
  /** Instead of a body: steps, then a proper end unless the last one is `cut` or `hang`. */
  steps?: readonly Step[];
}

export interface Recorded {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  /** Parsed JSON, undefined where there was none. */
  body: Record<string, unknown> | undefined;
}

export type Responder = (request: Recorded) => Reply | undefined | Promise<Reply | undefined>;

export interface FakeServer {
  url: string;
  port: number;
  /** Everything that was asked, in order. */
  requests: Recorded[];
  close(): Promise<void>;
}

async function readRequest(request: IncomingMessage): Promise<Recorded> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const text = Buffer.concat(parts).toString("utf8");
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    body: text === "" ? undefined : (JSON.parse(text) as Record<string, unknown>),
  };
}

async function play(response: ServerResponse, steps: readonly Step[]): Promise<void> {
  response.flushHeaders();
  for (const step of steps) {
    if (response.destroyed) return;
    if ("write" in step) {
      // Each step is a packet of its own as far as the system lets it: chunks must not melt.
      await new Promise((resolve) => response.write(step.write, resolve));
      await new Promise((resolve) => setImmediate(resolve));
    } else if ("until" in step) await step.until;
    else if ("cut" in step) return void response.socket?.destroy();
    else return;
  }
  response.end();
}

async function reply(response: ServerResponse, answer: Reply): Promise<void> {
  response.writeHead(answer.status ?? 200, answer.headers ?? {});
  if (answer.steps !== undefined) return play(response, answer.steps);
  const { body } = answer;
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) {
    response.end(body);
  } else response.end(JSON.stringify(body));
}

/** In a `beforeAll` there is no running test: whoever starts a server there closes it. */
function closeWithTest(close: () => Promise<void>): void {
  try {
    onTestFinished(close);
  } catch {
    // Said above.
  }
}

/** A real HTTP server [on a free port]; unknown paths get a 404. It ends with the running test. */
export async function fakeServer(
  respond: Responder,
  where: ListenOptions & { fd?: number } = { port: 0, host: "127.0.0.1" },
): Promise<FakeServer> {
  const requests: Recorded[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    void (async () => {
      const recorded = await readRequest(request);
      requests.push(recorded);
      const answer = await respond(recorded);
      await reply(response, answer ?? { status: 404, body: { error: "not found" } });
    })();
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(where, resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  closeWithTest(close);
  return { url: `http://127.0.0.1:${port}`, port, requests, close };
}
