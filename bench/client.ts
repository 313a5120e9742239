import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Clock } from "../src/core/clock.ts";
import { systemClock } from "../src/core/clock.ts";
import { chatDialect } from "../src/runners/chat.ts";
import { exchange } from "../src/runners/exchange.ts";
import { measure, quantile, type Measure } from "./measure.ts";

const STREAMS = 64;
/** At 50 tokens a second: ten seconds, after two to warm up. */
const TOKENS = 500;
const WARM_UP_TOKENS = 100;

interface TokenServer {
  url: string;
}

/** The clock that all processes of this machine share, and by which the server stamps its tokens. */
const sharedClock: Clock = {
  ...systemClock,
  monotonic_ms: () => Number(process.hrtime.bigint()) / 1e6,
};

/**
 * Reads one answer by the runners' own streaming client. Gives the lags of its tokens: milliseconds
 * from the sending of a token to the moment that the client takes for its arrival.
 */
async function streamOnce(server: TokenServer, tokens: number): Promise<number[]> {
  const lags_ms: number[] = [];
  let start_ms: number | undefined;
  const { answer, fault } = await exchange(
    {
      endpoint: { url: server.url, api_key: null },
      path: "/v1/chat/completions",
      body: { max_tokens: tokens },
      dialect: {
        ...chatDialect,
        read(message, at_s, soFar) {
          chatDialect.read(message, at_s, soFar);
          const sent_ns = /"content":"(\d+)"/.exec(message)?.[1];
          if (sent_ns !== undefined && start_ms !== undefined) {
            lags_ms.push(start_ms + at_s * 1000 - Number(BigInt(sent_ns)) / 1e6);
          }
        },
      },
      request: { limits: { connect_s: 10, first_token_s: 30, stall_s: 30, total_s: null } },
    },
    {
      ...sharedClock,
      // The client counts from its first look at the clock.
      monotonic_ms: () => {
        const now_ms = sharedClock.monotonic_ms();
        start_ms ??= now_ms;
        return now_ms;
      },
    },
  );
  if (fault !== null || !answer.ended) throw new Error(`the stream failed: ${fault?.message}`);
  return lags_ms;
}

async function streamAll(server: TokenServer, tokens: number): Promise<number[]> {
  const streams = Array.from({ length: STREAMS }, () => streamOnce(server, tokens));
  return (await Promise.all(streams)).flat();
}

/** What it costs us to read many answers at once, and how late we see their tokens. */
export async function measureClient(): Promise<Measure[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "token-server.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const server = JSON.parse(line) as TokenServer;
    await streamAll(server, WARM_UP_TOKENS);
    const cpuBefore = process.cpuUsage();
    const started_ms = performance.now();
    const lags_ms = await streamAll(server, TOKENS);
    const taken_ms = performance.now() - started_ms;
    const cpu = process.cpuUsage(cpuBefore);
    const share = (100 * (cpu.user + cpu.system)) / 1000 / taken_ms;
    const pace = (STREAMS * TOKENS) / (taken_ms / 1000);
    return [
      measure(
        "client_cpu_share_64_streams",
        share,
        "% of a core",
        25,
        `${pace.toFixed(0)} tokens/s`,
      ),
      measure(
        "client_receive_lag_p99",
        quantile(lags_ms, 0.99),
        "ms",
        10,
        `${lags_ms.length} tokens`,
      ),
    ];
  } finally {
    child.stdin.end();
  }
}
