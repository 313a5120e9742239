import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The bytes of a recorded file under tests/fixtures. */
export function fixture(path: string): Buffer {
  return readFileSync(fileURLToPath(new URL(`../fixtures/${path}`, import.meta.url)));
}

export function jsonFixture(path: string): unknown {
  return JSON.parse(fixture(path).toString("utf8"));
}
