/**
 * What a server that is measured may see of our environment: where home is, the language, and which
 * device it may use. No key, no token, and no setting of a runner, which would change what is
 * measured without a trace in its evidence.
 */
export const MINIMAL_ENVIRONMENT: readonly string[] = [
  "HOME",
  "PATH",
  "TMPDIR",
  "USER",
  "LOGNAME",
  "LANG",
  "LC_ALL",
  "XDG_RUNTIME_DIR",
  "LD_LIBRARY_PATH",
  "DYLD_LIBRARY_PATH",
  "CUDA_VISIBLE_DEVICES",
  "CUDA_DEVICE_ORDER",
  "NVIDIA_VISIBLE_DEVICES",
  "HIP_VISIBLE_DEVICES",
  "ROCR_VISIBLE_DEVICES",
  "GPU_DEVICE_ORDINAL",
  "HSA_OVERRIDE_GFX_VERSION",
];
