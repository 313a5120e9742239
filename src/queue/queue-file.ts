import { splitCommand } from "../core/command-line.ts";
import {
  mergeJobSettings,
  overLimit,
  resetCommandAllowed,
  type JobLimits,
  type JobSettings,
  type PartialJobSettings,
} from "../core/job-settings.ts";
import { TouchstonedError } from "../core/errors.ts";
import { contentHash, sha256Hex } from "../core/json.ts";
import { modelSpecSchema, type ModelSpec } from "../core/model-spec.ts";
import {
  checkShape,
  findingsError,
  nearestKey,
  parseText,
  type Finding,
  type ParsedText,
} from "../core/yaml.ts";
import { queueFileSchema, type WrittenEntry } from "./entry-schema.ts";
import { orderFaults } from "./order.ts";

export type FileKind = "config" | "pack" | "judge_config" | "model";

/** What a model disk file says. */
export interface LookedModel {
  spec: ModelSpec;
  /** Memory for it, MB, as the runner of that name serves it. Throws an input error. */
  memoryMb: (runner: string) => number;
}

/** What a look at a file that an entry names has shown. */
export type FileLook =
  /** `runner`: the declared runner whose URL a legacy config names. `model`: of a model disk file. */
  | { ok: true; sha256: string; runner?: string | null; model?: LookedModel }
  | { ok: false; message: string };

/** What a queue file may choose from. */
export interface QueueContext {
  /** `defaults` of touchstoned.yaml. */
  policy_defaults: PartialJobSettings;
  limits: JobLimits;
  /** Names of machine.yaml's runners. */
  runner_names: readonly string[];
  /** Runner for the entries that name none (`--runner`); goes before the file's defaults. */
  runner_override?: string | null;
  /** Whole commands; the word MODEL stands for any one word. */
  allowed_reset_commands: readonly string[];
  /** Parses and checks a file that an entry names; called once for each file and kind. */
  look: (kind: FileKind, path: string) => FileLook;
}

/** One entry with everything filled in. Paths are as written, relative to the station. */
export interface QueueEntry {
  index: number;
  id: string | null;
  runner: string;
  model: ModelSpec;
  config: string | null;
  pack: string;
  judge_config: string | null;
  judge_model: string | null;
  /** Program and arguments; empty = no reset; null = the runner's own unload. */
  reset_command: string[] | null;
  settle: JobSettings["settle"];
  step_timeout_s: JobSettings["step_timeout_s"];
  idle_timeout_s: JobSettings["idle_timeout_s"];
  cooldown_s: number;
  priority: number;
  /** RFC 3339. */
  not_before: string | null;
  max_attempts: number;
  after: string[];
  /** What the model needs, where a model disk file tells; else null. */
  memory_mb: number | null;
  /** Hash of what is measured (runner, model spec, contents of the files), not of how. */
  key: string;
}

export interface QueueFile {
  schema_version: 1;
  /** Of the file's text. */
  sha256: string;
  entries: QueueEntry[];
}

/** Collects findings with their places. */
class Findings {
  readonly all: Finding[] = [];
  readonly #parsed: ParsedText;

  constructor(parsed: ParsedText) {
    this.#parsed = parsed;
  }

  add(path: readonly PropertyKey[], message: string, hint: string | null = null): void {
    const position = this.#parsed.position(path);
    this.all.push({ message, path: path.join("."), position, hint });
  }

  lineOf(path: readonly PropertyKey[]): number | undefined {
    return this.#parsed.position(path)?.line;
  }
}

function checkLayer(
  layer: PartialJobSettings,
  at: readonly PropertyKey[],
  context: QueueContext,
  findings: Findings,
): void {
  for (const { path, value, limit } of overLimit(layer, context.limits)) {
    const hint = "The limit is machine.yaml's, or the station's tighter one.";
    findings.add([...at, ...path], `${value} s is above the limit of ${limit} s`, hint);
  }
  const { runner, reset_command: command } = layer;
  if (runner !== undefined && !context.runner_names.includes(runner)) {
    const nearest = nearestKey(runner, context.runner_names);
    const known = context.runner_names.join(", ") || "none";
    findings.add(
      [...at, "runner"],
      `no runner "${runner}" in machine.yaml`,
      nearest === undefined ? `Declared runners: ${known}.` : `Did you mean "${nearest}"?`,
    );
  }
  if (command === undefined || command === "") return;
  const split = splitCommand(command);
  if (!split.ok) {
    findings.add([...at, "reset_command"], split.fault.message, "Close the quote.");
  } else if (!resetCommandAllowed(command, context.allowed_reset_commands)) {
    findings.add(
      [...at, "reset_command"],
      `"${command}" is not on the list of allowed reset commands`,
      `Allowed: ${context.allowed_reset_commands.map((text) => `"${text}"`).join(", ")}. ` +
        "The machine's owner adds others under reset_commands of machine.yaml.",
    );
  }
}

/** A model as an entry names it; `file` is of its model disk file, where that is how. */
interface NamedModel {
  spec: ModelSpec;
  file: { sha256: string; memoryMb: LookedModel["memoryMb"] } | null;
}

function modelOf(
  written: WrittenEntry,
  at: PropertyKey[],
  look: QueueContext["look"],
  findings: Findings,
): NamedModel | null {
  const { model } = written;
  if (typeof model === "string") return { spec: modelSpecSchema.parse({ id: model }), file: null };
  if (!("file" in model)) return { spec: model, file: null };
  const found = look("model", model.file);
  if (!found.ok) {
    findings.add([...at, "model", "file"], found.message);
    return null;
  }
  const { sha256, model: looked } = found;
  if (looked === undefined) throw new TypeError("a look at a model disk file gives its model");
  return { spec: looked.spec, file: { sha256, memoryMb: looked.memoryMb } };
}

