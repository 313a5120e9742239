export interface ListedGpu {
  index: number;
  name: string;
  /** Profiles of the instances that it is cut into: `1c.3g.71gb`; empty where it is whole. */
  instances: string[];
}

/** Parses `nvidia-smi -L`. The UUIDs in it are serial numbers and never taken. */
export function parseNvidiaList(text: string): ListedGpu[] {
  const gpus: ListedGpu[] = [];
  for (const line of text.split("\n")) {
    const gpu = /^GPU (\d+): (.+?)(?: \(UUID: [^)]*\))?\s*$/.exec(line);
    if (gpu !== null) gpus.push({ index: Number(gpu[1]), name: gpu[2] ?? "", instances: [] });
    const instance = /^\s+MIG (\S+)\s+Device\s+\d+:/.exec(line)?.[1];
    if (instance !== undefined) gpus.at(-1)?.instances.push(instance);
  }
  return gpus;
}
