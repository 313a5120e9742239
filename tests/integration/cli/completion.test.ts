import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { describe, expect, it, test } from "vitest";
import { command } from "../../helpers/command.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { putProgram, runShell, toolHere } from "../../helpers/shells.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const JOB = "01KBWPM9C7Q4T5V8XK2M3N4P5R";

/** What the completion asks the program, in the form that the program has. */
const STAND_IN = `case "$*" in
"queue list --json") printf '[\\n  {\\n    "id": "${JOB}",\\n    "state": "PENDING"\\n  }\\n]\\n' ;;
"runner list --json") printf '{\\n  "runners": [\\n    {\\n      "name": "desk"\\n    }\\n  ]\\n}\\n' ;;
esac`;

interface Here {
  /** Offers for the last word of a line, in the order of the shell. */
  complete: (...words: string[]) => string[];
}

function place(): { folder: string; env: Record<string, string> } {
  const folder = tempDir();
  mkdirSync(join(folder, "packs"));
  writeFileSync(join(folder, "a night.yaml"), "");
  putProgram(folder, "touchstoned", STAND_IN);
  return { folder, env: { PATH: `${folder}:${process.env["PATH"] ?? ""}` } };
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(" ");
}

type Shell = "bash" | "zsh" | "fish";

/** How the completion of each shell is asked without a terminal. */
const ASK: Record<Shell, (file: string, folder: string, words: readonly string[]) => string> = {
  bash: (file, folder, words) => `cd '${folder}'; source '${file}'
    complete -p touchstoned >/dev/null || exit 1
    COMP_WORDS=(touchstoned ${quoted(words)}); COMP_CWORD=${words.length}
    _touchstoned; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // The entries of its completion system stand in; everything else is zsh.
  zsh: (
    file,
    folder,
    words,
  ) => `[[ -n $TOUCHSTONED_ZSH_MODULES ]] && module_path=($TOUCHSTONED_ZSH_MODULES)
    cd '${folder}'; zmodload zsh/parameter
    _describe() { local -a all; all=("\${(@P)@[-1]}"); print -rl -- \${(M)\${all%%:*}:#$PREFIX*} }
    _files() { [[ $1 == -/ ]] && print -rl -- *(/) || print -rl -- * }
    compadd() { print -rl -- "\${(@P)@[-1]}" }
    compdef() { [[ "$*" == '_touchstoned touchstoned' ]] || exit 1 }
    source '${file}'
    words=(touchstoned ${quoted(words)}); CURRENT=$#words; PREFIX=$words[-1]
    _touchstoned`,
  fish: (file, folder, words) => `cd '${folder}'; source '${file}'
    complete -C '${["touchstoned", ...words].join(" ")}' | string replace -r '\\t.*' ''; true`,
};

async function inShell(shell: Shell): Promise<Here> {
  const made = await command(["completion", shell]);
  expect(made).toMatchObject({ exit_code: 0, stderr: "" });
  const { folder, env } = place();
  const file = join(tempDir(), `completion.${shell}`);
  writeFileSync(file, made.stdout);
  return {
    complete: (...words) => {
      const said = runShell(shell, ASK[shell](file, folder, words), env);
      return said.split("\n").filter((line) => line !== "");
    },
  };
}

const shells = (["bash", "zsh", "fish"] as const).filter((shell) => toolHere(shell) !== null);

describe.each(shells)("completion in a real %s", (shell) => {
  it("knows the commands, and none that is hidden", async () => {
    const { complete } = await inShell(shell);
    const all = complete("");
    expect(all).toEqual(expect.arrayContaining(["init", "queue", "doctor", "completion"]));
    expect(all.filter((name) => name.startsWith("_"))).toEqual([]);
    expect(complete("queue", "r").toSorted()).toEqual(["rebuild", "release", "retry", "run"]);
  });

  it("knows the options of the command that stands there", async () => {
    const { complete } = await inShell(shell);
    expect(complete("queue", "run", "--lo")).toEqual(["--lock-wait"]);
    expect(complete("lock", "run", "--lo")).toEqual([]);
    expect(complete("fsck", "--")).toEqual(expect.arrayContaining(["--json", "--station"]));
  });

  it("does not take the value of an option for a command", async () => {
    const { complete } = await inShell(shell);
    expect(complete("queue", "hold", "--file", "retry", "--js")).toEqual(["--json"]);
    expect(complete("eval", "--model", "queue", "--pac")).toEqual(["--pack"]);
  });

  it("offers words, folders and files where they belong", async () => {
    const { complete } = await inShell(shell);
    expect(complete("completion", "").toSorted()).toEqual(["bash", "fish", "zsh"]);
    const folders = complete("status", "--station", "").map((name) => name.replace(/\/$/, ""));
    expect(folders).toEqual(["packs"]);
    const files = complete("queue", "check", "").map((name) => name.replaceAll("\\", ""));
    expect(files).toEqual(expect.arrayContaining(["a night.yaml"]));
    expect(files).not.toContain("queue");
  });

  it("asks the program for jobs and runners", async () => {
    const { complete } = await inShell(shell);
    expect(complete("queue", "show", "")).toEqual([JOB]);
    expect(complete("slots", "allowed", "--runner", "")).toEqual(["desk"]);
  });
});

test("another shell is refused with those that are known", async () => {
  const run = await command(["completion", "tcsh"]);
  expect(run.exit_code).toBe(2);
  expect(run.stderr).toContain("bash, zsh, fish");
});

test.each(onlyIf(toolHere("shellcheck") !== null))(
  "shellcheck is content with bash's",
  async () => {
    const { stdout } = await command(["completion", "bash"]);
    const run = spawnSync(toolHere("shellcheck") ?? "", ["-"], { input: stdout, encoding: "utf8" });
    expect(run.stdout).toBe("");
  },
);
