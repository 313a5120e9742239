import { failure, ok, room, warning, type Line } from "../line.ts";

export interface DiskInput {
  places: readonly {
    what: string;
    path: string;
    free_mb: number | null;
    free_files: number | null;
  }[];
  /** With less, the daemon begins nothing new. */
  min_free_mb: number;
}

/** Files that a night may make. */
const FEW_FILES = 10_000;
/** With less than so many times the limit, a night may end at it. */
const AMPLE = 3;

function placeLine(place: DiskInput["places"][number], min_free_mb: number): Line | null {
  const { what, path, free_mb, free_files } = place;
  const where = `the disk of the ${what} (${path})`;
  if (free_mb !== null && free_mb < min_free_mb) {
    return failure(
      `${where} has only ${room(free_mb)} left: nothing new is begun below ${room(min_free_mb)}`,
      "Make room: old runs are folders that may be removed whole (touchstoned config show names runs_dir).",
    );
  }
  if (free_files !== null && free_files < FEW_FILES) {
    return failure(
      `${where} has room for ${free_files} more files only`,
      "Remove what has many small files; df -i shows how many there are.",
    );
  }
  if (free_mb !== null && free_mb < AMPLE * min_free_mb) {
    return warning(
      `${where} has ${room(free_mb)} left; below ${room(min_free_mb)} nothing new is begun`,
      "Make room before the next night.",
    );
  }
  return null;
}

export function diskLines({ places, min_free_mb }: DiskInput): Line[] {
  const lines = places
    .map((place) => placeLine(place, min_free_mb))
    .filter((line) => line !== null);
  if (lines.length > 0) return lines;
  const shown = places.map(
    ({ what, free_mb }) => `${what} ${free_mb === null ? "?" : room(free_mb)}`,
  );
  return [ok(`free: ${shown.join(", ")}`)];
}
