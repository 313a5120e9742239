import { test } from "vitest";

/**
 * `test` where `condition` holds, else nothing at all: a test that cannot apply here (another
 * platform, a server without that ability) is not one that was skipped.
 */
export function testWhere(condition: boolean): (name: string, body: () => Promise<void>) => void {
  return condition ? (name, body) => test(name, body) : () => undefined;
}
