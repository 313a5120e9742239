import { EXIT, type ExitCode } from "../core/errors.ts";
import { controlService, serviceHost, wantedOf, type ControlAction } from "../daemon/index.ts";
import type { CommandContext } from "./context.ts";
import { sayProblems, serviceLine, type WhichOptions } from "./service-view.ts";

/** What `start`, `stop` and `restart` have in common. */
export async function control(
  action: ControlAction,
  options: WhichOptions & { now?: boolean },
  { terminal, env, clock }: CommandContext,
): Promise<ExitCode> {
  const outcome = await controlService(serviceHost(env, { clock }), {
    action,
    wanted: wantedOf(options),
    now: options.now === true,
  });
  const { service, changed } = outcome;
  const as_asked = service.running === (action !== "stop");
  if (options.json === true) terminal.json(outcome);
  else {
    sayProblems(terminal, service.problems);
    terminal.out(`${serviceLine(service)}${changed ? "" : " (as before)"}`);
  }
  return as_asked ? EXIT.done : EXIT.failed;
}
