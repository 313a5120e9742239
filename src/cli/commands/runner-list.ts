import { EXIT } from "../../core/errors.ts";
import {
  DEFAULT_URL,
  embeddedInstalled,
  EMBEDDED_VERSION,
  RUNNER_KINDS,
} from "../../runners/index.ts";
import { loadMachineSettings } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

interface Row {
  name: string;
  kind: string;
  url: string | null;
  /** Model file of a runner that we start ourselves. */
  model_file: string | null;
  declared_slots: number | null;
}

function describe(row: Row): string {
  const where = row.model_file === null ? (row.url ?? "") : `starts with ${row.model_file}`;
  const slots = row.declared_slots === null ? "" : `, ${row.declared_slots} slots declared`;
  return `${row.name}  ${row.kind}  ${where}${slots}`;
}

export const run: CommandAction<{ json?: boolean }> = async (options, { terminal, env }) => {
  const machine = loadMachineSettings(env);
  const runners = machine.runners.map((runner): Row => {
    const { name, kind, url, start, declared_slots } = runner;
    return {
      name,
      kind,
      url: url ?? (start === undefined ? DEFAULT_URL[kind] : null),
      model_file: start?.model_file ?? null,
      declared_slots: declared_slots ?? null,
    };
  });
  const dir = embeddedInstalled(env);
  const kinds = RUNNER_KINDS.map((kind) => ({ kind, default_url: DEFAULT_URL[kind] }));
  if (options.json === true) {
    terminal.json({ runners, kinds, embedded: { version: EMBEDDED_VERSION, installed_in: dir } });
    return EXIT.done;
  }
  if (runners.length === 0) terminal.err("machine.yaml declares no runner yet");
  for (const row of runners) terminal.out(describe(row));
  terminal.err(
    dir === null
      ? "embedded runner: not installed (touchstoned runner install embedded)"
      : `embedded runner: ${EMBEDDED_VERSION} in ${dir}`,
  );
  return EXIT.done;
};
