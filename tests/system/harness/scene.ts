// A machine with a person on it who has a station, runners and the program; and what tests do there.
import { inject } from "vitest";
import { PROJECT_ROOT } from "../../helpers/project-files.ts";
import { words } from "./inside.ts";
import { PROJECT_THERE } from "./layers.ts";
import { bootMachine, type Machine } from "./machine.ts";
import { account, person, standIn, SECOND, type Person, type StandIn } from "./person.ts";
import { differences, filesOf } from "./traces.ts";
import { TREE } from "./tree.ts";

/**
 * In the home: what the person has made, directories that belong to all programs, and the model lock,
 * which is never removed: whatever else measures here may hold it.
 */
const THEIRS = words(
  `station station/.* .config/touchstoned .config/touchstoned/machine.yaml .config .cache .local
.local/lib .local/share .local/state .local/state/touchstoned .local/state/touchstoned/model.lock
.config/systemd .config/systemd/user .config/systemd/user/default.target.wants`,
);

export interface Scene {
  machine: Machine;
  server: StandIn;
  someone: Person;
  /** The numbers of the person's daemons. */
  daemons(): Promise<string[]>;
  /** Drops a file; then a job is in the middle of its eval: one question answered, the second held back. */
  midJob(file: string): Promise<void>;
  /** The number of the step that runs. */
  step(): Promise<string>;
  /** Lets the job go on, and waits until its file is in `done/`. */
  finish(file: string): Promise<void>;
  /** What is different from before the person had the program at all, but for what is the person's. */
  traces(): Promise<string[]>;
}

/** `prepare`: what the person has done before, a script. */
export async function openScene(name: string, prepare = "true"): Promise<Scene> {
  const { newer, program, llama, node } = inject("layers");
  const machine = await bootMachine({
    name,
    layers: [newer, program, llama, node, TREE],
    shown: { [PROJECT_ROOT]: PROJECT_THERE },
  });
  try {
    const server = await standIn(machine);
    await account(machine, name);
    await machine.must(prepare, { user: name });
    const before = await filesOf(machine);
    return scene(machine, server, await person(machine, name), before);
  } catch (error) {
    await machine.destroy();
    throw error;
  }
}

function scene(machine: Machine, server: StandIn, someone: Person, before: string[]): Scene {
  const found = async (pattern: string): Promise<string[]> => {
    const out = await machine.must(`pgrep -u ${someone.name} -f '${pattern}' || true`);
    return out.split("\n").filter(Boolean);
  };
  return {
    machine,
    server,
    someone,
    daemons: () => found("main.js daemon"),
    async step() {
      const [one = "none", ...others] = await found("main.js _step eval");
      if (others.length > 0) throw new Error(`more than one step: ${one} ${others.join(" ")}`);
      return one;
    },
    async midJob(file) {
      await server.forget();
      await server.hold(SECOND);
      await someone.drops(file);
      await server.wasAsked(2);
    },
    async finish(file) {
      await server.release();
      await someone.sees(file);
    },
    async traces() {
      const theirs = new RegExp(`^[+] /(home/${someone.name}|root)/(${THEIRS.join("|")}) `);
      return differences(before, await filesOf(machine)).filter((line) => !theirs.test(line));
    },
  };
}
