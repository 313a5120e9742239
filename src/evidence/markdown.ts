import { gainWords, rangeWords } from "../core/gain-words.ts";
import { markdownCell, table } from "../core/markdown.ts";
import { armRates } from "../verdict/index.ts";
import type { Level, LevelJudgement, Readings } from "../verdict/index.ts";
import { amount, boundName, ending, gigabytes } from "./figures.ts";
import { deviceName } from "./light.ts";
import type { Evidence, Identity } from "./schema.ts";

const UNKNOWN = "not known";

function plural(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? "" : "s"}`;
}

function accelerators(identity: Identity): string {
  if (identity.accelerators === null) return UNKNOWN;
  if (identity.accelerators.length === 0) return "none";
  return identity.accelerators
    .map(({ name, driver, memory_mb }) => {
      const facts = [
        memory_mb === null ? null : gigabytes(memory_mb),
        driver === null ? null : `driver ${driver}`,
      ].filter((fact) => fact !== null);
      return facts.length === 0 ? name : `${name} (${facts.join(", ")})`;
    })
    .join("; ");
}

function on(value: Identity["flash_attention"]): string {
  return value === null ? UNKNOWN : value === true ? "on" : value === false ? "off" : value;
}

function identityRows({ identity }: Evidence): string[][] {
  const { runner, model } = identity;
  const digest =
    model.digest === null
      ? "no digest"
      : `digest ${model.digest.slice(0, 16)} (${model.digest_source})`;
  return [
    [
      "Device",
      [
        deviceName(identity.device_key),
        identity.hardware ?? UNKNOWN,
        identity.processor ?? UNKNOWN,
        gigabytes(identity.memory_mb),
      ].join(", "),
    ],
    ["Accelerators", accelerators(identity)],
    ["System", identity.os_release ?? UNKNOWN],
    [
      "Runner",
      [runner.kind, runner.version ?? UNKNOWN, runner.build].filter((x) => x !== null).join(" "),
    ],
    ["Model", `${model.id}, ${identity.quantization ?? "quantization not known"}, ${digest}`],
    [
      "Settings",
      `${identity.context_per_slot} tokens a slot, KV ${identity.kv_type ?? UNKNOWN}, flash attention ${on(identity.flash_attention)}, batch ${identity.batch ?? UNKNOWN}, cache ${identity.cache ?? UNKNOWN}`,
    ],
  ];
}

function settingRows(evidence: Evidence): string[][] {
  const { conditions, sweep, verdict } = evidence;
  const { corpus, method, baseline } = sweep;
  const { sigma_log, smallest_gain } = verdict.noise;
  const { segments, structural_flips, exact_flips } = baseline.self_agreement;
  const until = sweep.levels.at(-1)?.measured_to ?? baseline.measured_to;
  const [inForm, inText] =
    method.text_answers === "same"
      ? ["", "with the values in tool calls"]
      : [" in form", "in text"];
  const percent = (share: number | null) => (share === null ? UNKNOWN : `${amount(share * 100)} %`);
  return [
    ["Measured", `${evidence.oldest_measured} to ${until}, ${plural(sweep.requests, "request")}`],
    [
      "Conditions",
      `power ${conditions.power ?? UNKNOWN}, thermal ${conditions.thermal ?? UNKNOWN}, load ${conditions.load === null ? UNKNOWN : amount(conditions.load)}`,
    ],
    [
      "Corpus",
      `${corpus.sha256.slice(0, 16)}: ${plural(corpus.segments, "segment")}, ${plural(corpus.turns, "turn")}, seed ${corpus.seed}`,
    ],
    [
      "Noise",
      `${percent(sigma_log)} a block at one slot; gains below ${percent(smallest_gain)} cannot be seen; the gate is ${percent(method.gain_gate)}`,
    ],
    [
      "One slot against itself",
      segments === 0
        ? "not compared"
        : `${structural_flips} of ${segments} segments answered otherwise${inForm}, ${exact_flips} ${inText}`,
    ],
  ];
}

const LEVEL_HEADER = [
  "slots",
  "tokens/s",
  "turns/h",
  "gain",
  "interval",
  "of ideal",
  "memory",
  "swap MB/min",
  "answers changed",
  "outcome",
];

function memory(readings: Readings | null | undefined): string {
  if (readings === null || readings === undefined) return "-";
  const parts = [gigabytes(readings.host_used_peak_mb)];
  for (const gpu of readings.gpus ?? []) parts.push(`${gpu.id} ${gigabytes(gpu.used_peak_mb)}`);
  return parts.join(", ");
}

const GAINS: Record<LevelJudgement["gain"], string> = {
  baseline: "one slot",
  accepted: "gains",
  rejected: "gains too little",
  not_proven: "gain not proven",
  not_measured: "not measured",
};
const FIDELITY: Record<LevelJudgement["fidelity"], string> = {
  proven: "",
  not_proven: ", answers not proven",
  broken: ", answers change",
  not_measured: ", answers not compared",
};

function outcome(judged: LevelJudgement): string {
  const broken = judged.breaches.map(({ bound }) => boundName(bound));
  if (broken.length > 0) return `breaks ${[...new Set(broken)].join(", ")}`;
  const warned =
    judged.warnings.length === 0 ? "" : ` (${plural(judged.warnings.length, "warning")})`;
  return `${GAINS[judged.gain]}${judged.gain === "accepted" ? FIDELITY[judged.fidelity] : ""}${warned}`;
}

/** What was read and compared at a number of slots: one slot's is the baseline. */
function measured(
  { sweep }: Evidence,
  slots: number,
): Pick<Level, "readings" | "fidelity"> | undefined {
  if (slots > 1) return sweep.levels.find((level) => level.slots === slots);
  return { readings: sweep.baseline.readings, fidelity: sweep.baseline.self_agreement };
}

/** None compared is not the same as none changed. */
function changed(fidelity: Level["fidelity"] | undefined): string {
  if (fidelity === undefined || fidelity.segments === 0) return "-";
  return `${fidelity.structural_flips} of ${fidelity.segments}`;
}

function levelRow(judged: LevelJudgement, level: ReturnType<typeof measured>): string[] {
  const { ratio, ratio_low, ratio_high, share_of_ideal } = judged;
  return [
    String(judged.slots),
    amount(judged.tokens_per_s),
    amount(judged.turns_per_hour),
    ratio === null ? "-" : `${gainWords(ratio)} on ${judged.against}`,
    ratio_low === null || ratio_high === null ? "-" : rangeWords(ratio_low, ratio_high),
    share_of_ideal === null ? "-" : `${amount(share_of_ideal * 100)} %`,
    memory(level?.readings),
    amount(level?.readings?.swap_out_mb_per_min),
    changed(level?.fidelity),
    outcome(judged),
  ];
}

function list(heading: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  return [`## ${heading}`, "", ...lines.map((line) => `- ${markdownCell(line)}`), ""];
}

