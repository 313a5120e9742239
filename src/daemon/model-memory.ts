import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { createHostSampler, readDevice } from "../probes/index.ts";
import type { Station } from "../station/index.ts";

/** Memory of the host in MB, or of the control group that we are in where that has less. */
function hostMemoryMb(clock: Clock): number | null {
  const sampler = createHostSampler({ server_pid: null, clock });
  try {
    const { sys_used_mb, sys_available_mb } = sampler.sample();
    if (sys_used_mb === null || sys_available_mb === null) return null;
    return sys_used_mb + sys_available_mb;
  } finally {
    sampler.close();
  }
}

/**
 * The most that a model can have on this machine, MB: what machine.yaml says, else the host's memory
 * and that of all accelerators that have their own, since a runner may put a part on each. Null where
 * it cannot be told; then no job is kept waiting for it.
 */
export async function modelMemoryMb(
  { machine, state_dir }: Pick<Station, "machine" | "state_dir">,
  clock: Clock,
): Promise<number | null> {
  if (machine.model_memory_mb !== undefined) return machine.model_memory_mb;
  const device = await readDevice({ cache_path: join(state_dir, "slots", "device.json") });
  const host_mb = hostMemoryMb(clock);
  const accelerators = device.accelerators.value;
  if (host_mb === null || accelerators === null) return null;
  return Math.floor(
    host_mb + accelerators.reduce((sum, { memory_mb }) => sum + (memory_mb ?? 0), 0),
  );
}
