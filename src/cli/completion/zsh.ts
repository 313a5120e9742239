import { shellQuote } from "../../core/shell-word.ts";
import type { CommandOutline } from "../outline.ts";
import { JOBS, placesOf, RUNNERS, valueOptions, type Place } from "./shared.ts";

/** `name:what it does` for _describe, whose colons part the two. */
function entry(name: string, about: string): string {
  return shellQuote(`${name}:${about.replaceAll(":", String.raw`\:`)}`);
}

function steps(places: readonly Place[]): string[] {
  return places.flatMap((place) => [
    ...valueOptions(place).flatMap(({ names, kind }) =>
      names.map((name) => `      (${shellQuote(`${place.at}/${name}`)}) value=${kind} ;;`),
    ),
    ...place.commands.map(({ name }) => {
      const next = place.at === "" ? name : `${place.at} ${name}`;
      return `      (${shellQuote(`${place.at}/${name}`)}) at=${shellQuote(next)} ;;`;
    }),
  ]);
}

function offers(places: readonly Place[]): string[] {
  return places.map(({ at, commands, options, kind, words }) => {
    const flags = options.flatMap(({ long, short, about }) =>
      (short === null ? [long] : [short, long]).map((name) => entry(name, about)),
    );
    const names = [
      ...commands.map(({ name, about }) => entry(name, about)),
      ...words.map((word) => shellQuote(word)),
    ];
    return [
      `    (${shellQuote(at)})`,
      `      kind=${kind}`,
      `      flags=(${flags.join(" ")})`,
      `      names=(${names.join(" ")})`,
      `      ;;`,
    ].join("\n");
  });
}

export function zshCompletion(outline: CommandOutline): string {
  const places = placesOf(outline);
  return `#compdef touchstoned
# Completion of touchstoned for zsh, made by: touchstoned completion zsh
_touchstoned() {
  local word at='' value='' kind=none i
  local -a flags names
  for ((i = 2; i < CURRENT; i++)); do
    word=\${(Q)words[i]}
    if [[ -n $value ]]; then
      value=''
      continue
    fi
    # What follows is somebody else's command.
    [[ $word == -- ]] && { value=command; break }
    case "$at/$word" in
${steps(places).join("\n")}
    esac
  done
  case "$at" in
${offers(places).join("\n")}
  esac
  if [[ -n $value ]]; then
    kind=$value
  elif [[ $PREFIX == -* ]]; then
    _describe -o option flags
    return
  elif (( $#names )); then
    _describe command names
    return
  fi
  case "$kind" in
    (job) names=(\${(f)"$(${JOBS})"}); compadd -a names ;;
    (runner) names=(\${(f)"$(${RUNNERS})"}); compadd -a names ;;
    (file|command) _files ;;
    (directory) _files -/ ;;
  esac
}
# Loaded from a folder of fpath it is called; read with \`source\` it is announced.
if [[ $funcstack[1] == _touchstoned ]]; then
  _touchstoned "$@"
else
  compdef _touchstoned touchstoned
fi
`;
}
