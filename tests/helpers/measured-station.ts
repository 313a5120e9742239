import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../src/core/json.ts";
import { locateState } from "../../src/station/light.ts";
import { testStation, type TestStation } from "./station.ts";

export interface MeasuredStation extends TestStation {
  state_dir: string;
}

/** A trusted station with one runner, called `local`, and a policy that goes by what is measured. */
export function slotsStation(
  runner: Record<string, unknown>,
  policy: Record<string, unknown> = { local_models: { concurrent_runs: "measured" } },
): MeasuredStation {
  const machine = { trusted_stations: ["ROOT"], runners: [{ name: "local", ...runner }] };
  const station = testStation({
    policy: JSON.stringify(policy),
    machine: JSON.stringify(machine),
  });
  const { env, root: cwd } = station;
  return { ...station, state_dir: locateState({ env, cwd, explicit: undefined }).state_dir };
}

export function writePolicy(station: TestStation, policy: Record<string, unknown>): void {
  writeFileSync(join(station.root, "touchstoned.yaml"), JSON.stringify(policy));
}

export function digestOf(bytes: Uint8Array): string {
  return sha256Hex(bytes);
}
