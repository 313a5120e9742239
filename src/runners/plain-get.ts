import type { Socket } from "node:net";

// One GET over a plain socket. An HTTP library costs more than Node's own start, and these questions
// are asked by scripts in loops.

const { connect } = process.getBuiltinModule("node:net");

/** A list of models with their templates stays far below this. */
const MOST_BYTES = 8 << 20;
const HEAD_END = Buffer.from("\r\n\r\n");

export type PlainAnswer =
  | { ok: true; status: number; body: string }
  /** `refused`: nobody listens there. */
  | { ok: false; refused: boolean; reason: string };

interface Head {
  status: number;
  length: number | null;
  chunked: boolean;
}

function parseHead(text: string): Head | undefined {
  const [first = "", ...lines] = text.split("\r\n");
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1];
  if (status === undefined) return undefined;
  const fields = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const length = fields.get("content-length");
  return {
    status: Number(status),
    length: length !== undefined && /^\d+$/.test(length) ? Number(length) : null,
    chunked: fields.get("transfer-encoding")?.toLowerCase() === "chunked",
  };
}

/** The bytes of a chunked body; undefined where its end has not come. */
function joinChunks(body: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const line = body.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = Number.parseInt(body.toString("latin1", at, line), 16);
    if (!Number.isInteger(size) || size < 0) return undefined;
    if (size === 0) return Buffer.concat(parts);
    const start = line + 2;
    if (body.length < start + size + 2) return undefined;
    parts.push(body.subarray(start, start + size));
    at = start + size + 2;
  }
}

function broken(reason: string): PlainAnswer {
  return { ok: false, refused: false, reason };
}

/** What came so far as an answer; undefined where more has to come. `ended`: nothing more comes. */
function readAnswer(bytes: Buffer, ended: boolean): PlainAnswer | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return ended ? broken("the connection ended before an answer") : undefined;
  const head = parseHead(bytes.toString("latin1", 0, end));
  if (head === undefined) return broken("what answers is no HTTP server");
  const body = bytes.subarray(end + HEAD_END.length);
  const { status, length } = head;
  const whole = head.chunked
    ? joinChunks(body)
    : length === null
      ? ended
        ? body
        : undefined
      : body.length >= length
        ? body.subarray(0, length)
        : undefined;
  if (whole !== undefined) return { ok: true, status, body: whole.toString("utf8") };
  return ended ? broken("the answer was cut off") : undefined;
}

function failure(error: Error & { code?: string }): PlainAnswer {
  const refused = error.code === "ECONNREFUSED";
  const words: Record<string, string> = {
    ECONNREFUSED: "nobody listens there",
    ECONNRESET: "it closed the connection",
    ENOTFOUND: "there is no such host",
  };
  return { ok: false, refused, reason: words[error.code ?? ""] ?? error.message };
}

/** Asks `http://HOST:PORT` for `path`, `limit_ms` for everything. Never rejects. */
export function plainGet(base: string, path: string, limit_ms: number): Promise<PlainAnswer> {
  const url = new URL(base);
  if (url.protocol !== "http:") {
    return Promise.resolve({ ok: false, refused: false, reason: "it is not asked over https" });
  }
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let size = 0;
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const socket: Socket = connect({ host, port: Number(url.port === "" ? 80 : url.port) });
    const finish = (answer: PlainAnswer): void => {
      clearTimeout(timer);
      socket.removeAllListeners("data").destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => {
      finish({ ok: false, refused: false, reason: `no answer within ${limit_ms / 1000} s` });
    }, limit_ms);
    const look = (ended: boolean): void => {
      const answer = readAnswer(Buffer.concat(parts), ended);
      if (answer !== undefined) finish(answer);
    };
    socket.on("error", (error) => finish(failure(error)));
    socket.on("data", (part) => {
      parts.push(part);
      size += part.length;
      if (size > MOST_BYTES) {
        finish({ ok: false, refused: false, reason: `an answer of over ${MOST_BYTES} bytes` });
      } else look(false);
    });
    socket.on("end", () => look(true));
    const lines = [`GET ${path} HTTP/1.1`, `Host: ${url.host}`, "Connection: close", "", ""];
    socket.write(lines.join("\r\n"));
  });
}

/** Like `plainGet`, for an answer of status 200 that is JSON. */
export async function plainJson(
  base: string,
  path: string,
  limit_ms: number,
): Promise<{ ok: true; value: unknown } | { ok: false; status: number | null; reason: string }> {
  const answer = await plainGet(base, path, limit_ms);
  if (!answer.ok) return { ok: false, status: null, reason: `${path}: ${answer.reason}` };
  if (answer.status !== 200) {
    return { ok: false, status: answer.status, reason: `${path}: status ${answer.status}` };
  }
  try {
    return { ok: true, value: JSON.parse(answer.body) };
  } catch {
    return { ok: false, status: 200, reason: `${path}: the answer is not JSON` };
  }
}
