import type { Runner } from "../../runners/index.ts";
import { sameModel } from "./device-setup.ts";
import type { CalibrationPlan } from "./plan.ts";
import { refusal } from "./refusal.ts";

const MODELS_SHOWN = 4;

/**
 * Refuses (exit 3) to measure a model that the server in production does not serve. A server that
 * names none is believed to have it.
 */
export async function refuseOtherModel(plan: CalibrationPlan, runner: Runner): Promise<void> {
  const { models } = await runner.status();
  if (models === null || models.length === 0) return;
  if (models.some(({ id }) => sameModel(plan, id))) return;
  const names = models.slice(0, MODELS_SHOWN).map(({ id }) => id);
  const more = models.length - names.length;
  throw refusal(
    "other_model",
    `runner "${plan.settings.name}" does not serve "${plan.model}": it serves ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`,
    "Name one of its models with --model, or correct local_models.model in touchstoned.yaml.",
  );
}

/**
 * The plan with the context that a slot of the server in production has; null where it does not tell.
 * Refuses (exit 3) another one that was wished for: it would be evidence of what was never there.
 */
export function withLiveContext(
  plan: CalibrationPlan,
  live: number | null,
  wished: number | undefined,
): CalibrationPlan {
  if (live === null) return plan;
  if (wished === undefined || wished === live) return { ...plan, context_per_slot: live };
  throw refusal(
    "other_context",
    `runner "${plan.settings.name}" has ${live} tokens of context a slot, not ${wished}: it is measured as it is`,
    "Leave --context out, or start the server with that context and measure it then.",
  );
}
