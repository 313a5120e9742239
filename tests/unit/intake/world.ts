import { TouchstonedError } from "../../../src/core/errors.ts";
import { sha256Hex } from "../../../src/core/json.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import { Inbox, type PassReport } from "../../../src/intake/inbox.ts";
import type { SubmissionPlan } from "../../../src/intake/parse-protocol.ts";
import type { Parser, ParseOutcome, PlanBasis } from "../../../src/intake/parser.ts";
import type { IntakeWorld } from "../../../src/intake/ports.ts";
import { refusalFrom } from "../../../src/intake/refusal.ts";
import { parseQueueFile } from "../../../src/queue/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { FaultDisk } from "../../helpers/fault-disk.ts";
import { MemoryStore, type MemoryStoreOptions } from "../../helpers/memory-store.ts";
import { queueContext } from "../queue/context.ts";

export const MIN_AGE_MS = 30_000;
export const INBOX = "/station/inbox";
export const RUNS = "/state/runs";
export const NEVER = new AbortController().signal;

/** A queue file that differs from others by `model`. */
export function queueText(model: string): string {
  return `entries:\n  - model: ${model}\n    runner: local\n    pack: packs/a.yaml\n`;
}

/** What the child would plan, without a child. */
function planOf(id: string, path: string, bytes: Buffer, pack: string): SubmissionPlan {
  const { entries } = parseQueueFile(bytes.toString("utf8"), path, queueContext());
  return {
    directory: `night-${id}`,
    files: [
      { path: "source.yaml", bytes },
      { path: "inputs/pack.yaml", bytes: Buffer.from(pack) },
      { path: "submission.json", bytes: Buffer.from(JSON.stringify({ id })) },
    ],
    source: "source.yaml",
    jobs: entries.map((entry) => ({ entry, bundle: `e${entry.index}` })),
    warnings: [],
    seen: [],
  };
}

/** Parses in this process. `play` says what happens in place of that. */
class FakeParser implements Parser {
  readonly play: ((bytes: Buffer) => ParseOutcome | undefined)[] = [];
  parsed = 0;
  /** The limits that were asked for. */
  readonly limits_s: (number | undefined)[] = [];
  warmed = 0;
  ready = false;
  /** Whether one that is warmed gets ready. */
  starts = true;
  /** What is read beside the queue file. */
  pack = "pack 0";
  /** Whether what was read may be trusted to show each change. */
  settled = true;
  warm(): void {
    this.warmed += 1;
    this.ready = this.starts;
  }
  isReady(): boolean {
    return this.ready;
  }
  holds({ station }: PlanBasis): boolean {
    return this.settled && station === this.pack;
  }
  close(): void {}
  async parse(
    ...[request, { beforeText, limit_s }]: Parameters<Parser["parse"]>
  ): Promise<ParseOutcome> {
    this.limits_s.push(limit_s);
    this.ready = false;
    beforeText();
    this.parsed += 1;
    const bytes = Buffer.from(request.bytes_base64, "base64");
    const played = this.play.shift()?.(bytes);
    if (played !== undefined) return played;
    try {
      const plan = planOf(request.id, request.path, bytes, this.pack);
      const basis = { station: this.pack, created_ms: request.created_ms, seen: plan.seen };
      return { kind: "plan", plan, basis };
    } catch (error) {
      if (!(error instanceof TouchstonedError)) throw error;
      const name = request.path.split("/").at(-1) ?? "";
      return { kind: "refused", refusal: refusalFrom(error, request.path, name) };
    }
  }
}

/** A station in memory: its disk and store outlive a crash, the process does not. */
export class World {
  readonly clock = new FakeClock();
  readonly disk = new FaultDisk(() => BigInt(Math.round(this.clock.now_ms() * 1e6)));
  readonly new_id = ulidSource(this.clock);
  readonly parser = new FakeParser();
  fault: NonNullable<MemoryStoreOptions["fault"]> = () => {};
  store: MemoryStore;
  inboxFault: string | null = null;
  fileFault: string | null = null;

  constructor() {
    this.store = new MemoryStore({ fault: (method, when) => this.fault(method, when) });
    for (const path of [INBOX, RUNS, "/state"]) this.disk.makeDirs(path);
  }

  get intake(): IntakeWorld {
    return {
      paths: { inbox: INBOX, runs_dir: RUNS, state_dir: "/state" },
      disk: this.disk,
      clock: this.clock,
      new_id: this.new_id,
      store: this.store,
      trust: { inbox: () => this.inboxFault, file: () => this.fileFault },
      parser: this.parser,
    };
  }

  async open(): Promise<Inbox> {
    const inbox = new Inbox(this.intake, { min_age_ms: MIN_AGE_MS });
    await inbox.recover();
    return inbox;
  }

  drop(name: string, content: string | Buffer): string {
    this.disk.put(`${INBOX}/${name}`, content);
    return sha256Hex(content);
  }

  /** Names in a folder of the inbox, without the time and the id before them. */
  in(folder: "done" | "failed" | "rejected"): string[] {
    const at = `${INBOX}/${folder}`;
    if (!this.disk.exists(at)) return [];
    return this.disk
      .tree(at)
      .map((path) => path.slice(at.length + 1).replace(/^\S{20}-\w{26}-/, ""));
  }

  /** Ends all jobs of a submission. */
  async endJobs(
    submission_id: string,
    how: "complete" | "fail" | "cancel" = "complete",
  ): Promise<void> {
    const { store, clock } = this;
    const now_ms = clock.now_ms();
    if (how === "cancel") {
      for (const { id } of await store.jobsOf(submission_id)) await store.cancel(id, now_ms);
      return;
    }
    const owner = { id: "box", host: "box", pid: 1, start_token: "1", boot_id: "1" };
    await store.register(owner, now_ms);
    for (;;) {
      const job = await store.claim("box", now_ms, { runners: ["local"] });
      if (job === undefined) return;
      await store.start(job.id, job.fence, now_ms);
      if (how === "complete") await store.complete(job.id, job.fence, now_ms, {});
      else
        await store.fail(job.id, job.fence, now_ms, {
          kind: "incurable",
          message: "no",
          step: null,
        });
    }
  }
}

/** Two looks far enough apart, the second of which takes up what is at rest. */
export async function rest(world: World, inbox: Inbox) {
  const first = await inbox.pass(NEVER);
  world.clock.advance(MIN_AGE_MS);
  const second = await inbox.pass(NEVER);
  return { first, second };
}

/** Looks at what lies in the inbox as often as a daemon does until it is ripe, but not then. */
export async function ripen(world: World, inbox: Inbox): Promise<PassReport> {
  await inbox.pass(NEVER);
  world.clock.advance(MIN_AGE_MS - 4000);
  await inbox.pass(NEVER);
  world.clock.advance(2000);
  const report = await inbox.pass(NEVER);
  world.clock.advance(2000);
  return report;
}

export function outcomes({ outcomes: all }: PassReport) {
  return Object.fromEntries(all.map(({ name, outcome }) => [name, outcome]));
}

/** Lets what was dropped rest, and says what became of each. */
export async function taken(world: World, inbox: Inbox) {
  return outcomes((await rest(world, inbox)).second);
}

/** The reason that was written beside a rejected file. */
export function reasonOf(world: World, name: string): Record<string, unknown> {
  const path = world.disk
    .tree(`${INBOX}/rejected`)
    .find((one) => one.endsWith(`-${name}.reason.json`));
  return JSON.parse(world.disk.text(path ?? "")) as Record<string, unknown>;
}
