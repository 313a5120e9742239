import { z } from "zod";
import { jobLimitsSchema, jobSettingsSchema } from "../core/job-settings.ts";
import {
  evidenceSchema,
  idleCalibrationSchema,
  inboxSchema,
  localModelsSchema,
  powerSchema,
  slotsSchema,
} from "./schemas.ts";

interface Shape {
  description?: string;
  default?: unknown;
  properties?: Record<string, Shape>;
}

/** Every key of a schema as comment lines, with its default and what it means. */
function commented(schema: z.ZodType, indent: string): string {
  const lines: string[] = [];
  const walk = (shape: Shape, inner: string): void => {
    for (const [key, part] of Object.entries(shape.properties ?? {})) {
      const about = part.description === undefined ? "" : `  # ${part.description}`;
      if (part.properties !== undefined) {
        lines.push(`# ${inner}${key}:${about}`);
        walk(part, `${inner}  `);
      } else {
        const value = part.default === undefined ? "..." : JSON.stringify(part.default);
        lines.push(`# ${inner}${key}: ${value}${about}`);
      }
    }
  };
  walk(z.toJSONSchema(schema, { io: "input" }) as Shape, indent);
  return lines.join("\n");
}

/** A new touchstoned.yaml: every setting as a comment, with the default that the schema has. */
export function policyTemplate(): string {
  return `# The policy of this station, shared by everyone who clones it. What runs and what is reached
# (runners, URLs, keys, commands) stands in each person's machine.yaml and never here.
# What is commented out shows the defaults; \`touchstoned config show --origin\` says what holds.
schema_version: 1

# For every queue file that does not say otherwise:
# defaults:
${commented(jobSettingsSchema, "  ")}

# Tighter bounds than machine.yaml has; looser ones are an error:
# limits:
${commented(jobLimitsSchema, "  ")}

# power:
${commented(powerSchema, "  ")}

# inbox:
${commented(inboxSchema, "  ")}

# How many requests scripts may send at once (\`touchstoned slots allowed\`):
# local_models:
${commented(localModelsSchema, "  ")}

# How slots are measured (\`touchstoned slots calibrate\`):
# slots:
${commented(slotsSchema, "  ")}

# What becomes of the measurements:
# evidence:
${commented(evidenceSchema, "  ")}

# When the daemon measures slots by itself:
# calibration:
${commented(idleCalibrationSchema, "  ")}
`;
}

/** A new machine.yaml: what this machine allows, all of it as comments. */
export function machineTemplate(): string {
  return `# What this machine allows: everything that runs or reaches out. Yours alone (mode 0600).
# \`touchstoned config check\` looks at it, \`touchstoned config show --origin\` shows what holds.
schema_version: 1

# Stations whose queue files may run here. \`touchstoned init DIR\` adds one.
trusted_stations: []

# Model runners. Either \`url\` (a server that is there) or \`start\` (one that is started for each run).
# runners:
#   - name: ollama
#     kind: ollama  # llama-server, ollama, openai or embedded
#     url: http://127.0.0.1:11434
#   - name: llama
#     kind: llama-server
#     start:
#       binary: llama-server  # absolute path, or a name in PATH
#       model_file: /absolute/path/model.gguf
#       context_length: 4096  # tokens for each slot
#       slots: 1
#   - name: served
#     kind: llama-server
#     url: http://127.0.0.1:8080
#     calibration:  # how \`slots calibrate\` starts one of its own; stop and start go round it
#       model_file: /absolute/path/model.gguf
#       context_length: 4096
#     stop_command: systemctl --user stop served
#     start_command: systemctl --user start served
#   - name: remote
#     kind: openai
#     url: https://models.example.org
#     api_key_file: /absolute/path/key  # nothing but the key in it; mode 0600

# Commands that queue files may name as reset_command, beside \`lms unload --all\` and
# \`ollama stop MODEL\`. Run without a shell.
# reset_commands:
#   - systemctl --user restart my-runner

# lock_path: /absolute/path/model.lock  # default: \`touchstoned lock status\` shows it
# runs_dir: /absolute/path/runs  # default: in the station's state directory
# model_dirs: [/absolute/path/models]  # where model files may lie
# model_memory_mb: 24000  # what a model may take (default: the host's memory and its accelerators')

# Bounds for every station:
# limits:
${commented(jobLimitsSchema, "  ")}

# Goes before what a station says:
# power:
${commented(powerSchema, "  ")}
`;
}

export const INBOX_README = `# Inbox

Queue files (YAML or JSON) are dropped here. git ignores everything in this directory but this page
and \`examples/\`: a queue file is one person's order to one machine, and a pull must not bring any.

Try one first: \`touchstoned queue check FILE\`. Drop it here: \`touchstoned queue submit FILE\`, or copy it.
\`touchstoned daemon\` runs what is here; files end in \`done/\`, \`failed/\` or, with the reason, \`rejected/\`.
`;

export const EXAMPLE_NAME = "night.yaml";

export const EXAMPLE_QUEUE_FILE = `# A queue file: entries run one after the other. Copy it to inbox/ and change it.
schema_version: 1

# For all entries; an entry may say otherwise, key by key.
# defaults:
#   runner: NAME  # of machine.yaml; needed where it declares more than one
#   cooldown_s: 60

entries:
  - model: MODEL  # as the runner calls it
    pack: packs/office-basics.yaml  # relative to the station
  # - model: { id: MODEL, quant: Q4_K_M, max_tokens_default: 800 }
  #   pack: packs/office-basics.yaml
  #   judge_model: JUDGE
  #   judge_config: judge.yaml
`;

/** What git must not see, at the station's top. */
export const IGNORE_LINES = ["/inbox/*", "!/inbox/README.md", "!/inbox/examples/"] as const;
