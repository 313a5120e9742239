import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stateFiles } from "../../../src/daemon/files.ts";
import { openStation } from "../../../src/station/index.ts";
import { openSqliteStore } from "../../../src/store/index.ts";
import { command } from "../../helpers/command.ts";
import { testStation } from "../../helpers/station.ts";
import { jobsOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";

const MACHINE = `trusted_stations: [ROOT]
runners:
  - { name: local, kind: openai, url: "http://127.0.0.1:9" }
`;
const PACK = new URL("../../../packs/plumbing.yaml", import.meta.url);

function station(machine = MACHINE) {
  const made = testStation({ policy: "schema_version: 1\n", machine });
  const { root, env } = made;
  mkdirSync(join(root, "packs"));
  mkdirSync(join(root, "inbox"));
  writeFileSync(join(root, "packs", "p.yaml"), readFileSync(PACK));
  const file = (name: string, text: string) => {
    writeFileSync(join(root, name), text);
    return name;
  };
  return { ...made, file, run: (...args: string[]) => command(args, { cwd: root, env }) };
}

const GOOD = "entries: [{ model: m, pack: packs/p.yaml }]\n";

test("submit refuses a file that would be rejected, and says what is wrong in it", async () => {
  const { root, file, run } = station();
  const bad = file("bad.yaml", "entries: [{ modle: m, pack: packs/p.yaml }]\n");
  const refused = await run("queue", "submit", file("good.yaml", GOOD), bad);
  expect(refused.exit_code).toBe(64);
  expect(refused.stderr).toMatch(/bad\.yaml:1.*modle.*model.*--force/s);
  // All or none.
  expect(existsSync(join(root, "inbox", "good.yaml"))).toBe(false);
  expect((await run("queue", "submit", "--force", bad)).exit_code).toBe(0);
  expect(existsSync(join(root, "inbox", "bad.yaml"))).toBe(true);
});

test("submit promises no taking-up where nothing is taken up", async () => {
  const untrusted = station(MACHINE.replace("ROOT", "/elsewhere"));
  const one = await untrusted.run("queue", "submit", untrusted.file("a.yaml", GOOD));
  expect(one.stdout).toContain("nothing is taken up: this station is not trusted");
  const open = station();
  chmodSync(join(open.root, "inbox"), 0o777);
  const two = await open.run("queue", "submit", open.file("a.yaml", GOOD));
  expect(two.stdout).toMatch(/nothing is taken up: .*chmod go-w/);
});

test("cancel takes several ids, or all jobs of a file; retry and release take a file as well", async () => {
  const { root, env, run } = station();
  const { state_dir } = await openStation({ explicit: root, env, cwd: root });
  const path = stateFiles(state_dir).store;
  const { store } = await openSqliteStore({ path, now_ms: T0, role: "owner" });
  for (const id of ["AAAA", "BBBB"]) {
    const submission = submissionOf(id, { file_name: `${id}.yaml` });
    await store.accept(submission, jobsOf(id, [{}, {}, {}]));
  }
  const states = async () => (await store.jobs()).map(({ state }) => state[0]).join("");
  const two = await run("queue", "cancel", "AAAA-0", "AAAA-2");
  expect([two.exit_code, await states()]).toEqual([0, "CPCPPP"]);
  const wrong = await run("queue", "cancel", "BBBB-0", "ZZZZ");
  expect([wrong.exit_code, await states()]).toEqual([64, "CPCPPP"]);
  const all = await run("queue", "cancel", "--file", "inbox/BBBB.yaml", "--json");
  expect(JSON.parse(all.stdout).changed).toHaveLength(3);
  expect(await states()).toBe("CPCCCC");
  const held = await run("queue", "hold", "--file", "AAAA.yaml");
  expect(held.stdout.trim()).toBe("job AAAA-1 is held");
  const short = await run("queue", "show", "A");
  expect([short.exit_code, short.stderr]).toEqual([64, expect.stringContaining("last 4 letters")]);
  expect((await run("queue", "cancel")).exit_code).toBe(2);
  expect((await run("queue", "hold")).stdout).toContain("the queue is held");
  expect(existsSync(join(state_dir, "queue.held"))).toBe(true);
  expect((await run("queue", "release")).stdout).toContain("the queue is released");
  expect(existsSync(join(state_dir, "queue.held"))).toBe(false);
  await store.close();
});
