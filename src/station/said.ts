import { printable } from "../core/text.ts";

/** Longest text that is shown of it. */
const MAX_SAID = 200;

/**
 * A record that anybody may have written beside a lock, and that is shown to people. Read by hand: a
 * program that only wants a lock, and the daemon for weeks, should not have to load a schema library
 * for it. What is not as it should be is undefined.
 */
export class Said {
  readonly #value: object;

  private constructor(value: object) {
    this.#value = value;
  }

  static from(value: unknown): Said | undefined {
    return typeof value === "object" && value !== null ? new Said(value) : undefined;
  }

  /** A text as it is, for comparing. */
  exact(key: string): string | undefined {
    const one: unknown = Reflect.get(this.#value, key);
    return typeof one === "string" && one.length <= MAX_SAID ? one : undefined;
  }

  /** A text that does nothing to a terminal. */
  text(key: string): string | undefined {
    const one = this.exact(key);
    return one === undefined ? undefined : printable(one);
  }

  textOrNull(key: string): string | null | undefined {
    return Reflect.get(this.#value, key) === null ? null : this.text(key);
  }

  /** A whole number above zero. */
  count(key: string): number | undefined {
    const one: unknown = Reflect.get(this.#value, key);
    return typeof one === "number" && Number.isSafeInteger(one) && one > 0 ? one : undefined;
  }
}
