import { configError, EXIT, systemErrorCode, usageError } from "../../core/errors.ts";
import {
  inspectService,
  installedService,
  logText,
  managerLog,
  serviceHost,
  showLog,
  stateFiles,
  wantedOf,
} from "../../daemon/index.ts";
import { locateState } from "../../station/light.ts";
import type { CommandAction } from "../context.ts";
import type { WhichOptions } from "../service-view.ts";

interface LogsOptions extends WhichOptions {
  follow?: boolean;
  lines: string;
  station?: string;
}

/** So many lines of what the manager kept are enough to see why it does not start. */
const KEPT_LINES = 20;

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 0 && text.trim() !== "") return count;
  throw usageError(`--lines ${text}: it is not a number of lines`, "Give a whole number, or 0.");
}

export const run: CommandAction<LogsOptions> = async (options, context) => {
  const { terminal, env, cwd, clock, signal } = context;
  const host = serviceHost(env, { clock });
  const lines = countOf(options.lines);
  const record =
    options.station === undefined ? installedService(host, wantedOf(options)) : undefined;
  const state_dir =
    record?.state_dir ?? locateState({ explicit: options.station, env, cwd }).state_dir;
  const path = stateFiles(state_dir).log;
  const onLine = (line: string): void => terminal.out(options.json === true ? line : logText(line));
  let there: boolean;
  try {
    there = await showLog({ path, lines, follow: options.follow === true, clock, signal, onLine });
  } catch (error) {
    if (systemErrorCode(error) !== "EACCES") throw error;
    throw configError(`${path} cannot be read by you`, "It belongs to the user of the service.");
  }
  if (!there) terminal.err(`no daemon has written ${path} yet`);
  if (record === undefined || options.follow === true) return EXIT.done;
  const service = await inspectService(env);
  if (service.running) return EXIT.done;
  terminal.err(`The service does not run. What ${record.manager} kept of it last:`);
  for (const line of await managerLog(host, record, KEPT_LINES)) terminal.err(`  ${line}`);
  return EXIT.done;
};