function extras({ sweep }: Evidence): string[] {
  return sweep.extras.map(({ slots, context_per_slot, period, failed_turns, note }) => {
    const speed =
      period === null || period.busy_s === 0
        ? "not measured"
        : `${amount(period.output_tokens / period.busy_s)} tokens/s`;
    return `${plural(slots, "slot")} of ${context_per_slot} tokens: ${speed}, ${plural(failed_turns, "failed turn")}${note === "" ? "" : `; ${note}`}`;
  });
}

function sampled({ sweep }: Evidence): string[] {
  const { production_sampling: found } = sweep;
  if (found === undefined) return [];
  const { slots, temperature, blocks, failed_turns, note } = found;
  const [one, all] = [armRates(blocks, "A"), armRates(blocks, "B")];
  const speed =
    one === null || all === null
      ? "not measured"
      : `${amount(all.tokens_per_s)} tokens/s with ${plural(slots, "slot")} busy, ${amount(one.tokens_per_s)} with one (${gainWords(all.tokens_per_s / one.tokens_per_s)}), ${plural(blocks.length, "block")}`;
  const how = temperature === null ? "as the runner samples" : `temperature ${temperature}`;
  return [
    `${how}: ${speed}, ${plural(failed_turns, "failed turn")}${note === "" ? "" : `; ${note}`}`,
  ];
}

/** The page that a person reviews in a minute. `picture`: name of the chart beside it. */
export function evidenceMarkdown(evidence: Evidence, picture: string): string {
  const { identity, sweep, verdict } = evidence;
  const { bounds } = verdict;
  const where = identity.hardware ?? identity.processor ?? "a device without a name";
  const broken = verdict.levels.flatMap(({ slots, breaches }) =>
    breaches.map(({ bound, reason }) => `${plural(slots, "slot")}, ${boundName(bound)}: ${reason}`),
  );
  const warned = verdict.levels.flatMap(({ slots, warnings }) =>
    warnings.map((warning) => `${plural(slots, "slot")}: ${warning}`),
  );
  return [
    `# ${plural(verdict.recommended, "slot")}: ${markdownCell(identity.model.id)} on ${markdownCell(where)}`,
    "",
    `**Recommended: ${verdict.recommended}. Safe up to: ${verdict.max_safe}.** ${markdownCell(verdict.reason)}`,
    "",
    `![Throughput against slots](${picture})`,
    "",
    table(
      LEVEL_HEADER,
      verdict.levels.map((judged) => levelRow(judged, measured(evidence, judged.slots))),
    ),
    "",
    `Ended by: ${markdownCell(ending(sweep, verdict))}.`,
    "",
    ...list("Broken bounds", broken),
    ...list("Warnings", warned),
    ...list("Production sampling, not judged", sampled(evidence)),
    ...list("Extra measurements, not judged", extras(evidence)),
    "## Measured on",
    "",
    table(["", ""], [...identityRows(evidence), ...settingRows(evidence)]),
    "",
    `Bounds: memory ${amount(bounds.memory_ceiling * 100)} %, swap ${amount(bounds.swap_growth)} times that of one slot or ${amount(bounds.swap_floor_mb_per_min)} MB/min, pressure stalls ${amount(bounds.pressure_stall_share * 100)} %.`,
    "",
    ...list("Notes on the corpus", sweep.corpus.notes),
    `Key ${evidence.key.slice(0, 16)}, touchstoned ${markdownCell(evidence.touchstoned)}. \`touchstoned evidence verify\` judges the recorded blocks again.`,
    "",
  ].join("\n");
}
