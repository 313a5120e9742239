import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { liveServing } from "../../../src/runners/live-serving.ts";
import { fakeServer } from "../../helpers/fake-http.ts";
import { onlyIf } from "../../helpers/only-if.ts";

const LINUX = onlyIf(process.platform === "linux");
const LISTEN =
  "const s = require('node:http').createServer().listen(0, '127.0.0.1', () => console.log(s.address().port))";

/** A process that listens and is called llama-server, with these arguments. */
async function started(args: readonly string[], env: Record<string, string> = {}) {
  const shell =
    'node=$1; code=$2; shift 2; exec -a /opt/bin/llama-server "$node" -e "$code" -- "$@"';
  const child = spawn("bash", ["-c", shell, "bash", process.execPath, LISTEN, ...args], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [port] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  return { url: `http://127.0.0.1:${port.trim()}`, child };
}

test.each(LINUX)("how it was started is read from its command line and variables", async () => {
  const args = ["-ctk", "q8_0", "-ctv", "q8_0", "-fa", "off"];
  const { url, child } = await started(args, { LLAMA_ARG_THREADS: "2", LLAMA_API_KEY: "secret" });
  const said = liveServing(url);
  expect(said).toMatchObject({
    ok: true,
    options: { kv_type: "q8_0", flash_attention: "off" },
    process: { pid: child.pid },
  });
  expect(JSON.stringify(said)).not.toContain("secret");
  // The same socket is not looked for again; what is told of another one is of no use.
  expect(liveServing(url, said)).toBe(said);
  const other = await started(["-fa", "on"]);
  expect(liveServing(other.url, said)).toMatchObject({ options: { flash_attention: "on" } });
  child.kill("SIGKILL");
  await once(child, "close");
  expect(liveServing(url, said)).toEqual({
    ok: false,
    reason: "no process here listens on its port",
    port: Number(new URL(url).port),
    inode: null,
    process: null,
  });
});

test.each(LINUX)("what is no llama-server tells nothing, and is not asked twice", async () => {
  const { url } = await fakeServer(() => undefined);
  const said = liveServing(url);
  expect(said).toMatchObject({ ok: false, reason: expect.stringContaining("no llama-server") });
  expect(liveServing(url, said)).toBe(said);
});
