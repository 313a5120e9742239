import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { KeptFile } from "./kept-file.ts";
import { counter, type MemInfo } from "./memory.ts";

interface Names {
  limit: string;
  usage: string;
  /** Page cache that the kernel takes back first, in `memory.stat`. */
  inactive_file: string;
}

const V2: Names = { limit: "memory.max", usage: "memory.current", inactive_file: "inactive_file" };
const V1: Names = {
  limit: "memory.limit_in_bytes",
  usage: "memory.usage_in_bytes",
  inactive_file: "total_inactive_file",
};

/** v1 has no word for "no limit" but the greatest number of whole pages below 2^63. */
const NO_LIMIT_FROM = 2 ** 62;

/** A `memory.max` or `memory.limit_in_bytes`: bytes, or null for no limit (or no number). */
export function parseLimit(text: string): number | null {
  const value = Number(text.trim() === "" ? "max" : text);
  return Number.isFinite(value) && value < NO_LIMIT_FROM ? value : null;
}

interface Location {
  mount: string;
  /** From the mount to our own cgroup. */
  path: string;
  names: Names;
}

interface Mount {
  root: string;
  point: string;
  v2: boolean;
}

function memoryMounts(mountinfo: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of mountinfo.split("\n")) {
    const [before, after] = line.split(" - ");
    const [, , , root, point] = (before ?? "").split(" ");
    const [type, , options] = (after ?? "").split(" ");
    if (root === undefined || point === undefined) continue;
    if (type === "cgroup2") mounts.push({ root, point, v2: true });
    if (type === "cgroup" && (options ?? "").split(",").includes("memory")) {
      mounts.push({ root, point, v2: false });
    }
  }
  return mounts;
}

/**
 * Where the memory controller keeps this process: texts of `/proc/self/cgroup` and
 * `/proc/self/mountinfo` in, directory out; undefined where there is no memory controller.
 */
export function memoryCgroup(cgroup: string, mountinfo: string): Location | undefined {
  const rows = cgroup.split("\n").map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
  const v1 = rows.find((row) => row?.[1]?.split(",").includes("memory"))?.[2];
  const v2 = rows.find((row) => row?.[1] === "")?.[2];
  // On a mixed system the controller is v1 where v1 has it: v2 is then there for grouping alone.
  const own = v1 ?? v2;
  if (own === undefined) return undefined;
  const mount = memoryMounts(mountinfo).find((one) => one.v2 === (v1 === undefined));
  if (mount === undefined) return undefined;
  // In a container the mount may begin below the hierarchy's root: at our own cgroup, mostly.
  const below = posix.relative(mount.root, own);
  const path = below.startsWith("..") ? "" : below;
  return { mount: mount.point, path, names: mount.v2 ? V2 : V1 };
}

function limitOf(directory: string, names: Names): number | null {
  try {
    return parseLimit(readFileSync(join(directory, names.limit), "utf8"));
  } catch {
    return null; // the root cgroup has no such file
  }
}

export interface CgroupUse {
  limit_bytes: number;
  /** Usage less the inactive page cache: what Kubernetes and docker call the working set. */
  working_set_bytes: number;
  /** Text of the cgroup's own `memory.pressure`, where it has one. */
  pressure: string | null;
}

/** The tightest memory limit around this process, if it is tighter than the machine itself. */
export class CgroupLimit {
  readonly #limit_bytes: number;
  readonly #names: Names;
  readonly #usage: KeptFile;
  readonly #stat: KeptFile;
  readonly #pressure: KeptFile;

  private constructor(directory: string, names: Names, limit_bytes: number) {
    this.#limit_bytes = limit_bytes;
    this.#names = names;
    this.#usage = new KeptFile(join(directory, names.usage), 64);
    this.#stat = new KeptFile(join(directory, "memory.stat"));
    this.#pressure = new KeptFile(join(directory, "memory.pressure"), 256);
  }

  /**
   * The limit around `pid`, by default around us. Undefined where none is set below the host's
   * memory. Throws where /proc is not readable.
   */
  static find(root: string, info: MemInfo, pid: number | "self" = "self"): CgroupLimit | undefined {
    const proc = join(root, "proc");
    const found = memoryCgroup(
      readFileSync(join(proc, String(pid), "cgroup"), "utf8"),
      readFileSync(join(proc, "self/mountinfo"), "utf8"),
    );
    if (found === undefined) return undefined;
    const parts = found.path.split("/").filter((part) => part !== "");
    let tightest: { directory: string; limit_bytes: number } | undefined;
    for (let depth = parts.length; depth >= 0; depth -= 1) {
      const directory = join(root, found.mount, ...parts.slice(0, depth));
      const limit_bytes = limitOf(directory, found.names);
      if (limit_bytes === null || limit_bytes >= (info.total_bytes ?? 0)) continue;
      if (tightest === undefined || limit_bytes < tightest.limit_bytes) {
        tightest = { directory, limit_bytes };
      }
    }
    if (tightest === undefined) return undefined;
    return new CgroupLimit(tightest.directory, found.names, tightest.limit_bytes);
  }

  /** Throws where the files cannot be read or say nothing. */
  read(): CgroupUse {
    const usage = Number.parseInt(this.#usage.read(), 10);
    const inactive = counter(this.#stat.read(), this.#names.inactive_file);
    if (Number.isNaN(usage) || inactive === null) {
      throw new Error(`the cgroup has no ${this.#names.usage} or no ${this.#names.inactive_file}`);
    }
    return {
      limit_bytes: this.#limit_bytes,
      working_set_bytes: Math.max(0, usage - inactive),
      pressure: this.#readPressure(),
    };
  }

  #readPressure(): string | null {
    try {
      return this.#pressure.read();
    } catch {
      return null; // v1, or a kernel without PSI
    }
  }

  close(): void {
    for (const file of [this.#usage, this.#stat, this.#pressure]) file.close();
  }
}
