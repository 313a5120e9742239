/**
 * What a level above one slot must keep where nobody says otherwise. A station may only tighten
 * them, and each is tighter the smaller it is.
 */
export const SLOT_BOUNDS = {
  /** Share of the host's memory, of a control group's limit and of each GPU's memory. */
  memory_ceiling: 0.8,
  /** Swap-out may be this many times the rate at one slot ... */
  swap_growth: 2,
  /** ... or this rate, whichever is higher. */
  swap_floor_mb_per_min: 64,
  /** Share of the time that tasks may stand still for want of memory. */
  pressure_stall_share: 0.1,
};

/** Evidence that was measured longer ago than this is stale, days. */
export const EVIDENCE_MAX_AGE_DAYS = 30;

/** A sweep tries no more slots than this. */
export const MAX_SLOTS = 8;
