import { firstLine, type ServiceHost } from "./host.ts";
import { stepIsAdoptable, untilStopping, type ServiceManager } from "./manager.ts";
import { placesOf, UNIT } from "./places.ts";
import type { ServiceRecord } from "./record.ts";
import { commandLine, managerError, removeStep, step, type Step } from "./steps.ts";
import { hasSystemd, lookSystemd, noBus, reachedNobody, systemctl } from "./systemd-facts.ts";

type Scope = "systemd-user" | "systemd-system";

/** Above TimeoutStartSec and TimeoutStopSec of the unit. */
const START_LIMIT_S = 320;
const STOP_LIMIT_S = 120;

const NO_SYSTEMD = "Install with --cron instead, or start `touchstoned daemon` by what you have.";

export class SystemdManager implements ServiceManager {
  readonly #host: ServiceHost;
  readonly #scope: Scope;
  readonly #record: ServiceRecord | undefined;

  constructor(host: ServiceHost, scope: Scope, record: ServiceRecord | undefined) {
    this.#host = host;
    this.#scope = scope;
    this.#record = record;
  }

  #words(...args: string[]): string {
    const own = this.#scope === "systemd-user" ? ["--user"] : [];
    return commandLine(["systemctl", ...own, ...args]);
  }

  #look() {
    return lookSystemd(this.#host, this.#scope);
  }

  async #must(args: string[], timeout_s = 30): Promise<void> {
    const told = await systemctl(this.#host, this.#scope, args, { timeout_s });
    if (told.ok) return;
    const said = told.timed_out ? `no answer within ${timeout_s} s` : firstLine(told);
    if (this.#scope === "systemd-user" && reachedNobody(told.stderr)) {
      const problem = noBus(this.#host, said);
      throw managerError(this.#words(...args), problem.what, problem.do);
    }
    throw managerError(this.#words(...args), said, "`touchstoned logs` says more.");
  }

  #command(args: string[], needed: Step["needed"], timeout_s?: number): Step {
    return step("run", this.#words(...args), needed, () => this.#must(args, timeout_s));
  }

  /** A signal for the daemon alone; where it has ended meanwhile there is nobody to hear it. */
  async #signal(name: NodeJS.Signals): Promise<void> {
    const args = ["kill", "--kill-who=main", `--signal=${name}`, UNIT];
    await systemctl(this.#host, this.#scope, args);
  }

  async require(): Promise<void> {
    if (!hasSystemd(this.#host)) {
      throw managerError("systemd", "it does not run this machine", NO_SYSTEMD);
    }
    const look = await this.#look();
    const [problem] = look.problems;
    if (look.reached || problem === undefined) return;
    throw managerError("systemctl", problem.what, problem.do);
  }

  activate(changed: () => boolean): Step[] {
    const running = async (): Promise<boolean> => (await this.#look()).running;
    return [
      this.#command(["daemon-reload"], changed),
      this.#command(["enable", UNIT], async () => !(await this.#look()).enabled),
      step(
        "run",
        this.#words("restart", UNIT),
        async () => changed() || !(await running()),
        async () => ((await running()) ? this.restart() : this.start()),
      ),
    ];
  }

  deactivate(): Step[] {
    const { definition } = placesOf(this.#scope, this.#host);
    return [
      // Also one that is about to be started again.
      this.#command(["stop", UNIT], async () => (await this.#look()).installed, STOP_LIMIT_S),
      this.#command(["disable", UNIT], async () => (await this.#look()).enabled),
      ...(definition === null ? [] : [removeStep(definition)]),
      this.#command(["daemon-reload"], async () => (await this.#look()).installed),
    ];
  }

  /** `restart` and not `start`: one that systemd waits with, after a failure, starts at once by that alone. */
  async start(): Promise<void> {
    await this.#must(["restart", UNIT], START_LIMIT_S);
  }

  async stop(now: boolean): Promise<void> {
    if (now && this.#record !== undefined) {
      await this.#must(["--no-block", "stop", UNIT]);
      await untilStopping(this.#record, this.#host.clock);
      await this.#signal("SIGTERM");
    }
    await this.#must(["stop", UNIT], STOP_LIMIT_S);
  }

  async restart(): Promise<void> {
    if (this.#record !== undefined && stepIsAdoptable(this.#record)) await this.#signal("SIGKILL");
    else await this.stop(true);
    await this.start();
  }
}
