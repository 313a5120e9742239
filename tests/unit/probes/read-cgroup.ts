import { basename } from "node:path";
import { parseLimit } from "../../../src/probes/linux/cgroup.ts";
import { counter } from "../../../src/probes/linux/memory.ts";
import type { SampleReader } from "../../helpers/sample-index.ts";

/** Files with one value each, by the end of their name. */
const VALUES: readonly [RegExp, string][] = [
  [/memory\.limit_in_bytes\.txt$/, "limit_bytes"],
  [/memory\.max\.txt$/, "memory_max"],
  [/memory\.high\.txt$/, "memory_high"],
  [/memory\.swap\.max\.txt$/, "swap_max_bytes"],
  [/memory\.swap\.current\.txt$/, "swap_current_bytes"],
  [/memory\.current\.txt$/, "memory_current_bytes"],
];

const cgroup: SampleReader = ({ path, text, expected }) => {
  const single = VALUES.find(([name]) => name.test(basename(path)));
  if (single !== undefined) return { [single[1]]: parseLimit(text) };
  return Object.fromEntries(Object.keys(expected).map((name) => [name, counter(text, name)]));
};

export const memoryCgroupReaders = { "cgroup-v1": cgroup, "cgroup-v2": cgroup };
