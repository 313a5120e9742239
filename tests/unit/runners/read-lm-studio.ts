import { errorBody, statusFault, streamFault } from "../../../src/runners/fault.ts";
import {
  lmStudioModels,
  lmStudioModelsV0,
  parseLmsLs,
  parseLmsPs,
  type LmStudioModel,
} from "../../../src/runners/index.ts";
import { literal } from "../../helpers/literal.ts";
import type { SampleReader } from "../../helpers/sample-index.ts";

/** One recording has lost its beginning; what is left is put back into a list. */
const ps: SampleReader = ({ text }) => {
  const whole = text.startsWith('"') ? `[{${text}` : text;
  const instances = parseLmsPs(whole);
  return { ...instances?.[0], loaded: instances?.length };
};

function summary(models: readonly LmStudioModel[] | undefined) {
  const instances = models?.flatMap((model) => model.instances) ?? [];
  return {
    ...instances[0],
    models: models?.length,
    loaded: instances.length,
    max_context_lengths: models?.map((model) => model.max_context_length).join(),
  };
}

/** One recording is the middle of an answer; it is put back into one. */
const v1: SampleReader = ({ text }) => {
  const fragment = !text.startsWith("{");
  const whole = fragment ? `{"models": [{"key": "model", ${text.trim()}}]}` : text;
  return summary(lmStudioModels(literal(whole)));
};

const errors: SampleReader = ({ text }) => {
  const value = literal(text);
  const body = errorBody(value);
  if (body === undefined) return { class: null };
  const found = typeof (value as { error: unknown }).error === "string";
  return { ...(found ? statusFault(400, text) : streamFault(body)) };
};

export const LM_STUDIO_READERS: Readonly<Record<string, SampleReader>> = {
  "lms-ps": ps,
  "lms-ls": ({ text }) => {
    const models = parseLmsLs(text);
    return { ...models?.[0], models: models?.length };
  },
  "lmstudio-api-v1-models": v1,
  "lmstudio-api-v0-models": ({ text }) => summary(lmStudioModelsV0(literal(text))),
  "lmstudio-errors": errors,
};
