import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../../src/core/process.ts";
import { command, startCommand } from "../../helpers/command.ts";
import { findLlamaServer, madeModel, realKind } from "../../helpers/llama-server.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { testStation } from "../../helpers/station.ts";
import { waitFor } from "../../helpers/wait.ts";
import { calibrate, corpusFile } from "./setting.ts";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const there = (url: string) =>
  fetch(`${url}/health`).then(
    ({ status }) => status === 200,
    () => false,
  );

/** A real llama-server in production, with its owner's programs that stop and start it. */
async function production() {
  const policy = 'slots: {max_slots: 2}\nevidence: {commit: "off"}\npower: {keep_awake: never}\n';
  const station = testStation({ policy, machine: "" });
  const model_file = join(station.home, "ours.gguf");
  copyFileSync(madeModel(), model_file);
  const port = await freePort();
  const pid_path = join(station.home, "production.pid");
  const script = (name: string, text: string): string => {
    const path = join(station.home, name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  };
  const server = `"${findLlamaServer()}" -m "${model_file}" --host 127.0.0.1 --port ${port} -c 512 -t 1 --no-warmup`;
  const start = script("start", `${server} >/dev/null 2>&1 &\necho $! > "${pid_path}"`);
  const stop = script("stop", `kill "$(cat "${pid_path}")"`);
  const pid = () => Number(readFileSync(pid_path, "utf8"));
  onTestFinished(() => {
    try {
      process.kill(pid(), "SIGKILL");
    } catch {
      // It is stopped.
    }
  });
  const machine = {
    trusted_stations: [station.root],
    runners: [
      {
        name: "house",
        kind: "llama-server",
        url: `http://127.0.0.1:${port}`,
        calibration: {
          binary: findLlamaServer(),
          model_file,
          args: ["-t", "1", "--no-warmup", "-fa", "off"],
          context_length: 512,
        },
        stop_command: stop,
        start_command: start,
      },
    ],
  };
  writeFileSync(station.machine_path, JSON.stringify(machine), { mode: 0o600 });
  const url = `http://127.0.0.1:${port}`;
  await runCommand(start, [], { timeout_s: 10 });
  await waitFor("production", () => there(url), 60_000);
  return { station, url, pid, corpus: corpusFile(station.home) };
}

test.each(onlyIf(realKind() === "llama-server" && process.platform === "linux"))(
  "a server in production is stopped by its owner's command and is back afterwards, also after kill -9",
  async () => {
    const { station, url, pid, corpus } = await production();
    const first = pid();
    const { outcome, lines } = await calibrate(station, { wish: { corpus, budget_s: 1 } });
    expect(outcome).toMatchObject({ result: "incomplete", stop: "the time allowed ran out" });
    expect(lines).toContain("loading with 1 slot");
    expect(await there(url)).toBe(true);
    const second = pid();
    expect(second).not.toBe(first);

    const { root, env } = station;
    const args = ["slots", "calibrate", "--corpus", corpus, "--max-tokens", "4", "--station", root];
    const killed = startCommand(args, { env, cwd: root });
    await waitFor("the noise", () => killed.output().stderr.includes("noise at 1"), 90_000);
    expect(await there(url)).toBe(false);
    killed.child.kill("SIGKILL");
    await killed.finished;
    expect(await there(url)).toBe(false);

    // The next one knows who stopped it.
    const next = await command([...args, "--budget", "1s"], { env, cwd: root });
    expect(next.exit_code).toBe(75);
    expect(await there(url)).toBe(true);
    expect(pid()).not.toBe(second);
  },
  240_000,
);
