/** Something that can be drawn once, and the strata that it can be drawn for. */
export type Unit = ReadonlySet<number>;

/**
 * Which unit serves which stratum. A long conversation can stand for a shallow stratum or for a deep
 * one, and only for one of them; those that were placed first move where that lets one more in, so
 * that no rare stratum goes short because its only conversations were used up elsewhere.
 */
export class Assignment {
  readonly #units: readonly Unit[];
  readonly #stratumOf = new Map<number, number>();

  constructor(units: readonly Unit[]) {
    this.#units = units;
  }

  /** Stratum of each unit that is placed, by the unit's index. */
  get placed(): ReadonlyMap<number, number> {
    return this.#stratumOf;
  }

  count(stratum: number): number {
    let found = 0;
    for (const at of this.#stratumOf.values()) if (at === stratum) found += 1;
    return found;
  }

  /** One more unit for `stratum`; false where no moving about makes room. */
  place(stratum: number): boolean {
    // Breadth first over strata: how did we come to need a unit for this one?
    const cameBy = new Map<number, { unit: number; from: number } | null>([[stratum, null]]);
    for (const need of cameBy.keys()) {
      const free = this.#units.findIndex((unit, i) => unit.has(need) && !this.#stratumOf.has(i));
      if (free >= 0) {
        this.#shift(need, free, cameBy);
        return true;
      }
      for (const [unit, at] of this.#stratumOf) {
        if (cameBy.has(at) || this.#units[unit]?.has(need) !== true) continue;
        cameBy.set(at, { unit, from: need });
      }
    }
    return false;
  }

  #shift(
    need: number,
    free: number,
    cameBy: ReadonlyMap<number, { unit: number; from: number } | null>,
  ): void {
    this.#stratumOf.set(free, need);
    for (let step = cameBy.get(need); step != null; step = cameBy.get(step.from)) {
      this.#stratumOf.set(step.unit, step.from);
    }
  }
}
