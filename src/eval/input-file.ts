import { readFileSync } from "node:fs";
import { inputError, systemErrorCode } from "../core/errors.ts";

/** The text of a file that a person named. Throws an input error (exit 64) that says what it was for. */
export function readInputFile(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") {
      throw inputError(`${path}: no such ${what}`, "Check the path.", "no_such_file");
    }
    throw inputError(
      `${path}: cannot read this ${what} (${code ?? "unknown error"})`,
      "Check that it is a file and that you may read it.",
      "unreadable_file",
    );
  }
}
