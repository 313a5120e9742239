import { prepare } from "./ability.ts";

/** What all machines are made of, before the first test. */
export function setup(): void {
  const { able, said } = prepare();
  if (!able) throw new Error(`no machine can be booted here:\n${said}`);
}
