import { fieldsOf, listOf, numberOf, textOf, type Fields } from "./fields.ts";

/** A model that LM Studio holds in memory. */
export interface LmStudioInstance {
  /** What requests call it; the person may have chosen another name than the model's. */
  id: string;
  /** Of this instance; the model itself may allow more. */
  context_length: number | null;
  max_context_length: number | null;
  /** How many requests it serves at once. */
  slots: number | null;
  /** `idle`, `processingprompt`, `generating`; null where it is not told. */
  status: string | null;
  queued: number | null;
  size_bytes: number | null;
  /** How long it stays without a request; null: for ever, or not told. */
  ttl_ms: number | null;
}

/** A model as LM Studio lists it, with its instances in memory. */
export interface LmStudioModel {
  key: string;
  size_bytes: number | null;
  quantization: string | null;
  max_context_length: number | null;
  instances: LmStudioInstance[];
}

/** The JSON that `lms` prints, behind lines like "Waking up LM Studio service...". */
function lmsJson(text: string): unknown {
  const at = /^[[{]/m.exec(text)?.index;
  if (at === undefined) return undefined;
  try {
    return JSON.parse(text.slice(at));
  } catch {
    return undefined;
  }
}

function psInstance(fields: Fields): LmStudioInstance[] {
  const id = textOf(fields["identifier"]);
  if (id === null) return [];
  return [
    {
      id,
      context_length: numberOf(fields["contextLength"]),
      max_context_length: numberOf(fields["maxContextLength"]),
      slots: numberOf(fields["parallel"]),
      // Lower case in JSON, upper case in the table of the same version.
      status: textOf(fields["status"])?.toLowerCase() ?? null,
      queued: numberOf(fields["queued"]),
      size_bytes: numberOf(fields["sizeBytes"]),
      ttl_ms: numberOf(fields["ttlMs"]),
    },
  ];
}

const UNITS: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9 };

/** Older versions have no `--json`: a block of lines for each model. */
function psText(text: string): LmStudioInstance[] {
  return text.split(/^(?=Identifier: )/m).flatMap((block) => {
    const id = /^Identifier: (.+)$/m.exec(block)?.[1]?.trim();
    if (id === undefined) return [];
    const [, amount, unit = ""] = /Size:\s+([\d.]+) ([MG]B)/.exec(block) ?? [];
    const size = amount === undefined ? null : Math.round(Number(amount) * (UNITS[unit] ?? 1));
    const unknown = { context_length: null, max_context_length: null, slots: null, status: null };
    return [{ id, ...unknown, queued: null, size_bytes: size, ttl_ms: null }];
  });
}

/**
 * Parses `lms ps --json`, and what older versions print instead. Undefined where it is neither: not
 * the same as an empty list, which says that nothing is loaded.
 */
export function parseLmsPs(text: string): LmStudioInstance[] | undefined {
  const parsed = lmsJson(text);
  if (Array.isArray(parsed)) return parsed.flatMap((entry) => psInstance(fieldsOf(entry)));
  if (/^\s*LOADED MODELS/m.test(text)) return psText(text);
  return /no models are (currently )?loaded/i.test(text) ? [] : undefined;
}

/** Parses `lms ls --json`; undefined where it is not that. */
export function parseLmsLs(text: string): LmStudioModel[] | undefined {
  const parsed = lmsJson(text);
  if (!Array.isArray(parsed)) return undefined;
  return parsed.flatMap((entry) => {
    const fields = fieldsOf(entry);
    const key = textOf(fields["modelKey"]);
    if (key === null) return [];
    return [
      {
        key,
        size_bytes: numberOf(fields["sizeBytes"]),
        quantization: textOf(fieldsOf(fields["quantization"])["name"]),
        max_context_length: numberOf(fields["maxContextLength"]),
        instances: [],
      },
    ];
  });
}

function v1Instance(value: unknown, model: Fields): LmStudioInstance[] {
  const fields = fieldsOf(value);
  const config = fieldsOf(fields["config"]);
  const id = textOf(fields["id"]);
  if (id === null) return [];
  return [
    {
      id,
      context_length: numberOf(config["context_length"]),
      max_context_length: numberOf(model["max_context_length"]),
      slots: numberOf(config["parallel"]),
      status: null,
      queued: null,
      size_bytes: numberOf(model["size_bytes"]),
      ttl_ms: null,
    },
  ];
}

/** What `GET /api/v1/models` answered; undefined where it has no list of models. */
export function lmStudioModels(value: unknown): LmStudioModel[] | undefined {
  const { models } = fieldsOf(value);
  if (!Array.isArray(models)) return undefined;
  return models.flatMap((entry) => {
    const fields = fieldsOf(entry);
    const key = textOf(fields["key"]);
    if (key === null) return [];
    return [
      {
        key,
        size_bytes: numberOf(fields["size_bytes"]),
        quantization: textOf(fieldsOf(fields["quantization"])["name"]),
        max_context_length: numberOf(fields["max_context_length"]),
        instances: listOf(fields["loaded_instances"]).flatMap((one) => v1Instance(one, fields)),
      },
    ];
  });
}

/** What `GET /api/v0/models` answered, which tells no slots; undefined where it has no list. */
export function lmStudioModelsV0(value: unknown): LmStudioModel[] | undefined {
  const { data } = fieldsOf(value);
  if (!Array.isArray(data)) return undefined;
  return data.flatMap((entry) => {
    const fields = fieldsOf(entry);
    const key = textOf(fields["id"]);
    if (key === null) return [];
    const max_context_length = numberOf(fields["max_context_length"]);
    const config = { context_length: fields["loaded_context_length"] };
    const loaded = fields["state"] === "loaded" ? v1Instance({ id: key, config }, fields) : [];
    return [
      {
        key,
        size_bytes: null,
        quantization: textOf(fields["quantization"]),
        max_context_length,
        instances: loaded,
      },
    ];
  });
}
