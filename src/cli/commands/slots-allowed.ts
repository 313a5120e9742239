import { EXIT, type ExitCode } from "../../core/errors.ts";
import { askAllowed, type Surroundings } from "../slots-answer.ts";

export interface SlotsAllowedOptions {
  station?: string | undefined;
  runner?: string | undefined;
  model?: string | undefined;
  json?: boolean;
  strict?: boolean;
}

export async function run(
  options: SlotsAllowedOptions,
  around: Surroundings & { terminal: { out(text: string): void; err(text: string): void } },
): Promise<ExitCode> {
  const { terminal } = around;
  const answer = await askAllowed(options, around);
  if (options.json === true) terminal.out(JSON.stringify(answer, null, 2));
  else terminal.out(String(answer.allowed));
  const of = answer.model === null ? "" : ` of ${answer.model}`;
  terminal.err(`slots: ${answer.allowed} at once${of}: ${answer.reason}`);
  for (const note of answer.notes) terminal.err(`note: ${note}`);
  return options.strict === true && answer.refused ? EXIT.refused : EXIT.done;
}
