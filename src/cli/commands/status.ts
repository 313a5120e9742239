import { EXIT, type ExitCode } from "../../core/errors.ts";
import { readStatus, statusText } from "../../daemon/light.ts";
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

export async function run(options: StatusOptions, around: Surroundings): Promise<ExitCode> {
  const { env, cwd, clock, terminal } = around;
  const now_ms = clock.now_ms();
  const place = locateState({ explicit: options.station, env, cwd });
  const status = await readStatus({ ...place, now_ms });
  terminal.out(
    options.json === true ? JSON.stringify(status, null, 2) : statusText(status, now_ms),
  );
  return EXIT.done;
}
