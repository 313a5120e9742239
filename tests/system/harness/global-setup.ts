import type { TestProject } from "vitest/node";
import { prepare } from "./ability.ts";
import { makeLayers, type Layers } from "./layers.ts";

declare module "vitest" {
  interface ProvidedContext {
    layers: Layers;
  }
}

/** What all machines are made of, before the first test. */
export function setup(project: TestProject): () => void {
  const { able, said } = prepare();
  if (!able) throw new Error(`no machine can be booted here:\n${said}`);
  if (process.env["NOLAYERS"]) return () => undefined;
  const { layers, remove } = makeLayers();
  project.provide("layers", layers);
  return remove;
}
