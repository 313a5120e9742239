import { errorMessage, TouchstonedError } from "../../../core/errors.ts";
import { shellWord } from "../../../core/shell-word.ts";
import { faultText, type ConfigReport } from "../../../station/index.ts";
import { failure, ok, warning, type Line } from "../line.ts";

export interface ConfigInput {
  config: ConfigReport | null;
  /** What was thrown where not even the files could be looked for. */
  trouble: readonly unknown[];
  /** How many runners machine.yaml declares; null where it is wrong. */
  runners: number | null;
}

/** A failure from whatever was thrown. */
export function failureOf(error: unknown): Line {
  const hint = error instanceof TouchstonedError ? error.hint : undefined;
  return failure(errorMessage(error), hint ?? "This was not foreseen: please report it.");
}

/** A fault in words; where there is no station, the folder that was looked in says nothing. */
function faultLine({ hint, ...fault }: ConfigReport["faults"][number]): Line {
  const text = fault.message.startsWith("no station")
    ? fault.message
    : faultText({ ...fault, hint: null });
  return failure(text, hint ?? "Correct it, then: touchstoned config check");
}

/** The faults of both files, as `config check` lists them, and whether the station is trusted. */
export function configLines({ config, trouble, runners }: ConfigInput): Line[] {
  if (config === null) return trouble.map(failureOf);
  const { station, machine_config, faults, warnings } = config;
  const lines = faults.map(faultLine);
  for (const text of warnings) {
    const distrust = /^not trusted: (.*)$/s.exec(text)?.[1];
    lines.push(
      distrust === undefined
        ? warning(text, "touchstoned init makes one, and trusts the station.")
        : distrustLine(distrust, station ?? "the station"),
    );
  }
  if (lines.length > 0) return lines;
  const declared = runners === null ? "" : `, ${runners === 1 ? "1 runner" : `${runners} runners`}`;
  return [
    ok(`${station ?? ""} is trusted; nothing is wrong with it or ${machine_config}${declared}`),
  ];
}

function distrustLine(why: string, station: string): Line {
  const [what = why, command] = why.split(/; run(?:: | `)/);
  const todo =
    command === undefined
      ? `touchstoned init ${shellWord(station)}`
      : `Run: ${command.replace(/`.*$/s, "")}`;
  return failure(`the station is not trusted, so no daemon runs here: ${what}`, todo);
}
