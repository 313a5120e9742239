import { configError } from "../../core/errors.ts";
import { parseJsonLenient } from "../../core/json.ts";
import { shellWord } from "../../core/shell-word.ts";
import { asAccount, type Account } from "./account.ts";
import { firstLine, type ServiceHost } from "./host.ts";
import type { Places } from "./places.ts";

/** Looking at a machine (system_profiler) may take many seconds. */
const LIMIT_S = 180;

/** A station as the daemon will open it. */
export interface OpenedAs {
  root: string;
  state_dir: string;
  runs_dir: string;
  trusted: boolean;
  trust_reason: string | null;
}

/** The installed program, run as the service will run it: by the launcher, with the account's rights. */
export function runInstalled(
  host: ServiceHost,
  account: Account,
  { launch }: Pick<Places, "launch">,
  args: readonly string[],
) {
  const [file, ...rest] = asAccount(host, account, ["/bin/sh", launch, ...args]);
  return host.run(file, rest, { timeout_s: LIMIT_S });
}

/** What our own commands print as `error:` and `hint:`. */
function saidBy(stderr: string): { error: string | undefined; hint: string | undefined } {
  const lines = stderr.trim().split("\n");
  const after = (word: string) => lines.find((line) => line.startsWith(word))?.slice(word.length);
  return { error: after("error: "), hint: after("hint: ") };
}

/** Opens the station. Throws (78) what is wrong with it, with its trust, or with the Node. */
export async function openAs(
  host: ServiceHost,
  account: Account,
  places: Places,
  station: string,
): Promise<OpenedAs> {
  const told = await runInstalled(host, account, places, ["_open-station", "--station", station]);
  const answer = told.ok ? parseJsonLenient(told.stdout) : undefined;
  const opened = (answer as { station?: OpenedAs } | undefined)?.station;
  if (opened === undefined) {
    const { error = firstLine(told), hint } = saidBy(told.stderr);
    throw configError(`${account.user} cannot run the station ${station}: ${error}`, hint, "unfit");
  }
  if (opened.trusted) return opened;
  throw configError(
    `the station ${station} is not trusted: ${opened.trust_reason ?? ""}`,
    `\`touchstoned init ${shellWord(station)}\` as ${account.user} trusts it, if you do.`,
    "not_trusted",
  );
}

export async function initAs(
  host: ServiceHost,
  account: Account,
  places: Places,
  station: string,
): Promise<void> {
  const told = await runInstalled(host, account, places, ["init", station]);
  if (told.ok) return;
  const { error = firstLine(told), hint } = saidBy(told.stderr);
  throw configError(`the station ${station} cannot be made: ${error}`, hint, "init_failed");
}
