/** Memory of one GPU that has its own, now. */
export interface GpuMemory {
  /** Index and name as its driver has them; no serial number. */
  id: string;
  used_mb: number | null;
  total_mb: number | null;
  /** Why an amount is null; null where both are told. */
  reason: string | null;
}
