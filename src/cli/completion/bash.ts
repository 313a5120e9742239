import type { CommandOutline } from "../outline.ts";
import { JOBS, placesOf, RUNNERS, valueOptions, type Place } from "./shared.ts";

/** `case` lines that set `at` where a word leads one level down. */
function steps(places: readonly Place[]): string[] {
  return places.flatMap(({ at, commands }) =>
    commands.map(({ name }) => {
      const next = at === "" ? name : `${at} ${name}`;
      return `        "${at}/${name}") at="${next}" ;;`;
    }),
  );
}

function values(places: readonly Place[]): string[] {
  return places.flatMap((place) =>
    valueOptions(place).flatMap(({ names, kind }) =>
      names.map((name) => `        "${place.at}/${name}") value="${kind}" ;;`),
    ),
  );
}

function offers(places: readonly Place[]): string[] {
  return places.map(({ at, commands, options, kind, words }) => {
    const flags = options.flatMap(({ long, short }) => (short === null ? [long] : [short, long]));
    const names = [...commands.map(({ name }) => name), ...words].join(" ");
    return `    "${at}") flags="${flags.join(" ")}" names="${names}" kind="${kind}" ;;`;
  });
}

/** Works in bash 3.2, which macOS brings, as well. */
export function bashCompletion(outline: CommandOutline): string {
  const places = placesOf(outline);
  return `# Completion of touchstoned for bash, made by: touchstoned completion bash
# shellcheck shell=bash
_touchstoned() {
  local current=\${COMP_WORDS[COMP_CWORD]} word="" at="" value="" flags="" names="" kind="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $value ]]; then
      value=""
      continue
    fi
    # What follows is somebody else's command.
    [[ $word == -- ]] && { value="command"; break; }
    case "$at/$word" in
${[...values(places), ...steps(places)].join("\n")}
    esac
  done
  case "$at" in
${offers(places).join("\n")}
  esac
  if [[ -n $value ]]; then
    kind=$value
  elif [[ $current == -* ]]; then
    kind="words" names=$flags
  elif [[ -n $names ]]; then
    kind="words"
  fi
  case "$kind" in
    job) names=$(${JOBS}) ;;
    runner) names=$(${RUNNERS}) ;;
    file | command)
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
      return
      ;;
    directory)
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$current")
      return
      ;;
    none) return ;;
  esac
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$names" -- "$current")
}
complete -F _touchstoned touchstoned
`;
}
