import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { PROJECT_ROOT } from "../helpers/project-files.ts";
import { blocksOf, commandsIn } from "./harness/document.ts";
import { PROJECT_THERE } from "./harness/layers.ts";
import { bootMachine, type Machine } from "./harness/machine.ts";
import { account, serve, write } from "./harness/person.ts";
import { processesOf } from "./harness/traces.ts";
import { TREE } from "./harness/tree.ts";

// What README.md and docs/install.md say, word by word, by somebody who has Node (by nvm), git, Ollama
// and a model, and nothing of ours. npm fetches what the lock file names from its registry.

const OLLAMA = 11434;
const MINUTES = 60;
/** Whose certificates this computer takes, which may be those of a proxy of its own. */
const TRUSTED = "/etc/ssl/certs/ca-certificates.crt";

describe("a newcomer", () => {
  let machine: Machine;
  const types = (script: string, limit_s = 60): Promise<string> =>
    machine.must(script, { user: "me", limit_s });

  beforeAll(async () => {
    const { llama, node, clone } = inject("layers");
    machine = await bootMachine({
      name: "newcomer",
      layers: [llama, node, TREE],
      shown: { [PROJECT_ROOT]: PROJECT_THERE, [clone]: "/srv/touchstoned.git", [TRUSTED]: TRUSTED },
      network: true,
    });
    await serve(machine, "ollama", OLLAMA);
    await account(machine, "me");
    await machine.must(
      `git config --system --add safe.directory '*'
       ln -s /opt/llama-server/llama-server /usr/local/bin/llama-server
       echo 'NODE_EXTRA_CA_CERTS=${TRUSTED}' >> /etc/environment`,
    );
    await types(
      `mkdir -p ~/.nvm/versions/node ~/models && cp -r /opt/node ~/.nvm/versions/node/v24
       echo 'PATH="$HOME/.nvm/versions/node/v24/bin:$PATH"' >> ~/.profile
       ln -s /opt/models/tiny.gguf ~/models/qwen3-8b-q4_k_m.gguf`,
    );
  });
  afterAll(() => machine.destroy());

  it("installs it from a clone, and makes a station", async () => {
    await types("git clone --quiet /srv/touchstoned.git touchstoned");
    const [block = ""] = blocksOf("README.md", "## Install", "sh");
    expect(block).toContain("npm install -g");
    await types(`set -e; cd touchstoned\n${block}`, 4 * MINUTES);
    expect(await types("ls ~/bench")).toContain("touchstoned.yaml");
  });

  it("declares the runners", async () => {
    const [yaml = ""] = blocksOf("README.md", "## Install", "yaml");
    await types(
      `${write("~/more.yaml", yaml)}; cat ~/more.yaml >> ~/.config/touchstoned/machine.yaml`,
    );
    await types("cd ~/bench && touchstoned config check");
    expect(await types("cd ~/bench && touchstoned runner list")).toMatch(/ollama[^]*qwen3-8b/);
  });

  it("installs the service, which is well", async () => {
    const [block] = blocksOf("docs/install.md", "# Install it and forget it", "sh");
    const commands = commandsIn(block);
    expect(commands[0]).toBe("touchstoned install --station ~/bench");
    for (const command of commands) {
      const endless = command.endsWith(" -f");
      await types(endless ? `timeout 3 ${command}; test $? = 124` : `cd ~/bench && ${command}`);
    }
    expect(await types("systemctl --user is-active touchstoned")).toBe("active\n");
  });

  it("runs the first file", async () => {
    const [queue = ""] = blocksOf("README.md", "## Five commands", "yaml");
    // The judge is another page of the documents.
    const file = queue.replace(/^ *judge_config:.*\n/m, "");
    expect(file).toContain("packs/office-basics.yaml");
    await types(write("~/bench/tonight.yaml", file));
    const [block] = blocksOf("README.md", "## Five commands", "sh");
    // The service is the daemon.
    const commands = commandsIn(block).filter((command) => command !== "touchstoned daemon");
    expect(commands).toContain("touchstoned queue submit tonight.yaml");
    for (const command of commands) await types(`cd ~/bench && ${command}`, 3 * MINUTES);
    await machine.until("tonight.yaml in done/", "ls /home/me/bench/inbox/done | grep -q tonight", {
      limit_s: 4 * MINUTES,
    });
    expect(await types("cd ~/bench && touchstoned fsck")).toContain("sound");
  });

  it("asks for the first number, and gets the careful one with its reason", async () => {
    const ran = await machine.run("cd ~/bench && touchstoned slots allowed", { user: "me" });
    expect(ran).toMatchObject({ code: 0, stdout: "1\n" });
    expect(ran.stderr).not.toBe("");
  });

  it("takes it away again", async () => {
    const [block] = blocksOf("docs/install.md", "## Uninstall", "sh");
    const commands = commandsIn(block);
    expect(commands).toContain("touchstoned uninstall --purge");
    // The last one does what the first one does, and more.
    for (const command of commands.slice(1)) {
      await types(command.endsWith("--purge") ? `${command} --yes` : command, 3 * MINUTES);
    }
    await types("npm uninstall -g touchstoned");
    expect(await processesOf(machine)).toEqual([]);
    const left = await types(
      "find ~ -path ~/touchstoned -prune -o -path ~/bench -prune -o -path ~/.npm -prune -o -name '*touchstoned*' -print",
    );
    // What stays is said: machine.yaml, and the results.
    expect(left.split("\n").filter((line) => !/\.(config|local\/state)\//.test(line))).toEqual([
      "",
    ]);
  });
});
