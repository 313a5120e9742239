import { busCards, computing } from "../linux/bus.ts";
import { mayHaveNvidia } from "../linux/gpus.ts";
import { known, unknown, type Reading } from "../reading.ts";
import { systemTools, type Tools } from "../tool.ts";
import { parseComputeApps, type GpuProcess } from "./nvidia-apps.ts";
import { nvidiaError } from "./nvidia-csv.ts";

export interface GpuProcessesOptions {
  platform?: NodeJS.Platform;
  /** Where /sys is; "/" but in tests. */
  root?: string;
  env?: Record<string, string>;
  tools?: Tools;
}

/** Makers whose drivers list no processes by a tool that we ask. */
function foreign(root: string): string | null {
  const cards = computing(busCards(root).value ?? []);
  return cards.find(({ vendor }) => vendor !== "nvidia")?.vendor ?? null;
}

/**
 * Who computes on the GPUs of this machine: a runner that is to be alone is the only one among them.
 * Empty where there is no GPU; unknown where it does not tell. Processes of other containers may be
 * missing. Never rejects.
 */
export async function readGpuProcesses(
  options: GpuProcessesOptions = {},
): Promise<Reading<GpuProcess[]>> {
  const { platform = process.platform, root = "/" } = options;
  if (platform !== "linux") return unknown(`${platform} does not tell who uses its GPU`);
  const vendor = foreign(root);
  if (vendor !== null) return unknown(`the driver of ${vendor} does not tell who uses its GPU`);
  if (!mayHaveNvidia(root)) return known([]);
  const answer = await (options.tools ?? systemTools(options)).ask(
    "nvidia-smi",
    "--query-compute-apps=pid,used_gpu_memory",
    "--format=csv,nounits",
  );
  if (answer.reason === null) return known(parseComputeApps(answer.text));
  return unknown(nvidiaError(answer.reason)?.reason ?? answer.reason);
}
