export type * from "./sample.ts";
export { createHostSampler, type HostSampler } from "./host-sampler.ts";
export { runSamplerLoop } from "./sampler-loop.ts";
export { startSampler, type SamplerProcess, type SamplerStop } from "./sampler-process.ts";
export { keepAwake, type KeptAwake } from "./keep-awake.ts";
export { readHostIdentity } from "./identity.ts";
export { readPower } from "./power.ts";
export { usedMemoryMb } from "./used-memory.ts";
