// A parent that starts a real server, says which processes there are, and lives on until killed.
import { systemClock } from "../../src/core/clock.ts";
import { ulidSource } from "../../src/core/ids.ts";
import { treeMembers } from "../../src/core/process-table.ts";
import { startRealServer } from "./llama-server.ts";

const [, , kind, work_dir = "."] = process.argv;
const started = await startRealServer(work_dir, {
  kind: kind === "embedded" ? "embedded" : "llama-server",
});
// A token that nobody carries: only our own descendants are members.
const family = treeMembers({ pid: process.pid, start_token: undefined }, ulidSource(systemClock)());
console.log(JSON.stringify({ server: started.pid, url: started.url, family }));
setInterval(() => undefined, 1 << 30);
