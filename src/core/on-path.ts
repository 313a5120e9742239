import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Whether a program of this name can be started by `path`, the text of a PATH variable. */
export function onPath(name: string, path: string): boolean {
  return path.split(delimiter).some((directory) => {
    try {
      if (directory !== "") accessSync(join(directory, name), constants.X_OK);
      return directory !== "";
    } catch {
      return false;
    }
  });
}