function memoryOf(
  { file }: NamedModel,
  runner: string,
  at: PropertyKey[],
  findings: Findings,
): number | null {
  if (file === null) return null;
  try {
    return file.memoryMb(runner);
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    findings.add([...at, "model", "file"], error.message, error.hint ?? null);
    return null;
  }
}

function lookAtFiles(
  written: WrittenEntry,
  at: PropertyKey[],
  look: QueueContext["look"],
  findings: Findings,
) {
  const hashes = {
    config: null as string | null,
    pack: null as string | null,
    judge_config: null as string | null,
  };
  let runner: string | null = null;
  for (const kind of ["config", "pack", "judge_config"] as const) {
    const path = written[kind];
    if (path === undefined) continue;
    const found = look(kind, path);
    if (found.ok) {
      hashes[kind] = found.sha256;
      runner = found.runner ?? runner;
    } else findings.add([...at, kind], found.message);
  }
  if (written.judge_model !== undefined && written.judge_config === undefined) {
    const hint = "Add judge_config, or take judge_model away for an eval without a judge.";
    findings.add([...at, "judge_model"], "judge_model without judge_config judges nothing", hint);
  }
  return { hashes, runner };
}

function entryOf(
  written: WrittenEntry,
  index: number,
  defaults: PartialJobSettings,
  context: QueueContext,
  findings: Findings,
): QueueEntry | null {
  const at = ["entries", index];
  checkLayer(written, at, context, findings);
  const named = modelOf(written, at, context.look, findings);
  const files = lookAtFiles(written, at, context.look, findings);
  const { runner, reset_command, settle, step_timeout_s, idle_timeout_s, cooldown_s } = written;
  const settings = mergeJobSettings(
    [
      context.policy_defaults,
      defaults,
      { runner, reset_command, settle, step_timeout_s, idle_timeout_s, cooldown_s },
    ],
    context.limits,
  );
  const only = context.runner_names.length === 1 ? context.runner_names[0] : undefined;
  const chosen =
    written.runner ?? context.runner_override ?? settings.runner ?? files.runner ?? only;
  if (chosen === undefined) {
    const known = context.runner_names.join(", ") || "none";
    findings.add(
      at,
      "names no runner, and machine.yaml does not declare exactly one",
      `Write \`runner: NAME\`. Declared runners: ${known}.`,
    );
  }
  if (named === null || chosen === undefined) return null;
  const { spec: model, file } = named;
  const memory_mb = memoryOf(named, chosen, at, findings);
  const command = settings.reset_command;
  const split = command === undefined ? undefined : splitCommand(command);
  const judge_model = written.judge_model ?? null;
  return {
    index,
    id: written.id ?? null,
    runner: chosen,
    model,
    config: written.config ?? null,
    pack: written.pack,
    judge_config: written.judge_config ?? null,
    judge_model,
    reset_command: split === undefined ? null : split.ok ? split.words : [],
    settle: settings.settle,
    step_timeout_s: settings.step_timeout_s,
    idle_timeout_s: settings.idle_timeout_s,
    cooldown_s: settings.cooldown_s,
    priority: written.priority,
    not_before: written.not_before ?? null,
    max_attempts: written.max_attempts,
    after: written.after,
    memory_mb,
    key: contentHash({
      runner: chosen,
      model,
      judge_model,
      ...files.hashes,
      // Two files may serve under one name, one after the other.
      ...(file === null ? {} : { model_file: file.sha256 }),
    }),
  };
}

function findDuplicates(entries: readonly QueueEntry[], findings: Findings): void {
  const first = new Map<string, number>();
  for (const { index, key } of entries) {
    const earlier = first.get(key);
    if (earlier === undefined) {
      first.set(key, index);
      continue;
    }
    const line = findings.lineOf(["entries", earlier]);
    findings.add(
      ["entries", index],
      `entry ${index} is the same as entry ${earlier}${line === undefined ? "" : ` (line ${line})`}`,
      "Same runner, model spec, config, pack and judge: take one away, or change what differs.",
    );
  }
}

/**
 * Parses and checks a queue file. Pure but for `context.look`. Throws one input error (exit 64)
 * that lists everything that is wrong, each with line and column.
 */
export function parseQueueFile(text: string, file: string, context: QueueContext): QueueFile {
  const parsed = parseText(text, file);
  const checked = checkShape(parsed, queueFileSchema);
  if (!checked.ok) throw findingsError(file, checked.findings, "bad_queue_file");
  const findings = new Findings(parsed);
  const defaults = checked.value.defaults ?? {};
  checkLayer(defaults, ["defaults"], context, findings);
  const looks = new Map<string, FileLook>();
  const cached: QueueContext = {
    ...context,
    look(kind, path) {
      const known = looks.get(`${kind}:${path}`);
      const found = known ?? context.look(kind, path);
      looks.set(`${kind}:${path}`, found);
      return found;
    },
  };
  const written = checked.value.entries;
  const entries = written.flatMap(
    (entry, index) => entryOf(entry, index, defaults, cached, findings) ?? [],
  );
  for (const fault of orderFaults(
    written.map(({ id, after, priority }, index) => ({ index, id: id ?? null, after, priority })),
  )) {
    const tail = fault.at === null ? [] : ["after", fault.at];
    findings.add(["entries", fault.index, ...tail], fault.message, fault.hint);
  }
  findDuplicates(entries, findings);
  if (findings.all.length > 0) throw findingsError(file, findings.all, "bad_queue_file");
  return { schema_version: 1, sha256: sha256Hex(text), entries };
}
