// A server in a process of its own that streams tokens at an even pace, for bench/client.ts. Each
// token is the moment of its sending, on the clock that all processes of this machine share.
import { createServer } from "node:http";

const INTERVAL_MS = 20;

function message(content: string): string {
  return `data: {"model":"bench","choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`;
}

const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (text: string) => (body += text));
  request.on("end", () => {
    const { max_tokens } = JSON.parse(body) as { max_tokens: number };
    response.writeHead(200, { "content-type": "text/event-stream" });
    const started_ms = performance.now();
    let sent = 0;
    const next = (): void => {
      if (sent === max_tokens) {
        response.end(
          `data: {"model":"bench","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`,
        );
        return;
      }
      response.write(message(String(process.hrtime.bigint())));
      sent += 1;
      // From the start, not from the last token: the pace must not drift.
      setTimeout(next, Math.max(0, started_ms + sent * INTERVAL_MS - performance.now()));
    };
    setTimeout(next, INTERVAL_MS);
  });
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  console.log(JSON.stringify({ url: `http://127.0.0.1:${address.port}` }));
});
// The benchmark that started it has gone.
process.stdin.resume().on("end", () => process.exit(0));
