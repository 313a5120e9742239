import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runTool } from "../../../src/core/tool.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const env = { PATH: process.env["PATH"] ?? "" };

test("a tool gets descriptors from 3 on and its environment alone; its exit code comes back", async () => {
  const path = join(tempDir(), "out");
  const fd = openSync(path, "w");
  const script = 'echo "$HOME$MARK" >&3; echo no >&2; exit 7';
  const result = await runTool("/bin/sh", ["-c", script], {
    timeout_s: 10,
    env: { ...env, MARK: "mark" },
    descriptors: [fd],
  });
  closeSync(fd);
  expect(result).toEqual({ exit_code: 7, signal: null, stderr: "no\n", error: null });
  expect(readFileSync(path, "utf8")).toBe("mark\n");
});

test("one that is not there, one that does not end, one that says too much", async () => {
  const missing = await runTool("no-such-tool", [], { timeout_s: 10, env });
  expect(missing).toMatchObject({ exit_code: null, error: "spawn no-such-tool ENOENT" });
  const slow = await runTool("sleep", ["60"], { timeout_s: 0.1, env });
  expect(slow).toMatchObject({ exit_code: null, signal: "SIGKILL", error: null });
  const loud = await runTool("/bin/sh", ["-c", "yes | head -c 100000 >&2"], { timeout_s: 10, env });
  expect(loud.stderr).toHaveLength(4000);
});
