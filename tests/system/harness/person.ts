// A person on a machine: an account, a station with runners, a pack and queue files, what was asked.
import type { Machine } from "./machine.ts";
import { PROJECT_THERE } from "./layers.ts";

/** Where the stand-in for a model server listens, and where it says what was asked. */
const PORT = 11499;
const STAND_IN = "/var/lib/stand-in";

const MACHINE_YAML = `schema_version: 1
runners:
  - name: stand-in
    kind: openai
    url: http://127.0.0.1:${PORT}
    declared_slots: 1
  - name: tiny
    kind: llama-server
    start:
      binary: /opt/llama-server/llama-server
      model_file: /opt/models/tiny.gguf
      args: ["-t", "1"]
      context_length: 2048
      slots: 1
model_dirs: [/opt/models]
limits: { min_free_disk_mb: 50 }
power: { keep_awake: never }
`;

const PACK = `id: three
title: Three questions
version: 1
scale: { "1": wrong, "2": poor, "3": fair, "4": good, "5": right }
dimensions: [{ id: truth, name: Truth, about: Says what is true }]
prompt_variants: [{ id: plain }]
categories:
  - id: only
    name: Only
    prompts:
      - { id: one, title: One, prompt: first question, tests: nothing, green_flags: [x], max_tokens: 16 }
      - { id: two, title: Two, prompt: second question, tests: nothing, green_flags: [x], max_tokens: 16 }
      - { id: three, title: Three, prompt: third question, tests: nothing, green_flags: [x], max_tokens: 16 }
`;

/** Every question of the pack, in the order in which they are asked. */
export const [FIRST, SECOND, THIRD] = ["first question", "second question", "third question"];
export const QUESTIONS: readonly string[] = [FIRST, SECOND, THIRD];

/** The file's own name is in it: two with the same bytes are one. */
const entry = (file: string, runner: string): string =>
  `{"entries":[{"id":"${file.replace(".json", "")}","runner":"${runner}","model":"${runner}","pack":"packs/three.yaml","max_attempts":1,"settle":{"timeout_s":5,"poll_interval_s":0.5}}]}`;

export interface Person {
  name: string;
  /** Runs a script as this person. */
  does(script: string): Promise<string>;
  /** Drops a queue file for the stand-in (or the real server) into the inbox, by `queue submit`. */
  drops(file: string, runner?: "stand-in" | "tiny"): Promise<void>;
  /** Waits until the file is in `done/`. */
  sees(file: string): Promise<void>;
}

/** The stand-in of a machine: its answers can be held back. */
export interface StandIn {
  /** Holds the answer to this question back, however often it is asked. */
  hold(question: string): Promise<void>;
  release(): Promise<void>;
  /** The questions so far, in order. */
  asked(): Promise<string[]>;
  /** Waits until so many questions came in. */
  wasAsked(count: number): Promise<void>;
  /** Begins the list of questions anew. */
  forget(): Promise<void>;
}

/** Shell: writes a file. */
export function write(path: string, text: string): string {
  return `mkdir -p "$(dirname ${path})" && echo ${Buffer.from(text).toString("base64")} | base64 -d > ${path}`;
}

/**
 * A server of a machine, one of inside/, behind a socket that listens from the beginning of each boot:
 * nobody is refused because it was not there yet. It ends with the machine as any other server.
 */
export async function serve(
  machine: Machine,
  name: string,
  port: number,
  args = "",
): Promise<void> {
  const socket = `[Socket]\nListenStream=127.0.0.1:${port}\n[Install]\nWantedBy=sockets.target\n`;
  const program = `${PROJECT_THERE}/tests/system/inside/${name}.ts ${args}`;
  const service = `[Service]\nExecStart=/opt/node/bin/node ${program}\n`;
  await machine.must(
    `${write(`/etc/systemd/system/${name}.service`, service)}
     ${write(`/etc/systemd/system/${name}.socket`, socket)}
     systemctl enable --quiet --now ${name}.socket`,
  );
}

/** Starts the stand-in, now and at each boot. */
export async function standIn(machine: Machine): Promise<StandIn> {
  await machine.must(`mkdir -p ${STAND_IN}`);
  await serve(machine, "stand-in", PORT, STAND_IN);
  const asked = async (): Promise<string[]> =>
    (await machine.must(`cat ${STAND_IN}/asked 2>/dev/null || true`)).split("\n").filter(Boolean);
  return {
    asked,
    hold: async (question) => void (await machine.must(`echo '${question}' > ${STAND_IN}/hold`)),
    release: async () => void (await machine.must(`rm ${STAND_IN}/hold`)),
    forget: async () => void (await machine.must(`rm -f ${STAND_IN}/asked`)),
    wasAsked: (count) =>
      machine.until(`${count} questions`, `test "$(wc -l < ${STAND_IN}/asked)" -ge ${count}`),
  };
}

/** Makes an account with a home as new as can be. */
export async function account(machine: Machine, name: string): Promise<void> {
  await machine.must(`useradd --create-home --shell /bin/bash ${name}`);
}

/** Gives an account a station in ~/station, and runners. The program must be in PATH. */
export async function person(machine: Machine, name: string): Promise<Person> {
  const does = (script: string): Promise<string> => machine.must(script, { user: name });
  await does(
    `${write("~/.config/touchstoned/machine.yaml", MACHINE_YAML)} && chmod 600 ~/.config/touchstoned/machine.yaml
     touchstoned init ~/station
     printf '\\ninbox:\\n  min_age_seconds: 1\\n' >> ~/station/touchstoned.yaml
     ${write("~/station/packs/three.yaml", PACK)}`,
  );
  return {
    name,
    does,
    async drops(file, runner = "stand-in") {
      await does(
        `${write(`/tmp/${file}`, entry(file, runner))} && cd ~/station && touchstoned queue submit /tmp/${file}`,
      );
    },
    sees: (file) =>
      machine.until(`${file} in done/`, `cd ~/station/inbox/done && ls | grep -q -- '-${file}$'`, {
        user: name,
        limit_s: 90,
      }),
  };
}
