/** Something that costs much to have, and is made at its first use. */
export class Lazy<T> {
  readonly #make: () => Promise<T>;
  #made: Promise<T> | null = null;
  #value: T | undefined;

  constructor(make: () => Promise<T>) {
    this.#make = make;
  }

  /** Makes it where it is not there yet; where that fails, the next call tries again. */
  get(): Promise<T> {
    this.#made ??= this.#first();
    return this.#made;
  }

  async #first(): Promise<T> {
    try {
      this.#value = await this.#make();
      return this.#value;
    } catch (error) {
      this.#made = null;
      throw error;
    }
  }

  /** Undefined as long as it is not there. */
  now(): T | undefined {
    return this.#value;
  }
}
