import type { ServiceReport, Problem, Step, Watcher } from "../daemon/index.ts";
import type { Terminal } from "./render.ts";

export interface WhichOptions {
  user?: boolean;
  system?: boolean;
  cron?: boolean;
  json?: boolean;
}

const VERB: Record<Step["what"], string> = {
  write: "write",
  remove: "remove",
  run: "run",
  copy: "copy to",
  link: "link",
};

/** Says each step as it comes; a dry run shows the files that it would write. */
export function watcherOf(
  terminal: Terminal,
  options: { dryRun?: boolean; json?: boolean },
): Watcher {
  const dry_run = options.dryRun === true;
  return {
    dry_run,
    onStep({ what, target, content }) {
      // A dry run's steps are its answer.
      const is_answer = dry_run && options.json !== true;
      const line = `${VERB[what]} ${target}`;
      if (is_answer) terminal.out(line);
      else terminal.err(line);
      if (!is_answer || content === undefined) return;
      for (const one of content.trimEnd().split("\n")) terminal.out(`  | ${one}`);
    },
  };
}

export function sayProblems(terminal: Terminal, problems: readonly Problem[]): void {
  for (const problem of problems) {
    terminal.err(`${terminal.style("yellow", "warning:")} ${problem.what}`);
    if (problem.do !== "") terminal.err(`  ${problem.do}`);
  }
}

/** `systemd-user service, pid 71, version 0.2.0, station /home/x/bench`. */
export function serviceLine(service: ServiceReport): string {
  if (service.manager === "none") return "not installed as a service";
  const pid = service.pid === null ? "" : `, pid ${service.pid}`;
  const state = service.running ? `runs${pid}` : "does not run";
  const version = service.version === null ? "" : `, version ${service.version}`;
  const station = service.station === null ? "" : `, station ${service.station}`;
  return `touchstoned (${service.manager}) ${state}${version}${station}`;
}
