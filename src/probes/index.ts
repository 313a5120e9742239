export type * from "./sample.ts";
export { createHostSampler, type HostSampler } from "./host-sampler.ts";
export { runSamplerLoop } from "./sampler-loop.ts";
export { startSampler, type SamplerProcess, type SamplerStop } from "./sampler-process.ts";
export { keepAwake, type KeptAwake } from "./keep-awake.ts";
export type { Accelerator, DeviceReading } from "./device-reading.ts";
export { readDevice } from "./device.ts";
export type { RecordedGpu, RecordedReadings } from "./bound-window.ts";
export {
  createReadingsRecorder,
  type ReadingsRecorder,
  type ReadingsRecorderOptions,
} from "./recorder.ts";
export { readHostIdentity } from "./identity.ts";
export { readPower } from "./power.ts";
export { usedMemoryMb } from "./used-memory.ts";
export { readConditions, type Conditions } from "./conditions.ts";
export type { GpuProcess } from "./gpu/nvidia-apps.ts";
export { readGpuProcesses } from "./gpu/processes.ts";
