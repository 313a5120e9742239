import { firstLine, type ServiceHost } from "./host.ts";
import { domainOf, lookLaunchd, targetOf, type LaunchdKind } from "./launchd-facts.ts";
import { stepIsAdoptable, until, untilStopping, type ServiceManager } from "./manager.ts";
import { placesOf } from "./places.ts";
import type { ServiceRecord } from "./record.ts";
import { commandLine, managerError, mustRun, removeStep, step, type Step } from "./steps.ts";

/** Above ExitTimeOut of the plist: after that launchd itself kills it. */
const GONE_LIMIT_MS = 90_000;
/** Each look starts two programs. */
const LOOK_MS = 1000;
const ATTEMPTS = 5;
const BETWEEN_MS = 2000;

/** `Bootstrap failed: 5: Input/output error`: among others, the one before is not quite gone yet. */
const INPUT_OUTPUT_ERROR = 5;
/** `Domain does not support specified action`: nobody is logged in at the screen. */
const NO_SUCH_DOMAIN = 125;

const HEADLESS =
  "Log in at the Mac's own screen once (automatic login keeps it so), or install a service that needs " +
  "no login: sudo touchstoned install --system";

/**
 * What `launchctl` says on errors is no interface, and what it does goes on after it has ended. So its
 * exit status is taken for a hint: whether the service is there is looked at, and waited for.
 */
export class LaunchdManager implements ServiceManager {
  readonly #host: ServiceHost;
  readonly #kind: LaunchdKind;
  readonly #record: ServiceRecord | undefined;
  readonly #domain: string;
  readonly #target: string;
  readonly #plist: string;

  constructor(host: ServiceHost, kind: LaunchdKind, record: ServiceRecord | undefined) {
    this.#host = host;
    this.#kind = kind;
    this.#record = record;
    this.#domain = domainOf(kind, host);
    this.#target = targetOf(kind, host);
    this.#plist = placesOf(kind, host).definition ?? "";
  }

  #look() {
    return lookLaunchd(this.#host, this.#kind);
  }

  async #isGone(): Promise<boolean> {
    return !(await this.#look()).loaded;
  }

  #launchctl(...args: string[]) {
    return this.#host.run("launchctl", args, { timeout_s: 120 });
  }

  /** Out of launchd, and waited for: a bootstrap before that fails. */
  async #bootout(): Promise<void> {
    if (await this.#isGone()) return;
    const told = await this.#launchctl("bootout", this.#target);
    if (await until(() => this.#isGone(), GONE_LIMIT_MS, this.#host.clock, LOOK_MS)) return;
    const command = `launchctl bootout ${this.#target}`;
    throw managerError(command, firstLine(told), "A reboot ends it for sure.");
  }

  async #bootstrap(): Promise<void> {
    await this.#launchctl("enable", this.#target);
    const words = commandLine(["launchctl", "bootstrap", this.#domain, this.#plist]);
    for (let attempt = 1; ; attempt += 1) {
      const told = await this.#launchctl("bootstrap", this.#domain, this.#plist);
      // Also where it was there already (37), or got there in spite of what was said.
      if (told.ok || !(await this.#isGone())) return;
      const said = firstLine(told);
      if (told.exit_code === NO_SUCH_DOMAIN) throw managerError(words, said, HEADLESS);
      if (told.exit_code !== INPUT_OUTPUT_ERROR || attempt === ATTEMPTS) {
        const check = commandLine(["plutil", "-lint", this.#plist]);
        const hint = `\`${check}\` may say more; a reboot clears what launchd holds on to.`;
        throw managerError(words, said, hint);
      }
      await this.#host.clock.sleep(BETWEEN_MS * attempt);
    }
  }

  /** Now, and not when ThrottleInterval allows it. */
  async #kickstart(): Promise<void> {
    const hint = "`touchstoned logs` says more.";
    await mustRun(this.#host, ["launchctl", "kickstart", this.#target], { hint });
  }

  /** Unloads what is there, leaving a step alone that can be adopted. */
  async #release(): Promise<void> {
    if (this.#record !== undefined && stepIsAdoptable(this.#record)) {
      await this.#launchctl("kill", "SIGKILL", this.#target);
    }
    await this.#bootout();
  }

  #command(args: string[], needed: Step["needed"], run: Step["run"]): Step {
    return step("run", commandLine(["launchctl", ...args]), needed, run);
  }

  async require(): Promise<void> {
    const told = await this.#launchctl("print", this.#domain);
    if (told.ok) return;
    const hint = this.#kind === "launchd-agent" ? HEADLESS : "See `launchctl print system`.";
    throw managerError(`launchctl print ${this.#domain}`, firstLine(told), hint);
  }

  activate(changed: () => boolean): Step[] {
    const [domain, target, plist] = [this.#domain, this.#target, this.#plist];
    const lint = async (): Promise<void> => {
      await mustRun(this.#host, ["plutil", "-lint", plist]);
    };
    const enable = async (): Promise<void> => {
      await mustRun(this.#host, ["launchctl", "enable", target]);
    };
    return [
      step("run", commandLine(["plutil", "-lint", plist]), changed, lint),
      this.#command(
        ["bootout", target],
        async () => changed() && !(await this.#isGone()),
        () => this.#release(),
      ),
      this.#command(["enable", target], async () => !(await this.#look()).enabled, enable),
      this.#command(
        ["bootstrap", domain, plist],
        () => this.#isGone(),
        () => this.#bootstrap(),
      ),
      this.#command(
        ["kickstart", target],
        async () => changed() || !(await this.#look()).running,
        () => this.#kickstart(),
      ),
    ];
  }

  deactivate(): Step[] {
    return [
      this.#command(
        ["bootout", this.#target],
        async () => !(await this.#isGone()),
        () => this.#bootout(),
      ),
      removeStep(this.#plist),
    ];
  }

  async start(): Promise<void> {
    if (await this.#isGone()) await this.#bootstrap();
    else await this.#launchctl("enable", this.#target);
    await this.#kickstart();
  }

  /** Unloaded: launchd starts it again at the next login or boot, or by `touchstoned start`. */
  async stop(now: boolean): Promise<void> {
    if (now && this.#record !== undefined) {
      await this.#launchctl("kill", "SIGTERM", this.#target);
      await untilStopping(this.#record, this.#host.clock);
    }
    // Its SIGTERM is the daemon's second one then.
    await this.#bootout();
  }

  async restart(): Promise<void> {
    if (this.#record !== undefined && stepIsAdoptable(this.#record)) {
      await this.#launchctl("kill", "SIGKILL", this.#target);
      await this.#kickstart();
      return;
    }
    await this.stop(true);
    await this.start();
  }
}
