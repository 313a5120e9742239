import { describe, expect, it } from "vitest";
import {
  INBOX,
  MIN_AGE_MS,
  NEVER,
  outcomes,
  queueText,
  reasonOf,
  rest,
  taken,
  World,
} from "./world.ts";

const GOOD = queueText("good");

function aliasBomb(): string {
  const levels = Array.from({ length: 8 }, (_, n) => {
    const of = n === 0 ? '"x"' : `*a${n - 1}`;
    return `a${n}: &a${n} [${Array.from({ length: 9 }, () => of).join(",")}]`;
  });
  return `${levels.join("\n")}\n`;
}

describe("what is wrong with a file", () => {
  const utf16 = Buffer.from(`\uFEFF${GOOD}`, "utf16le");
  it.each<[string, string | Buffer, object]>([
    ["empty", "", { rule: "empty" }],
    [
      "too big",
      Buffer.alloc(10_000_000, "x"),
      { rule: "too_big", message: expect.stringContaining("10000000 bytes") },
    ],
    ["UTF-16", utf16, { rule: "bad_encoding", message: expect.stringContaining("UTF-16") }],
    ["no UTF-8", Buffer.from([0x61, 0x0a, 0xff, 0xe9]), { rule: "bad_encoding", line: 2 }],
    ["NUL", `${GOOD}# ${"x".repeat(300)}\u0000`, { rule: "control_character", line: 5 }],
    ["escape", "entries: []\n# \u001B[31m", { rule: "control_character", line: 2, column: 3 }],
    ["alias bomb", aliasBomb(), { rule: "alias_bomb" }],
    ["5,000 levels", "[".repeat(5000), { rule: "too_deep" }],
    ["5,000 dashes", "- ".repeat(5000), { rule: "too_deep" }],
    ["bad YAML", "entries:\n\t- x", { rule: "bad_yaml", line: 2 }],
    ["unknown key", `entrys:\n  - model: m\n`, { rule: "bad_queue_file", line: 1 }],
    ["no entries", "entries: []\n", { rule: "bad_queue_file", line: 1, column: 10 }],
  ])("%s: rejected with the rule and what to do", async (_, content, reason) => {
    const world = new World();
    const inbox = await world.open();
    world.drop("bad.yaml", content);
    world.drop("good.yaml", GOOD);
    await rest(world, inbox);
    await rest(world, inbox);
    await rest(world, inbox);
    expect(world.in("rejected")).toEqual(["bad.yaml", "bad.yaml.reason.json"]);
    const found = reasonOf(world, "bad.yaml");
    expect(found).toMatchObject({ schema_version: 1, file: "bad.yaml", ...reason });
    expect(found.what_to_do).toMatch(/\w{3}/);
    // It has cost no other file.
    expect(await world.store.submissions({ open: true })).toHaveLength(1);
  });

  it.each(["fifo", "symlink", "socket", "device"] as const)(
    "a %s is rejected unread",
    async (kind) => {
      const world = new World();
      const inbox = await world.open();
      world.disk.putSpecial(`${INBOX}/odd.yaml`, kind);
      world.drop("good.yaml", GOOD);
      const found = await taken(world, inbox);
      expect(found["odd.yaml"]).toMatchObject({
        kind: "rejected",
        refusal: { rule: "not_a_file" },
      });
      expect(found["good.yaml"]?.kind).toBe("accepted");
      expect(world.in("rejected")).toEqual(["odd.yaml", "odd.yaml.reason.json"]);
    },
  );

  it("a second name, a foreign owner and no right to read are rejected with what to do", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("linked.yaml", queueText("1"));
    world.disk.hardLink(`${INBOX}/linked.yaml`, "/station/elsewhere");
    world.drop("locked.yaml", queueText("2"));
    world.disk.chmod(`${INBOX}/locked.yaml`, 0o000);
    expect(await taken(world, inbox)).toMatchObject({
      "linked.yaml": { refusal: { rule: "hard_linked" } },
      "locked.yaml": { refusal: { rule: "unreadable" } },
    });
    world.drop("open.yaml", queueText("3"));
    world.fileFault = "open.yaml can be written by everyone; run: chmod go-w open.yaml";
    const { "open.yaml": outcome } = await taken(world, inbox);
    expect(outcome).toMatchObject({ refusal: { rule: "bad_mode", message: world.fileFault } });
  });

  it("takes nothing up from an inbox that others may write", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", GOOD);
    world.inboxFault = "run: chmod go-w inbox";
    const { second } = await rest(world, inbox);
    expect(second).toMatchObject({ blocked: "run: chmod go-w inbox", outcomes: [] });
    world.inboxFault = null;
    expect((await taken(world, inbox))["a.yaml"]?.kind).toBe("accepted");
  });

  it("puts back what came into the place of a file while that was rejected", async () => {
    const world = new World();
    const inbox = await world.open();
    world.drop("a.yaml", "entries: 3\n");
    await inbox.pass(NEVER);
    world.clock.advance(MIN_AGE_MS);
    world.disk.step = (call, path) => {
      if (call !== "rename" || !path.includes("/rejected/")) return;
      world.disk.step = () => {};
      world.disk.remove(`${INBOX}/a.yaml`);
      world.drop("a.yaml", GOOD);
    };
    expect(outcomes(await inbox.pass(NEVER))["a.yaml"]?.kind).toBe("waits");
    expect(world.in("rejected")).toEqual([]);
    expect((await taken(world, inbox))["a.yaml"]?.kind).toBe("accepted");
  });
});
