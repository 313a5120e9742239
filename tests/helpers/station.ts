import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isolatedEnv } from "./command.ts";
import { tempDir } from "./temp-dir.ts";

export interface TestStation {
  home: string;
  root: string;
  env: Record<string, string>;
  machine_path: string;
}

/**
 * A station in a home of its own, with the given texts of both files (undefined = no such file).
 * `ROOT` in the text of machine.yaml stands for the station's path.
 */
export function testStation(texts: { policy?: string; machine?: string } = {}): TestStation {
  const home = tempDir();
  const root = join(home, "station");
  const machine_path = join(home, "config", "touchstoned", "machine.yaml");
  mkdirSync(root);
  if (texts.policy !== undefined) writeFileSync(join(root, "touchstoned.yaml"), texts.policy);
  if (texts.machine !== undefined) {
    mkdirSync(dirname(machine_path), { recursive: true, mode: 0o700 });
    const text = texts.machine.replaceAll("ROOT", root);
    writeFileSync(machine_path, text, { mode: 0o600 });
  }
  return { home, root, env: isolatedEnv(home), machine_path };
}
