import { basename, extname } from "node:path";

/** The id under which a started runner serves its model: its file's name without the ending. */
export function modelIdOf(model_file: string): string {
  return basename(model_file, extname(model_file));
}
