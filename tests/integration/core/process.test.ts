import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import { isAlive, processIdentity, treeMembers } from "../../../src/core/process-table.ts";
import { runCommand, startTree, type ProcessTree } from "../../../src/core/process.ts";
import { waitFor } from "../../helpers/wait.ts";

const newId = ulidSource(systemClock);

function shellTree(script: string): ProcessTree {
  return startTree(
    {
      file: "sh",
      args: ["-c", script],
      token: newId(),
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    },
    systemClock,
  );
}

async function firstLine(tree: ProcessTree): Promise<string> {
  return new Promise((resolve) => {
    tree.stdout?.setEncoding("utf8").once("data", (text: string) => resolve(text.trim()));
  });
}

describe("runCommand", () => {
  it("gives what was said and how it ended", async () => {
    const good = await runCommand("sh", ["-c", "echo out; echo err >&2"], { timeout_s: 30 });
    expect(good).toMatchObject({ ok: true, exit_code: 0, stdout: "out\n", stderr: "err\n" });
    expect(good.error).toBeNull();
    const bad = await runCommand("sh", ["-c", "exit 7"], { timeout_s: 30 });
    expect(bad).toMatchObject({ ok: false, exit_code: 7, timed_out: false });
  });

  it("names a program that is not there instead of throwing", async () => {
    const result = await runCommand("no-such-program-here", [], { timeout_s: 30 });
    expect(result).toMatchObject({ ok: false, exit_code: null });
    expect(result.error).toMatch(/ENOENT/);
  });

  it("ends a command at its limit", async () => {
    const result = await runCommand("sleep", ["600"], { timeout_s: 0.2 });
    expect(result).toMatchObject({ ok: false, timed_out: true });
  });

  it("hands over input, environment, folder and descriptors", async () => {
    const result = await runCommand("sh", ["-c", "cat; echo $X; pwd"], {
      timeout_s: 30,
      input: "typed\n",
      env: { X: "y" },
      cwd: "/",
    });
    expect(result.stdout).toBe("typed\ny\n/\n");
  });
});

describe("startTree", () => {
  it("says why a program could not be started", async () => {
    const tree = startTree(
      {
        file: "no-such-program-here",
        args: [],
        token: newId(),
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
      },
      systemClock,
    );
    expect((await tree.exited).spawn_error).toMatch(/ENOENT/);
    expect(tree.members()).toEqual([]);
    await expect(tree.end(1)).resolves.toEqual([]);
  });

  it("gives exit code and signal", async () => {
    const tree = shellTree("exit 3");
    await expect(tree.exited).resolves.toEqual({ exit_code: 3, signal: null, spawn_error: null });
    const killed = shellTree("kill -KILL $$");
    await expect(killed.exited).resolves.toMatchObject({ signal: "SIGKILL" });
  });

  it("ends children and grandchildren", async () => {
    const tree = shellTree("sleep 600 & sh -c 'sleep 600 & wait' & echo ready; wait");
    await firstLine(tree);
    await waitFor("all four", () => tree.members().length >= 4);
    await expect(tree.end(10)).resolves.toEqual([]);
    expect(tree.members()).toEqual([]);
    expect((await tree.exited).signal).toBe("SIGTERM");
  });

  it("ends a child that ignores SIGTERM", async () => {
    const tree = shellTree("trap '' TERM; echo ready; while :; do sleep 0.1; done");
    await firstLine(tree);
    await expect(tree.end(0.3)).resolves.toEqual([]);
    expect((await tree.exited).signal).toBe("SIGKILL");
  });

  it.runIf(process.platform === "linux")(
    "finds and ends a grandchild that left the process group and lost its parent",
    async () => {
      const tree = shellTree("setsid sleep 600 & echo ready");
      await firstLine(tree);
      await tree.exited;
      const [orphan] = await waitFor("the orphan", () => {
        const members = tree.members();
        return members.length === 1 && members;
      });
      expect(orphan).not.toBe(tree.pid);
      await expect(tree.end(10)).resolves.toEqual([]);
      expect(processIdentity(orphan ?? 0)).toBeUndefined();
    },
  );
});

describe("process identity", () => {
  it("is the same as long as the process lives, and nobody else's", async () => {
    const tree = shellTree("echo ready; sleep 600");
    await firstLine(tree);
    const identity = processIdentity(tree.pid ?? 0);
    expect(identity).toEqual(processIdentity(tree.pid ?? 0));
    if (identity === undefined) throw new Error("the child is not in the process table");
    expect(isAlive(identity)).toBe(true);
    expect(isAlive({ ...identity, start_token: "0" })).toBe(false);
    expect(isAlive({ ...identity, boot_id: "another boot" })).toBe(false);
    await tree.end(10);
    expect(isAlive(identity)).toBe(false);
  });

  it("knows no process under a number that is not used", () => {
    expect(processIdentity(2 ** 22 + 1)).toBeUndefined();
    expect(treeMembers({ pid: 2 ** 22 + 1, start_token: undefined }, newId())).toEqual([]);
  });

  it("leaves a process alone that has a dead root's number", async () => {
    const tree = shellTree("echo ready; sleep 600");
    await firstLine(tree);
    const pid = tree.pid ?? 0;
    const stranger = { pid, start_token: "of a process that ended before" };
    expect(treeMembers(stranger, newId())).toEqual([]);
    expect(treeMembers({ pid, start_token: processIdentity(pid)?.start_token }, newId())).toContain(
      pid,
    );
    await tree.end(10);
  });
});
