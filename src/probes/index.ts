export type * from "./sample.ts";
export { createHostSampler, type HostSampler, type HostSamplerOptions } from "./host-sampler.ts";
export { runSamplerLoop, type SamplerLoopOptions, type SamplerMessage } from "./sampler-loop.ts";
export {
  startSampler,
  type SamplerProcess,
  type SamplerStop,
  type StartSamplerOptions,
} from "./sampler-process.ts";
export { keepAwake, type KeepAwakeOptions, type KeptAwake } from "./keep-awake.ts";
export { readHostIdentity, type IdentityOptions } from "./identity.ts";
export { readPower, type PowerOptions } from "./power.ts";
export { usedMemoryMb } from "./used-memory.ts";
