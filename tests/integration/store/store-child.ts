/**
 * A process that works on a queue file until there is nothing left or it is killed:
 * `node store-child.ts FILE OWNER [wait]`. It prints `claimed <job> <fence>` and
 * `complete <job> <fence>`, a line at a time. With `wait` it goes on from its first claim only when
 * something comes on stdin.
 */
import { once } from "node:events";
import { writeSync } from "node:fs";
import { openSqliteStore } from "../../../src/store/index.ts";
import { ownerOf } from "../../helpers/store-fixtures.ts";

const [path, owner, wait] = process.argv.slice(2);
let waiting = wait === "wait";
if (path === undefined || owner === undefined) throw new Error("usage: FILE OWNER");
const { store } = await openSqliteStore({ path, now_ms: Date.now(), role: "guest" });
await store.register(ownerOf(owner, { pid: process.pid }), Date.now());
for (;;) {
  const job = await store.claim(owner, Date.now(), { runners: ["local"] });
  if (job === undefined) break;
  writeSync(1, `claimed ${job.id} ${job.fence}\n`);
  if (waiting) await once(process.stdin, "data");
  waiting = false;
  await store.start(job.id, job.fence, Date.now());
  const step = { step: "eval", status: "ok", record: { by: owner } };
  await store.step(job.id, job.fence, Date.now(), step);
  const done = await store.complete(job.id, job.fence, Date.now(), { by: owner });
  if (done.ok) writeSync(1, `complete ${job.id} ${job.fence}\n`);
}
process.stdin.destroy();
await store.deregister(owner);
await store.close();
