import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { findLlamaServer, madeModel } from "../../helpers/llama-server.ts";
import { waitFor } from "../../helpers/wait.ts";
import { corpusFile } from "../calibrate/setting.ts";
import { ownRunner, packText } from "../steps/setting.ts";
import { DaemonStation, LIMIT_MS } from "./setting.ts";

/** The machine that runs tests is never idle, and its answers are short here. */
const IDLE = "max_load: 1000, max_pressure: 1, power: any, max_tokens: 2";

function git(root: string, home: string, ...args: string[]): string {
  const env = { PATH: process.env["PATH"], HOME: home, GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
  const who = ["-c", "user.name=Anna", "-c", "user.email=anna@example.org"];
  const run = spawnSync("git", [...who, ...args], { cwd: root, encoding: "utf8", env });
  if (run.status !== 0) throw new Error(`git ${args.join(" ")}: ${run.stderr}`);
  return run.stdout;
}

/**
 * A station in a repository, whose runner `own` runs jobs and whose runner `llama` is measured: both
 * are the real llama-server with the made model, which lies in the home of the test.
 */
export class IdleStation {
  readonly daemons: DaemonStation;
  readonly model_file: string;

  private constructor(daemons: DaemonStation) {
    this.daemons = daemons;
    this.model_file = join(daemons.night.home, "tiny.gguf");
  }

  static async make(policy: { slots: string; calibration?: string }): Promise<IdleStation> {
    const daemons = await DaemonStation.make();
    const station = new IdleStation(daemons);
    const { night } = daemons;
    copyFileSync(madeModel(), station.model_file);
    station.writeMachine("http://127.0.0.1:9");
    night.write(
      "touchstoned.yaml",
      [
        "schema_version: 1",
        "inbox: {min_age_seconds: 0.1}",
        `slots: ${policy.slots}`,
        "local_models: {concurrent_runs: measured, runner: llama}",
        `calibration: {${IDLE}${policy.calibration ?? ""}}`,
        "",
      ].join("\n"),
    );
    night.write("pack.json", packText({ prompts: 1, max_tokens: 8 }));
    night.write(".gitignore", "/inbox/\n");
    station.git("init", "-q", "-b", "main");
    station.git("add", "-A");
    station.git("commit", "-q", "-m", "A station");
    return station;
  }

  /** `url`: where the server in production is. */
  writeMachine(url: string): void {
    const calibration = {
      binary: findLlamaServer() ?? "",
      model_file: this.model_file,
      args: ["-t", "1", "--no-warmup", "-fa", "off"],
      context_length: 512,
    };
    const llama = { name: "llama", kind: "llama-server", url, calibration };
    const runners = [ownRunner("own", this.model_file), llama];
    this.daemons.night.writeMachine({ runners });
  }

  git(...args: string[]): string {
    return git(this.daemons.night.root, this.daemons.night.home, ...args);
  }

  /** A corpus as if it had been drawn from earlier runs. */
  putCorpus(): void {
    const directory = join(this.daemons.state_dir, "slots");
    mkdirSync(directory, { recursive: true });
    copyFileSync(corpusFile(this.daemons.night.home, 60, 2), join(directory, "corpus.json"));
  }

  async request(): Promise<void> {
    const done = await this.daemons.night.run("slots", "request", "--runner", "llama");
    if (done.exit_code !== 0) throw new Error(done.stderr);
  }

  drop(name: string): void {
    this.daemons.drop(name, [{ runner: "own", model: "tiny" }]);
  }

  evidence(): string[] {
    try {
      return readdirSync(join(this.daemons.state_dir, "evidence"));
    } catch {
      return []; // nothing was measured yet
    }
  }

  requests(): string[] {
    try {
      return readdirSync(join(this.daemons.state_dir, "requests"));
    } catch {
      return []; // nobody asked yet
    }
  }

  waitFor(what: string, look: () => boolean | Promise<boolean>): Promise<true> {
    return waitFor(what, look, LIMIT_MS);
  }
}
