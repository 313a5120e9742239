import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import { inputError } from "../core/errors.ts";
import { createFileAtomic, readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { canonicalJson, parseJsonLenient, prettyJson, sha256Hex } from "../core/json.ts";
import { modelSpecSchema, type ModelSpec } from "../core/model-spec.ts";
import { packageVersion } from "../core/program.ts";
import type { HostIdentity } from "../probes/index.ts";
import type { Runner, RunnerStatus, ServedModel } from "../runners/index.ts";
import { bundlePaths } from "./bundle-paths.ts";
import type { EvalConfig } from "./config.ts";
import type { LoadedPack } from "./pack-file.ts";

const text = z.string().nullable();
const amount = z.number().nullable();

const manifestSchema = z.object({
  schema_version: z.literal(1),
  created: z.string(),
  touchstoned_version: z.string(),
  model: modelSpecSchema,
  /** What the runner said about the model; null where it was not reached or does not list it. */
  served: z
    .object({ digest: text, quantization: text, size_bytes: amount, context_length: amount })
    .nullable(),
  pack: z.object({
    id: z.string(),
    title: z.string(),
    version: z.int(),
    path: z.string(),
    sha256: z.string(),
  }),
  variants: z.array(z.string()),
  sampling: z.object({ temperature: z.number(), seed: z.int() }),
  runner: z.object({
    name: z.string(),
    kind: z.string(),
    version: text,
    residency: z.string(),
    /** Host and port only: no path, no user, no key. */
    host: text,
  }),
  config: z.object({
    request_limits: z.record(z.string(), amount),
    breaker: z.object({ consecutive_failures: z.int() }),
    order: z.enum(["fixed", "shuffled"]),
    cold_cache: z.boolean(),
  }),
  cells_total: z.int(),
  host: z.object({
    os: text,
    chip: text,
    cores: amount,
    ram_gb: amount,
    gpus: z.array(z.string()).nullable(),
    node: z.string(),
  }),
});

/** `manifest.json`: what a bundle is about. Written before the first request, never changed. */
export type Manifest = z.output<typeof manifestSchema>;

export interface ManifestParts {
  model: ModelSpec;
  pack: LoadedPack;
  config: EvalConfig;
  runner: Runner;
  status: RunnerStatus;
  host: HostIdentity;
  cells_total: number;
  now_ms: number;
}

/** How the runner lists a model; undefined where it does not. */
export function servedModel(status: RunnerStatus, id: string): ServedModel | undefined {
  return status.models?.find((model) => model.id === id);
}

function hostOf(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  return new URL(url).host;
}

export function makeManifest(parts: ManifestParts): Manifest {
  const { pack, config, runner, status } = parts;
  const served = servedModel(status, parts.model.id);
  return {
    schema_version: 1,
    created: isoTime(parts.now_ms),
    touchstoned_version: packageVersion(),
    model: parts.model,
    served:
      served === undefined
        ? null
        : {
            digest: served.digest,
            quantization: served.quantization,
            size_bytes: served.size_bytes,
            context_length: served.context_length,
          },
    pack: {
      id: pack.pack.id,
      title: pack.pack.title,
      version: pack.pack.version,
      path: "pack.yaml",
      sha256: pack.sha256,
    },
    variants: pack.pack.prompt_variants.map((variant) => variant.id),
    sampling: pack.pack.sampling,
    runner: {
      name: runner.settings.name,
      kind: runner.settings.kind,
      version: status.version,
      residency: runner.residency,
      host: hostOf(runner.settings.url),
    },
    config: {
      request_limits: config.request_limits,
      breaker: config.breaker,
      order: config.order,
      cold_cache: config.cold_cache,
    },
    cells_total: parts.cells_total,
    host: parts.host,
  };
}

/** The manifest of a bundle; undefined where there is none. Throws where it is damaged. */
export function readManifest(bundle_dir: string): Manifest | undefined {
  const path = bundlePaths(bundle_dir).manifest;
  const content = readTextIfThere(path);
  if (content === undefined) return undefined;
  const parsed = manifestSchema.safeParse(parseJsonLenient(content));
  if (parsed.success) return parsed.data;
  throw inputError(
    `${path}: not a manifest that this version can read`,
    "Start a new bundle; this one cannot be continued.",
    "bad_manifest",
  );
}

/** The pack copy first: where there is a manifest, its pack is there and whole. */
export function writeManifest(bundle_dir: string, manifest: Manifest, pack: LoadedPack): void {
  const paths = bundlePaths(bundle_dir);
  writeFileAtomic(paths.pack, pack.text);
  createFileAtomic(paths.manifest, prettyJson(manifest));
}

/** Both are known and they differ. A runner that could not be asked proves nothing. */
function knownDiffer(a: string | null | undefined, b: string | null | undefined): boolean {
  return a != null && b != null && a !== b;
}

/** What differs between a bundle and the run that wants to go on with it; empty where nothing does. */
function manifestDifferences(old: Manifest, now: Manifest): string[] {
  const differences: string[] = [];
  const say = (what: string, was: unknown, is: unknown): void => {
    differences.push(
      `${what}: the bundle has ${JSON.stringify(was)}, this run ${JSON.stringify(is)}`,
    );
  };
  if (canonicalJson(old.model) !== canonicalJson(now.model)) say("model", old.model, now.model);
  if (old.pack.sha256 !== now.pack.sha256) {
    say("pack", `${old.pack.id} ${old.pack.sha256}`, `${now.pack.id} ${now.pack.sha256}`);
  }
  for (const key of ["name", "kind", "residency"] as const) {
    if (old.runner[key] !== now.runner[key]) {
      say(`runner ${key}`, old.runner[key], now.runner[key]);
    }
  }
  if (knownDiffer(old.runner.version, now.runner.version)) {
    say("runner version", old.runner.version, now.runner.version);
  }
  if (knownDiffer(old.served?.digest, now.served?.digest)) {
    say("model digest", old.served?.digest, now.served?.digest);
  }
  // Not every runner tells a digest; another file under the same name shows in these.
  for (const key of ["size_bytes", "quantization", "context_length"] as const) {
    const [was, is] = [old.served?.[key], now.served?.[key]];
    if (was != null && is != null && was !== is) say(`model ${key}`, was, is);
  }
  if (knownDiffer(old.host.chip, now.host.chip)) say("machine", old.host.chip, now.host.chip);
  if (old.config.cold_cache !== now.config.cold_cache) {
    say("cold_cache", old.config.cold_cache, now.config.cold_cache);
  }
  return differences;
}

/** Refuses to go on with a bundle of other parts: its figures would belong to two things. */
export function requireSameManifest(bundle_dir: string, old: Manifest, now: Manifest): void {
  const differences = manifestDifferences(old, now);
  const copy = readTextIfThere(bundlePaths(bundle_dir).pack);
  if (copy === undefined || sha256Hex(copy) !== old.pack.sha256) {
    differences.push("pack.yaml in the bundle is gone or was edited");
  }
  if (differences.length === 0) return;
  throw inputError(
    `${bundle_dir}: cannot go on with this bundle:\n${differences.join("\n")}`,
    "Use what the bundle was begun with, or start a new bundle.",
    "manifest_mismatch",
  );
}
