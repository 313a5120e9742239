import { basename } from "node:path";
import type { z } from "zod";
import { configError, TouchstonedError } from "../core/errors.ts";
import { printable } from "../core/text.ts";
import { checkShape, parseText, type Finding, type ParsedText } from "../core/yaml.ts";

/** One thing that is wrong with the configuration. */
export interface ConfigFault {
  file: string;
  /** Counted from 1; null where the whole file is meant. */
  line: number | null;
  column: number | null;
  /** Path of keys (`limits.step_timeout_s.eval`); empty for the whole file. */
  key: string;
  message: string;
  hint: string | null;
}

/** A configuration file as it was read, with everything that is wrong with it. */
export interface ConfigFile<T> {
  path: string;
  /** null where there is no file, or none that could be parsed. */
  parsed: ParsedText | null;
  /** The defaults where the file is missing or wrong. */
  value: T;
  faults: ConfigFault[];
}

/** A fault for the whole file from an error that was thrown while reading it. */
export function faultOf(file: string, error: TouchstonedError): ConfigFault {
  const place = /^:(\d+):(\d+): /.exec(error.message.slice(file.length));
  const starts = error.message.startsWith(file);
  // `FILE:1:2: what`, `FILE: what` or `FILE is what`: the file stands before it anyway.
  const said = error.message.slice(file.length + (place?.[0].length ?? 0));
  const rest = starts ? said.replace(/^:? /, "") : error.message;
  return {
    file,
    line: starts && place !== null ? Number(place[1]) : null,
    column: starts && place !== null ? Number(place[2]) : null,
    key: "",
    message: rest,
    hint: error.hint ?? null,
  };
}

export function faultFrom(file: string, finding: Finding): ConfigFault {
  return {
    file,
    line: finding.position?.line ?? null,
    column: finding.position?.column ?? null,
    key: finding.path,
    message: finding.message,
    hint: finding.hint,
  };
}

/** `FILE:LINE:COLUMN: KEY: MESSAGE. HINT` */
export function faultText(fault: ConfigFault): string {
  const place = fault.line === null ? "" : `:${fault.line}:${fault.column ?? 1}`;
  const key = fault.key === "" ? "" : `${fault.key}: `;
  const end = /[.!?]$/.test(fault.message) ? "" : ".";
  const hint = fault.hint === null ? "" : ` ${fault.hint}`;
  // Keys and values of a repository are quoted in it.
  return printable(`${fault.file}${place}: ${key}${fault.message}${end}${hint}`);
}

/** The one error (78) for all faults. */
export function faultsError(faults: readonly ConfigFault[]): TouchstonedError {
  return configError(faults.map(faultText).join("\n"));
}

/**
 * Reads and checks one configuration file. `read` gives its text, undefined where it is missing;
 * known trouble that it throws becomes a fault. Nothing is thrown for what is wrong in the file.
 */
export function loadConfigFile<S extends z.ZodType>(
  path: string,
  schema: S,
  read: () => string | undefined,
): ConfigFile<z.output<S>> {
  const empty = { path, parsed: null, value: schema.parse({}) };
  try {
    const text = read();
    if (text === undefined) return { ...empty, faults: [] };
    const parsed = parseText(text, path);
    // A file of comments alone says nothing, which is not wrong.
    const shape = checkShape({ ...parsed, value: parsed.value ?? {} }, schema);
    if (shape.ok) return { path, parsed, value: shape.value, faults: [] };
    const faults = shape.findings.map((finding) => faultFrom(path, finding));
    return { ...empty, parsed, faults };
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    return { ...empty, faults: [faultOf(path, error)] };
  }
}

/** True where the file itself says something at `path`. */
export function isWritten(file: ConfigFile<unknown>, path: readonly string[]): boolean {
  let at: unknown = file.parsed?.value;
  for (const key of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as Record<string, unknown>)[key];
  }
  return at !== undefined && at !== null;
}

/** Line of the value at `path`, where the file says it. */
export function lineOf(file: ConfigFile<unknown>, path: readonly string[]): number | null {
  if (!isWritten(file, path)) return null;
  return file.parsed?.position(path, "key")?.line ?? null;
}

/** `machine.yaml:9`, or the plain name where the line is not known. */
export function shortPlace(file: ConfigFile<unknown>, path: readonly string[]): string {
  const line = lineOf(file, path);
  return line === null ? basename(file.path) : `${basename(file.path)}:${line}`;
}
