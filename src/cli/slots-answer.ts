import { uptime } from "node:os";
import { TouchstonedError } from "../core/errors.ts";
import { readBootId } from "../core/process-table.ts";
import { packageVersion } from "../core/program.ts";
import {
  answerAllowed,
  answerOne,
  type AllowedAnswer,
  type AllowedQuestion,
  type AnswerWorld,
} from "../evidence/fast.ts";
import { askRunner, type LiveRunner, type RunnerQuestion } from "../runners/light.ts";
import { locateState, machineConfigPath } from "../station/light.ts";

/** What an answer needs of its surroundings: it is given without the command-line library. */
export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  clock: { now_ms(): number };
  terminal: { err(text: string): void };
}

/** For everything that a runner is asked: scripts wait for the answer. */
const RUNNER_LIMIT_MS = 1500;

const ask: AnswerWorld["ask"] = async (runner, model, before) => {
  const { kind, url, declared_slots } = runner;
  const answer = await askRunner({
    kind: kind as RunnerQuestion["kind"],
    url,
    model,
    declared_slots,
    limit_ms: RUNNER_LIMIT_MS,
    service: (before as LiveRunner | null)?.service,
    serving: (before as LiveRunner | null)?.serving,
  });
  return answer.ok ? { ok: true, facts: answer.runner } : answer;
};

/** The world of the station that `station` names, or that is found. Throws (78) where there is none. */
export function answerWorld(
  station: string | undefined,
  around: Surroundings,
): AnswerWorld & { root: string } {
  const { env, cwd, clock } = around;
  const { root, state_dir } = locateState({ explicit: station, env, cwd });
  const base = {
    root,
    state_dir,
    machine_path: machineConfigPath(env),
    program: packageVersion(),
    boot_id: readBootId(),
    now_ms: clock.now_ms(),
    uptime_s: uptime(),
  };
  return {
    ...base,
    ask,
    async rebuild(file) {
      const { rebuildSnapshot } = await import("../daemon/light.ts");
      return rebuildSnapshot({
        ...base,
        explicit: root,
        env,
        cwd,
        file,
        note: (text) => around.terminal.err(`note: ${text}`),
      });
    },
  };
}

/** How many requests may be sent at once. Whatever is wrong, the answer is 1 and says what. */
export async function askAllowed(
  question: AllowedQuestion & { station?: string | undefined },
  around: Surroundings,
): Promise<AllowedAnswer> {
  try {
    return await answerAllowed(question, answerWorld(question.station, around));
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    return answerOne(error.message, error.hint === undefined ? [] : [error.hint]);
  }
}
