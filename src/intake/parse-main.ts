import { basename } from "node:path";
import type { Readable, Writable } from "node:stream";
import { EXIT, TouchstonedError, type ExitCode } from "../core/errors.ts";
import { jsonLine } from "../core/json.ts";
import { misplaced } from "./misplaced.ts";
import {
  answerOf,
  READY_LINE,
  type ParseAnswer,
  type ParseRequest,
  type SubmissionPlan,
} from "./parse-protocol.ts";
import { refusal, refusalFrom } from "./refusal.ts";

export interface ParseMainOptions {
  input: Readable;
  output: Writable;
  /** Parses and checks a queue file and all that it names; throws an input error. */
  plan: (request: ParseRequest, bytes: Buffer) => SubmissionPlan;
  /** Does once what `plan` does, before we say that we are ready, so that the request is quick. */
  rehearse?: () => void;
}

async function firstLine(input: Readable): Promise<string | null> {
  let text = "";
  for await (const chunk of input.setEncoding("utf8")) {
    text += String(chunk);
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
  return null;
}

function answer(request: ParseRequest, plan: ParseMainOptions["plan"]): ParseAnswer {
  const bytes = Buffer.from(request.bytes_base64, "base64");
  const { path } = request;
  const name = basename(path);
  try {
    return answerOf(plan(request, bytes));
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    const other = misplaced(bytes.toString("utf8"), path);
    if (other !== null) {
      const message = `${name}: this is ${other.what}, not a queue file`;
      return { ok: false, refusal: refusal("misplaced", message, other.where) };
    }
    return { ok: false, refusal: refusalFrom(error, path, name) };
  }
}

/** Body of the parsing child: says when it is ready, answers one request, ends. */
export async function runParseMain(options: ParseMainOptions): Promise<ExitCode> {
  const { input, output, rehearse } = options;
  try {
    rehearse?.();
  } catch {
    // It costs time and nothing else: the request itself will say what is wrong.
  }
  output.write(`${READY_LINE}\n`);
  const line = await firstLine(input);
  if (line === null) return EXIT.done; // nothing came before our parent let go
  const reply = jsonLine(answer(JSON.parse(line) as ParseRequest, options.plan));
  await new Promise<void>((resolve, reject) => {
    output.write(reply, (error) => (error ? reject(error) : resolve()));
  });
  return EXIT.done;
}
