import type { HostIdentity, PowerReading } from "../probes/index.ts";

/** A sampler process that has written its baseline and goes on writing. */
export interface RunningSampler {
  baseline: { sys_used_mb: number | null };
  stop(): Promise<{ ok: boolean; reason: string | null }>;
}

interface SamplerOptions {
  /** `resources.jsonl` of the bundle; appended to. */
  path: string;
  invocation: string;
  /** Process that holds the weights; null where it cannot be told. */
  server_pid: number | null;
}

/** What a run asks about the machine it runs on. */
export interface EvalProbes {
  startSampler(options: SamplerOptions): Promise<RunningSampler>;
  readPower(): Promise<PowerReading>;
  readHost(): Promise<HostIdentity>;
}
