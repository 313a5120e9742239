import { readFileSync } from "node:fs";

/** Undefined where there is none, and where it cannot be read: it is to be replaced, whatever it is. */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
