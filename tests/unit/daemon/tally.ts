/** What the sequences met, so that a model that has lost its teeth is noticed. */
export interface Tally {
  submissions: number;
  complete: number;
  failed: number;
  cancelled: number;
  crashes: number;
  adopted: number;
  refused_starts: number;
  measured: number;
  /** Calibrations that went on from what an earlier one had measured. */
  resumed: number;
}

export function emptyTally(): Tally {
  return {
    submissions: 0,
    complete: 0,
    failed: 0,
    cancelled: 0,
    crashes: 0,
    adopted: 0,
    refused_starts: 0,
    measured: 0,
    resumed: 0,
  };
}
