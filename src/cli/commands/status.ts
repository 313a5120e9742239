import { EXIT, type ExitCode } from "../../core/errors.ts";
import { readStatus, serviceState, statusText } from "../../daemon/light.ts";
import { locateState } from "../../station/light.ts";

export interface StatusOptions {
  station?: string | undefined;
  json?: boolean;
}

/** What the command needs of its surroundings: it is started without the command-line library. */
interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  clock: { now_ms(): number };
  terminal: { out(text: string): void };
}

/** The station that is found, else, outside of any, the one that the installed service runs. */
async function placeOf(
  { station }: StatusOptions,
  { env, cwd }: Surroundings,
): Promise<{ root: string; state_dir: string; by_service: boolean }> {
  try {
    return { ...locateState({ explicit: station, env, cwd }), by_service: false };
  } catch (error) {
    // A station that was named is meant, whatever is installed.
    const named = station !== undefined || (env["TOUCHSTONED_STATION"] ?? "") !== "";
    const installed = named ? undefined : await serviceState(env);
    if (installed === undefined) throw error;
    return { ...installed, by_service: true };
  }
}

export async function run(options: StatusOptions, around: Surroundings): Promise<ExitCode> {
  const { clock, terminal } = around;
  const now_ms = clock.now_ms();
  const { root, state_dir, by_service } = await placeOf(options, around);
  const status = await readStatus({ root, state_dir, now_ms });
  const where = by_service ? `\nstation: ${root} (of the installed service)` : "";
  terminal.out(
    options.json === true ? JSON.stringify(status, null, 2) : statusText(status, now_ms) + where,
  );
  return EXIT.done;
}
