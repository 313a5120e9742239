import { describe, expect, it } from "vitest";
import { TouchstonedError } from "../../../src/core/errors.ts";
import { submitFile, type SubmitOptions } from "../../../src/intake/submit.ts";
import { Crash, TEARS } from "../../helpers/fault-disk.ts";
import { INBOX, queueText, rest, World } from "./world.ts";

const TEXT = queueText("good");

function submit(world: World, change: Partial<SubmitOptions> = {}): string {
  const { disk, new_id } = world;
  const bytes = Buffer.from(TEXT);
  return submitFile({
    disk,
    new_id,
    inbox: INBOX,
    name: "a.yaml",
    bytes,
    if_taken: "refuse",
    ...change,
  });
}

/** open, write, fsync, link, unlink, sync of the directory */
const STEPS = 6;

/** From that step of the disk on (or for so many steps) there is nothing but this error. */
function stopAt(world: World, step: number, error: Error, times = Infinity): void {
  let steps = -1;
  world.disk.step = () => {
    steps += 1;
    if (steps >= step && steps < step + times) throw error;
  };
}

function thrown(work: () => unknown): TouchstonedError {
  try {
    work();
  } catch (error) {
    if (error instanceof TouchstonedError) return error;
  }
  throw new Error("nothing was thrown that a person could read");
}

describe("submitFile", () => {
  it("drops the whole file under its name and leaves nothing else", () => {
    const world = new World();
    expect(submit(world)).toBe("a.yaml");
    expect(world.disk.tree(INBOX)).toEqual([`${INBOX}/a.yaml`]);
    expect(world.disk.text(`${INBOX}/a.yaml`)).toBe(TEXT);
    world.disk.crash(() => false, "none");
    expect(world.disk.text(`${INBOX}/a.yaml`)).toBe(TEXT);
  });

  it("never replaces a file: it refuses, or takes the next free name", () => {
    const world = new World();
    world.drop("a.yaml", "another");
    expect(thrown(() => submit(world))).toMatchObject({ code: "name_taken", exitCode: 64 });
    expect(submit(world, { if_taken: "rename" })).toBe("a-2.yaml");
    expect(submit(world, { if_taken: "rename" })).toBe("a-3.yaml");
    expect(world.disk.text(`${INBOX}/a.yaml`)).toBe("another");
    expect(world.disk.tree(INBOX)).toHaveLength(3);
  });

  it("refuses what the inbox would pass over or reject", () => {
    const world = new World();
    expect(thrown(() => submit(world, { name: ".a.yaml" })).exitCode).toBe(2);
    expect(thrown(() => submit(world, { name: "a.txt" })).message).toContain("queue files end in");
    expect(thrown(() => submit(world, { bytes: Buffer.alloc(0) })).exitCode).toBe(64);
    expect(thrown(() => submit(world, { bytes: Buffer.alloc(300_000) })).message).toContain(
      "300000",
    );
    expect(world.disk.tree(INBOX)).toEqual([]);
  });

  it("leaves, at each crash, no file or the whole file, which is then taken up", async () => {
    const kinds = [() => true, () => false, (n: number) => n === 0];
    const found: string[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      for (const [kept, tear] of kinds.flatMap((kind) =>
        TEARS.map((one) => [kind, one] as const),
      )) {
        const world = new World();
        stopAt(world, step, new Crash());
        expect(() => submit(world)).toThrow(Crash);
        world.disk.crash(kept, tear);
        const there = world.disk.exists(`${INBOX}/a.yaml`);
        expect(there ? world.disk.text(`${INBOX}/a.yaml`) : TEXT).toBe(TEXT);
        const inbox = await world.open();
        for (let n = 0; n < 3; n += 1) await rest(world, inbox);
        expect(await world.store.submissions()).toHaveLength(there ? 1 : 0);
        expect(world.in("rejected")).toEqual([]);
        found.push(there ? "there" : "not there");
      }
    }
    expect(new Set(found).size).toBe(2);
  });

  it.each(["ENOSPC", "EDQUOT"])("without room (%s) names the path and what to do", (code) => {
    const world = new World();
    stopAt(world, 1, Object.assign(new Error(`${code}: no space, write`), { code }), 1);
    const refused = thrown(() => submit(world));
    expect(refused).toMatchObject({ code: "disk_full", exitCode: 1 });
    expect(refused.message).toContain(`${INBOX}/a.yaml cannot be written`);
    expect(refused.hint).toContain("Make room");
  });

  it.each(["ENOSPC", "EIO", "EACCES", "EMFILE"])(
    "after %s at any call there is no file or the whole file",
    (code) => {
      for (let step = 0; step < STEPS; step += 1) {
        const world = new World();
        stopAt(world, step, Object.assign(new Error(code), { code }), 1);
        expect(() => submit(world)).toThrow(code);
        const path = `${INBOX}/a.yaml`;
        expect(world.disk.exists(path) ? world.disk.text(path) : TEXT).toBe(TEXT);
      }
    },
  );
});
