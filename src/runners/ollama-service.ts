import { readdirSync, readFileSync, statSync } from "node:fs";
import { quickOutput } from "../core/quick-command.ts";
import { isAlive, processIdentity, type ProcessIdentity } from "../core/process-table.ts";

// Ollama tells nobody how many slots it has: OLLAMA_NUM_PARALLEL counts as it was when its server
// started. It is read from that process, else from the service that starts it.

const VARIABLE = "OLLAMA_NUM_PARALLEL";
/** What Ollama does where nobody says anything. */
const DEFAULT_SLOTS = 1;

export type ServiceSlots =
  | { ok: true; slots: number; source: string; process: ProcessIdentity | null }
  | { ok: false; reason: string };

/** Value of the variable among `NAME=VALUE` words; null where it is not there. */
function slotsIn(words: readonly string[]): number | null | undefined {
  const found = words.findLast((word) => word.startsWith(`${VARIABLE}=`));
  if (found === undefined) return null;
  const text = found.slice(VARIABLE.length + 1).trim();
  if (text === "") return null;
  const number = Number(text);
  // 0 is Ollama's own word for "choose by yourself".
  if (number === 0) return null;
  return Number.isInteger(number) && number > 0 ? number : undefined;
}

function answer(words: readonly string[], source: string, pid: number | null): ServiceSlots {
  const slots = slotsIn(words);
  if (slots === undefined) return { ok: false, reason: `${VARIABLE} of ${source} is no number` };
  const process = pid === null ? null : (processIdentity(pid) ?? null);
  if (slots !== null) return { ok: true, slots, source, process };
  const text = `${source}, which does not set ${VARIABLE}`;
  return { ok: true, slots: DEFAULT_SLOTS, source: text, process };
}

function fromProcess(pid: number): ServiceSlots | undefined {
  try {
    const words = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    return answer(words, `process ${pid}`, pid);
  } catch {
    return undefined; // another user's
  }
}

function ollamaServers(): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [program = "", verb] = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return /(?:^|\/)ollama$/.test(program) && verb === "serve" ? [Number(name)] : [];
    } catch {
      return []; // ended while we looked
    }
  });
}

/** `systemctl show` prints one `Name=Value` a line; values may hold `=`. */
export function parseShow(text: string): Map<string, string> {
  return new Map(
    text.split("\n").flatMap((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
    }),
  );
}

/** Splits `A=1 "B=two words"` as systemd quotes it. */
export function environmentWords(text: string): string[] {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "",
  );
}

const SHOWN = [
  "LoadState",
  "ActiveState",
  "MainPID",
  "Environment",
  "FragmentPath",
  "DropInPaths",
  "ExecMainStartTimestamp",
];

/** A file of the unit that was changed after the service started counts only after a restart. */
function changedSince(paths: readonly string[], started_ms: number): string | undefined {
  return paths.find((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat !== undefined && stat.mtimeMs > started_ms + 1000;
  });
}

function fromSystemd(scope: "--system" | "--user"): ServiceSlots | undefined {
  const args = [
    scope,
    "show",
    "ollama.service",
    "--timestamp=unix",
    `--property=${SHOWN.join(",")}`,
  ];
  const text = quickOutput("systemctl", args);
  if (text === null) return undefined;
  const shown = parseShow(text);
  if (shown.get("LoadState") !== "loaded" || shown.get("ActiveState") !== "active")
    return undefined;
  const pid = Number(shown.get("MainPID") ?? 0);
  const own = pid > 0 ? fromProcess(pid) : undefined;
  if (own !== undefined) return own;
  const started = /^@(\d+)/.exec(shown.get("ExecMainStartTimestamp") ?? "")?.[1];
  const files = [shown.get("FragmentPath") ?? "", ...(shown.get("DropInPaths") ?? "").split(" ")];
  const paths = files.filter((path) => path !== "");
  const changed = started === undefined ? undefined : changedSince(paths, Number(started) * 1000);
  if (changed !== undefined) {
    return { ok: false, reason: `${changed} was changed after ollama.service started; restart it` };
  }
  const words = environmentWords(shown.get("Environment") ?? "");
  return answer(words, `ollama.service (${scope.slice(2)})`, pid > 0 ? pid : null);
}

function onLinux(): ServiceSlots {
  const pids = ollamaServers();
  const [only] = pids;
  if (only !== undefined && pids.length === 1) {
    const own = fromProcess(only);
    if (own !== undefined) return own;
  }
  const service = fromSystemd("--system") ?? fromSystemd("--user");
  if (service !== undefined) return service;
  const many =
    pids.length > 1 ? `${pids.length} Ollama servers run here` : "no Ollama server shows";
  return { ok: false, reason: `${many} its environment, and there is no ollama.service` };
}

function onMacos(): ServiceSlots {
  const text = quickOutput("launchctl", ["getenv", VARIABLE]);
  if (text === null) return { ok: false, reason: `launchctl does not tell ${VARIABLE}` };
  return answer([`${VARIABLE}=${text.trim()}`], "launchctl", null);
}

/**
 * How many slots the Ollama of this machine has. `known` is an earlier answer: a process keeps the
 * environment that it was started with, so as long as that very one lives nothing is asked again.
 */
export function ollamaSlots(
  known?: ServiceSlots,
  platform: NodeJS.Platform = process.platform,
): ServiceSlots {
  if (known?.ok === true && known.process !== null && isAlive(known.process)) return known;
  if (platform === "linux") return onLinux();
  if (platform === "darwin") return onMacos();
  return { ok: false, reason: `no way is known to read it on ${platform}` };
}
