import { writeFileAtomic } from "../../core/files.ts";
import { parseJsonLenient, prettyJson } from "../../core/json.ts";
import { textOf } from "./text-of.ts";
import type { Account } from "./account.ts";
import type { Places } from "./places.ts";
import { MANAGER_KINDS, type ManagerKind } from "./types.ts";

/** What `install` did, for everything that comes after it. Lies beside the program. */
export interface ServiceRecord {
  schema_version: 1;
  manager: ManagerKind;
  /** Absolute, links resolved. */
  station: string;
  state_dir: string;
  runs_dir: string;
  /** Whose rights the daemon has, and whose things it uses. */
  account: Account;
  /** What the launcher and a daemon that cannot log said, where no journal keeps it. */
  crash_log: string;
  /** The Node that is tried first; null: it is looked for. */
  node: string | null;
  /** Variables that say where things lie, as they were at the installation. */
  env: Record<string, string>;
  /** Names of directories in versions/. */
  version: string;
  previous: string | null;
  /** RFC 3339 */
  installed: string;
}

/** Undefined where nothing is installed, or by a version whose record this one cannot read. */
export function readRecord({ record }: Pick<Places, "record">): ServiceRecord | undefined {
  const value = parseJsonLenient(textOf(record) ?? "");
  if (typeof value !== "object" || value === null) return undefined;
  const { schema_version, manager, station } = value as Partial<ServiceRecord>;
  const known = schema_version === 1 && MANAGER_KINDS.some((kind) => kind === manager);
  return known && typeof station === "string" ? (value as ServiceRecord) : undefined;
}

export function writeRecord({ record }: Pick<Places, "record">, value: ServiceRecord): void {
  writeFileAtomic(record, prettyJson(value), 0o644);
}
