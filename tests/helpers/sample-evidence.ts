import {
  deviceKey,
  makeEvidence,
  type Evidence,
  type EvidenceParts,
  type PrivateThings,
} from "../../src/evidence/index.ts";
import { DEFAULT_BOUNDS, judge, type Sweep } from "../../src/verdict/index.ts";
import { FakeClock } from "./fake-clock.ts";
import { sampleSweep } from "./sample-sweep.ts";

export const SAMPLE_CREATED_MS = Date.UTC(2026, 0, 10, 10, 5, 0);

/** Nobody in particular: nothing of this machine's user can be in the samples. */
export const NOBODY: PrivateThings = {
  user: "anna",
  home: "/home/anna",
  host: "birch",
  prompts: [],
};

/** What a calibration of the sample device would hand over. */
export function sampleParts(sweep: Sweep = sampleSweep()): EvidenceParts {
  return {
    identity: {
      hardware: "Mac17,2",
      processor: "Apple M5",
      memory_mb: 25_800,
      accelerators: [{ name: "Apple M5 GPU, 10 cores", driver: null, memory_mb: null }],
      os_release: "macOS 26.6.2",
      runner: { kind: "llama-server", version: "b7093", build: "7093-a1b2c3d" },
      model: { id: "gpt-oss:20b", digest: "17052f91a42e97930aa6e28a", digest_source: "file" },
      quantization: "mxfp4",
      context_per_slot: 8192,
      kv_type: "f16",
      flash_attention: false,
      batch: 2048,
      cache: "off",
    },
    conditions: { power: "ac", thermal: "nominal", load: 0.4 },
    sweep,
    verdict: judge(sweep, DEFAULT_BOUNDS),
    runs: [{ name: "turns.jsonl", sha256: "ab".repeat(32) }],
  };
}

/** Signed evidence of the device whose key is in `state_dir`. */
export function sampleEvidence(
  state_dir: string,
  options: { created_ms?: number; parts?: EvidenceParts } = {},
): Evidence {
  return makeEvidence(options.parts ?? sampleParts(), {
    device: deviceKey(state_dir),
    private_things: NOBODY,
    clock: new FakeClock({ wall_ms: options.created_ms ?? SAMPLE_CREATED_MS }),
  });
}
