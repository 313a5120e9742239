import { freeDiskMb } from "../core/disk.ts";
import { keepReserve } from "../core/reserve.ts";
import type { Station } from "../station/resident.ts";

/**
 * Why no new work may begin: the disk that holds state or runs is nearly full. Null where there is
 * room; then some of it is set aside, for evidence that has to be written when there is none.
 */
export function diskLow(
  { runs_dir, state_dir, settings }: Pick<Station, "runs_dir" | "state_dir" | "settings">,
  free: (path: string) => number | null = freeDiskMb,
): string | null {
  const { min_free_disk_mb } = settings.limits;
  for (const path of [runs_dir, state_dir]) {
    const free_mb = free(path);
    if (free_mb === null || free_mb >= min_free_disk_mb) continue;
    const asked = `limits.min_free_disk_mb asks for ${min_free_disk_mb}`;
    return `disk low: only ${Math.floor(free_mb)} MB left at ${path}, ${asked}`;
  }
  keepReserve(state_dir);
  return null;
}
