import { systemClock } from "../../src/core/clock.ts";
import { deviceIdentity } from "../../src/daemon/index.ts";
import { deviceKey, EvidenceBook, makeEvidence, type Evidence } from "../../src/evidence/index.ts";
import { readDevice } from "../../src/probes/index.ts";
import type { Sweep } from "../../src/verdict/index.ts";
import { NOBODY, sampleParts } from "./sample-evidence.ts";
import { minute, sampleSweep } from "./sample-sweep.ts";

export interface ServerIdentity {
  kind: string;
  version: string | null;
  model: { id: string; digest: string | null };
  context_per_slot: number;
  /** How it was started; nothing that is told by default. */
  serving?: { kv_type: string | null; flash_attention: string | null; batch: string | null };
}

const BY_DEFAULT = { kv_type: null, flash_attention: null, batch: null };

/** The sample sweep with its last step so many days ago. */
function sweepOf(days_ago: number, context: number): Sweep {
  const end_ms = Date.parse(minute(114));
  const shift_ms = systemClock.now_ms() - days_ago * 86_400_000 - 60_000 - end_ms;
  const text = JSON.stringify(sampleSweep()).replaceAll(
    /"(\d{4}-\d\d-\d\dT[\d:.]+Z)"/g,
    (_, date: string) => `"${new Date(Date.parse(date) + shift_ms).toISOString()}"`,
  );
  const sweep = JSON.parse(text) as Sweep;
  sweep.method.context_per_slot = context;
  return sweep;
}

/** Evidence of this device, signed by the station's key, that recommends 2. */
export async function makeMeasured(
  state_dir: string,
  server: ServerIdentity,
  days_ago = 0,
): Promise<Evidence> {
  const device = deviceIdentity(await readDevice({ cache_path: null }));
  const sample = sampleParts(sweepOf(days_ago, server.context_per_slot));
  const { identity } = sample;
  return makeEvidence(
    {
      ...sample,
      identity: {
        ...identity,
        ...device,
        runner: { ...identity.runner, kind: server.kind, version: server.version },
        model: { ...server.model, digest_source: "file" },
        context_per_slot: server.context_per_slot,
        ...BY_DEFAULT,
        ...server.serving,
      },
    },
    { device: deviceKey(state_dir), private_things: NOBODY, clock: systemClock },
  );
}

/** The same, in the book and in the outbox of the station. Gives its path in the book. */
export async function measure(
  state_dir: string,
  server: ServerIdentity,
  days_ago = 0,
): Promise<{ path: string; evidence: Evidence }> {
  const evidence = await makeMeasured(state_dir, server, days_ago);
  const book = new EvidenceBook(state_dir, deviceKey(state_dir));
  book.write(evidence);
  return { path: book.path(evidence.key), evidence };
}
