import type { CommandOutline, ValueKind } from "../outline.ts";
import { JOBS, placesOf, RUNNERS, valueOptions, type Place } from "./shared.ts";

/** A text inside single quotes of fish, where a backslash escapes. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", String.raw`\'`)}'`;
}

function steps(places: readonly Place[]): string[] {
  return places.flatMap((place) => {
    const taking = valueOptions(place).flatMap(({ names }) => names);
    const valued = taking.map((name) => quoted(`${place.at}/${name}`)).join(" ");
    return [
      ...(valued === "" ? [] : [`            case ${valued}`, `                set value yes`]),
      ...place.commands.flatMap(({ name }) => {
        const next = place.at === "" ? name : `${place.at} ${name}`;
        return [
          `            case ${quoted(`${place.at}/${name}`)}`,
          `                set at ${quoted(next)}`,
        ];
      }),
    ];
  });
}

/** How fish is told what may stand in a place. */
const OFFER: Readonly<Record<ValueKind, string>> = {
  file: "-F",
  command: "-F",
  directory: "-a '(__fish_complete_directories)'",
  job: "-a '(__touchstoned_jobs)'",
  runner: "-a '(__touchstoned_runners)'",
  words: "",
  none: "",
};

function offers({ at, commands, options, kind, words }: Place): string[] {
  const when = `complete -c touchstoned -n ${quoted(`__touchstoned_at ${quoted(at)}`)}`;
  const lines = commands.map(({ name, about }) => `${when} -a ${quoted(name)} -d ${quoted(about)}`);
  if (words.length > 0) lines.push(`${when} -a ${quoted(words.join(" "))}`);
  if (OFFER[kind] !== "") lines.push(`${when} ${OFFER[kind]}`);
  for (const { long, short, takes, kind: value, about } of options) {
    const names = short === null ? "" : ` -s ${short.slice(1)}`;
    const offer =
      takes === null ? "" : value === "file" ? " -r -F" : ` -x ${OFFER[value]}`.trimEnd();
    lines.push(`${when}${names} -l ${long.replace(/^--/, "")}${offer} -d ${quoted(about)}`);
  }
  return lines;
}

export function fishCompletion(outline: CommandOutline): string {
  const places = placesOf(outline);
  return `# Completion of touchstoned for fish, made by: touchstoned completion fish
function __touchstoned_at --description 'whether the words so far lead to this command'
    set -l at ''
    set -l value ''
    for word in (commandline -opc)[2..]
        if test -n "$value"
            set value ''
            continue
        end
        switch "$at/$word"
            case '*/--'
                # What follows is somebody else's command.
                return 1
${steps(places).join("\n")}
        end
    end
    test "$at" = "$argv[1]"
end
function __touchstoned_jobs
    ${JOBS.replace("touchstoned", "command touchstoned")}
end
function __touchstoned_runners
    ${RUNNERS.replace("touchstoned", "command touchstoned")}
end
complete -c touchstoned -f
${places.flatMap(offers).join("\n")}
`;
}
