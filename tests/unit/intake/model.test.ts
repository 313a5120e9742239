import fc from "fast-check";
import { basename, dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../../src/core/json.ts";
import type { Inbox } from "../../../src/intake/inbox.ts";
import { fileKey } from "../../../src/core/disk.ts";
import { Crash, TEARS } from "../../helpers/fault-disk.ts";
import { INBOX, MIN_AGE_MS, NEVER, queueText, RUNS, World } from "./world.ts";

const NAMES = ["a.yaml", "b.yml", "c.json"] as const;

const name = fc.constantFrom(...NAMES);
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("drop" as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("write more" as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("copy over" as const), name }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("set time" as const),
      name,
      back_ms: fc.constantFrom(0, 3_600_000, -3_600_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rename" as const), name, to: name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("link" as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), name }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("tick" as const),
      ms: fc.constantFrom(100, 2_000, 5_000, 28_000, 29_999, 30_000, 31_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("clock step" as const),
      ms: fc.constantFrom(-3_600_000, -31_000, 31_000, 3_600_000),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("pass" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("two passes" as const) }) },
  // Long enough for it to be prepared.
  { weight: 3, arbitrary: fc.record({ do: fc.constant("passes while it ripens" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("edit a pack" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("end jobs" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("crash" as const),
      /** In the pass that comes next, before this step of the disk. */
      step: fc.nat(60),
      kept: fc.nat(31),
      tear: fc.constantFrom(...TEARS),
    }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** Plays commands against the inbox and knows, by itself, what may be taken up when. */
class Play {
  readonly world = new World();
  #inbox: Inbox | null = null;
  #texts = 0;
  #links = 0;
  #packs = 0;
  /** What the looks of this life of the process have shown, oldest first. */
  #looks = new Map<string, { key: string; at_ms: number }[]>();
  /** How often each content may be taken up. */
  readonly allowed = new Map<string, number>();

  async inbox(): Promise<Inbox> {
    this.#inbox ??= await this.world.open();
    return this.#inbox;
  }

  #path(file: string): string {
    return `${INBOX}/${file}`;
  }

  #text(): string {
    this.#texts += 1;
    const text = queueText(`m${this.#texts}`);
    this.allowed.set(sha256Hex(text), 1);
    return text;
  }

  #remember(): void {
    for (const file of NAMES) {
      const stat = this.world.disk.lstat(this.#path(file));
      const looks = this.#looks.get(file) ?? [];
      if (stat === undefined) this.#looks.delete(file);
      else {
        const key = fileKey(stat);
        const same = looks.every((look) => look.key === key) ? looks : [];
        this.#looks.set(file, [...same, { key, at_ms: this.world.clock.monotonic_ms() }]);
      }
    }
  }

  async pass(): Promise<void> {
    const inbox = await this.inbox();
    this.#remember();
    const report = await inbox.pass(NEVER);
    for (const { name: file, outcome } of report.outcomes) {
      if (outcome.kind !== "accepted" && outcome.kind !== "rejected") continue;
      const first = this.#looks.get(file)?.[0]?.at_ms ?? Infinity;
      expect(this.world.clock.monotonic_ms() - first, file).toBeGreaterThanOrEqual(MIN_AGE_MS);
      if (outcome.kind === "accepted") await this.#checkSnapshot(outcome.submission_id);
    }
  }

  /** What is taken up is what lies there at that moment, whatever was read of it before. */
  async #checkSnapshot(id: string): Promise<void> {
    const { store, disk, parser } = this.world;
    const directory = dirname((await store.submission(id))?.snapshot_path ?? "");
    expect(disk.text(`${directory}/inputs/pack.yaml`)).toBe(parser.pack);
  }

  async #crash({ step, kept, tear }: Extract<Command, { do: "crash" }>): Promise<void> {
    let steps = 0;
    const at = (): void => {
      steps += 1;
      if (steps > step) throw new Crash();
    };
    const { disk } = this.world;
    // The process may die while it starts, too.
    await this.inbox();
    disk.step = at;
    this.world.fault = at;
    await this.#inbox?.pass(NEVER).catch(() => undefined);
    this.world.fault = () => {};
    disk.crash((change) => (kept & (1 << (change % 5))) !== 0, tear);
    this.#inbox = null;
    this.#looks.clear();
  }

  async play(one: Command): Promise<void> {
    const { disk, clock, store } = this.world;
    const path = "name" in one ? this.#path(one.name) : "";
    const there = path !== "" && disk.exists(path);
    switch (one.do) {
      case "drop":
        if (there) disk.remove(path);
        disk.put(path, this.#text());
        break;
      case "write more":
        if (there) disk.put(path, this.#text());
        break;
      case "copy over":
        if (there) disk.put(path, disk.text(path));
        break;
      case "set time":
        if (there) disk.touch(path, BigInt(Math.round((clock.now_ms() - one.back_ms) * 1e6)));
        break;
      case "rename": {
        if (!there || one.to === one.name) break;
        // A file that was taken up already is another order under its new name, in time.
        const sha256 = sha256Hex(disk.text(path));
        this.allowed.set(sha256, (this.allowed.get(sha256) ?? 0) + 1);
        disk.move(path, this.#path(one.to));
        break;
      }
      case "link":
        if (there) disk.hardLink(path, `/station/link-${(this.#links += 1)}`);
        break;
      case "delete":
        if (there) disk.remove(path);
        break;
      case "tick":
        clock.advance(one.ms);
        break;
      case "clock step": // also what a sleep of the machine looks like
        clock.stepWall(one.ms);
        break;
      case "pass":
        await this.pass();
        break;
      case "two passes":
        await this.pass();
        clock.advance(MIN_AGE_MS);
        await this.pass();
        break;
      case "passes while it ripens":
        for (const ms of [MIN_AGE_MS - 4000, 2000, 2000]) {
          await this.pass();
          clock.advance(ms);
        }
        break;
      case "edit a pack":
        this.#packs += 1;
        this.world.parser.pack = `pack ${this.#packs}`;
        break;
      case "end jobs":
        for (const { id } of await store.submissions({ open: true })) await this.world.endJobs(id);
        await (await this.inbox()).finishEnded();
        break;
      case "crash":
        await this.#crash(one);
        break;
      default:
        one satisfies never;
    }
    await this.#check();
  }

  async #check(): Promise<void> {
    const { store } = this.world;
    const open = await store.submissions({ open: true });
    expect(new Set(open.map(({ sha256 }) => sha256)).size).toBe(open.length);
    const counts = new Map<string, number>();
    for (const { sha256 } of await store.submissions()) {
      counts.set(sha256, (counts.get(sha256) ?? 0) + 1);
    }
    for (const [sha256, count] of counts) {
      expect(count).toBeLessThanOrEqual(this.allowed.get(sha256) ?? 0);
    }
    expect(await store.check()).toEqual([]);
  }

  /** Nobody touches anything any more: every file in the inbox is an open order or was refused. */
  async rest(): Promise<void> {
    for (let pass = 0; pass < 4; pass += 1) {
      await this.pass();
      this.world.clock.advance(MIN_AGE_MS);
    }
    await this.#check();
    const { disk, store } = this.world;
    const stored = (await store.submissions()).map((one) => dirname(one.snapshot_path ?? ""));
    expect(disk.readdir(RUNS).sort()).toEqual(stored.map((path) => basename(path)).sort());
    // A text that came with a crash and never came back is remembered for a while; no more than that.
    const records = disk.tree("/state/intake").map((path) => JSON.parse(disk.text(path)));
    expect(records.filter(({ storing }) => storing !== null)).toEqual([]);
    const open = await store.submissions({ placed: false });
    for (const file of NAMES.filter((one) => disk.exists(this.#path(one)))) {
      const sha256 = sha256Hex(disk.text(this.#path(file)));
      const of = open.filter((one) => one.sha256 === sha256 && one.file_name === file);
      expect(of.length, file).toBe(1);
    }
    const rejected = disk.exists(`${INBOX}/rejected`) ? disk.tree(`${INBOX}/rejected`) : [];
    for (const path of rejected.filter((one) => one.endsWith(".reason.json"))) {
      expect(disk.exists(path.replace(".reason.json", ""))).toBe(true);
      const { rule } = JSON.parse(disk.text(path)) as { rule: string };
      expect(["duplicate", "hard_linked"]).toContain(rule);
    }
  }
}

describe("the inbox against a model of it", { timeout: 120_000 }, () => {
  it("takes up what rests, once, and nothing that was not at rest", async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 50, size: "max" }), async (commands) => {
        const play = new Play();
        for (const one of commands) await play.play(one);
        await play.rest();
        taken += (await play.world.store.submissions()).length;
      }),
      { numRuns: 600 },
    );
    expect(taken).toBeGreaterThan(600);
  });
});
