import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { gitClient, GitFailure } from "../../../src/evidence/git-client.ts";
import { GitRepo } from "../../helpers/git-repo.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** A `git` that tells what it was given. */
function tellingGit(): string {
  const bin = tempDir();
  const script = `#!/bin/sh\nprintf 'ARG %s\\n' "$@"\nenv | sed 's/^/ENV /'\n`;
  writeFileSync(join(bin, "git"), script, { mode: 0o755 });
  return bin;
}

function told(answer: string, kind: "ARG" | "ENV"): string[] {
  const lines = answer.split("\n").filter((line) => line.startsWith(`${kind} `));
  return lines.map((line) => line.slice(4));
}

describe("the one git client", () => {
  it("starts git in a minimal environment, whatever was inherited", async () => {
    const [home, work] = [tempDir(), tempDir()];
    const client = gitClient(work, {
      PATH: `${tellingGit()}:/usr/bin:/bin:relative:${work}/bin`,
      HOME: home,
      XDG_CONFIG_HOME: join(home, "config"),
      GIT_DIR: "/elsewhere/.git",
      GIT_SSH_COMMAND: "touch /tmp/no",
      GIT_CONFIG_PARAMETERS: "'core.hooksPath'='/no'",
      EDITOR: "vi",
      PAGER: "less",
      LD_PRELOAD: "/no.so",
      AWS_SECRET_ACCESS_KEY: "no",
    });
    const answer = await client.text(["rev-parse"], { variables: { GIT_INDEX_FILE: "/index" } });
    const variables = told(answer, "ENV")
      .filter((line) => !/^(?:PWD|SHLVL|OLDPWD|_)=/.test(line))
      .toSorted();
    expect(variables.filter((line) => !line.startsWith("PATH="))).toEqual([
      "GIT_ALLOW_PROTOCOL=none",
      "GIT_ATTR_NOSYSTEM=1",
      "GIT_INDEX_FILE=/index",
      "GIT_NO_LAZY_FETCH=1",
      "GIT_OPTIONAL_LOCKS=0",
      "GIT_TERMINAL_PROMPT=0",
      "GIT_TEST_DISALLOW_ABBREVIATED_OPTIONS=true",
      `HOME=${home}`,
      "LC_ALL=C",
      `XDG_CONFIG_HOME=${join(home, "config")}`,
    ]);
    const path = variables.find((line) => line.startsWith("PATH=")) ?? "";
    expect(path).not.toContain("relative");
    expect(path).not.toContain(work);
  });

  it("settles each setting before every configuration file, hooks but for one call", async () => {
    const repo = new GitRepo();
    for (const [name, value] of [
      ["gc.auto", "1"],
      ["core.fsync", "none"],
      ["core.fsmonitor", "/bin/false"],
      ["core.pager", "less"],
      ["core.hooksPath", "/person/hooks"],
      ["i18n.commitEncoding", "latin1"],
      ["maintenance.auto", "true"],
      ["protocol.allow", "always"],
      ["safe.bareRepository", "all"],
    ] as const) {
      repo.git("config", name, value);
    }
    const client = gitClient(repo.root, repo.env);
    const settled = async (name: string, hooks: boolean): Promise<string> =>
      (await client.text(["config", "--get", name], { hooks })).trim();
    const all = {
      "gc.auto": "0",
      "core.fsync": "all",
      "core.fsmonitor": "false",
      "core.pager": "cat",
      "i18n.commitEncoding": "UTF-8",
      "maintenance.auto": "false",
      "protocol.allow": "never",
      "safe.bareRepository": "explicit",
    };
    for (const [name, value] of Object.entries(all)) {
      expect(await settled(name, false), name).toBe(value);
      expect(await settled(name, true), name).toBe(value);
    }
    expect(await settled("core.hooksPath", false)).toBe("/dev/null");
    expect(await settled("core.hooksPath", true)).toBe("/person/hooks");
  });

  it("hands text over by standard input, and bytes back as they are", async () => {
    const repo = new GitRepo().start();
    const client = gitClient(repo.root, repo.env);
    const oid = (
      await client.text(["hash-object", "-w", "--stdin"], { input: Buffer.from([0, 255, 10]) })
    ).trim();
    const bytes = await client.objects([oid, "HEAD:none"]);
    expect(bytes.includes(Buffer.from([0, 255, 10]))).toBe(true);
    expect(bytes.toString("latin1")).toMatch(/HEAD:none missing\n$/);
  });

  it("fails with what git said and with its code, also where git says nothing", async () => {
    const repo = new GitRepo().start();
    const client = gitClient(repo.root, repo.env);
    const failing = client.text(["rev-parse", "--verify", "nothing"]);
    await expect(failing).rejects.toBeInstanceOf(GitFailure);
    await expect(failing).rejects.toMatchObject({
      exit_code: 128,
      message: "Needed a single revision",
    });
    const silent = client.text(["rev-parse", "--verify", "--quiet", "nothing"]);
    await expect(silent).rejects.toMatchObject({ exit_code: 1, message: "git ended with 1" });
  });

  it("says so where there is no git", async () => {
    const client = gitClient(tempDir(), { HOME: "/nonexistent", PATH: tempDir() });
    await expect(client.text(["version"])).rejects.toThrow(/ENOENT/);
  });
});
