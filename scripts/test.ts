// `npm test`: every test but the slow ones, with a real llama-server where one can be had.
// `npm test -- ARGUMENTS` hands the arguments on to vitest (a file name, `-t NAME`).
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { banner } from "./banner.ts";
import { findLlamaServer } from "./llama-server.ts";
import { shellsFolder } from "./shells.ts";

const root = join(import.meta.dirname, "..");
const required = process.env["TOUCHSTONED_REQUIRE_LLAMA_SERVER"] === "1";

const server = findLlamaServer(root);
if (server.path === null) {
  banner([
    "NO REAL llama-server: what needs one is tried on the embedded runner or skipped.",
    ...server.reason.split("\n"),
  ]);
  if (required && !server.mirror_silent) {
    process.stderr.write(
      "A real llama-server is asked for (TOUCHSTONED_REQUIRE_LLAMA_SERVER=1).\n",
    );
    process.exit(1);
  }
} else {
  process.stderr.write(`llama-server: ${server.path} (${server.version})\n`);
}

const shells = spawnSync("bash", [join(root, "scripts/get-shells.sh"), shellsFolder(root)], {
  encoding: "utf8",
  timeout: 300_000,
});
if (shells.status !== 0) {
  // Their tests use what is in PATH then, and are not there where that is nothing.
  process.stderr.write(
    `zsh, fish, shellcheck, mandoc: ${shells.stderr.trim().split("\n").at(-1)}\n`,
  );
}

const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
const run = spawnSync(
  process.execPath,
  [vitest, "run", "--project", "unit", "--project", "integration", ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      ...(server.path === null
        ? { TOUCHSTONED_TEST_REMINDER: "These results came about WITHOUT a real llama-server." }
        : { TOUCHSTONED_TEST_LLAMA_SERVER: server.path }),
      // What a missing server makes impossible was announced above and is no surprise.
      ...(required && server.path !== null ? { TOUCHSTONED_NO_SKIPS: "1" } : {}),
    },
  },
);
process.exit(run.status ?? 1);
