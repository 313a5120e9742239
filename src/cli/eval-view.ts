import { table } from "../core/markdown.ts";
import type { EvalProgress, VariantSummary } from "../eval/index.ts";
import { bar, duration, type Terminal } from "./render.ts";

function etaText(progress: EvalProgress): string {
  if (progress.eta === null || progress.done >= progress.total) return "";
  const [low, high] = [duration(progress.eta.low_s), duration(progress.eta.high_s)];
  return low === high ? `, about ${low} left` : `, ${low} to ${high} left`;
}

function cellText({ current }: EvalProgress): string {
  if (current === null) return "";
  const repeat = current.repeat === 0 ? "" : ` (repeat ${current.repeat + 1})`;
  return `: ${current.variant} / ${current.prompt_id}${repeat}`;
}

/** Shows progress: one line that changes where a person watches, a line a cell elsewhere. */
export function progressView(terminal: Terminal): (progress: EvalProgress) => void {
  return (progress) => {
    if (progress.phase === "load") {
      if (terminal.interactive) terminal.status("loading the model");
      else terminal.err("loading the model");
      return;
    }
    const { done, total, failed } = progress;
    const failures = failed === 0 ? "" : `, ${failed} failed`;
    const rest = `${failures}${etaText(progress)}${cellText(progress)}`;
    if (terminal.interactive) {
      terminal.status(`${bar(total === 0 ? 1 : done / total)} ${done}/${total}${rest}`);
    } else {
      terminal.err(`${done}/${total}${rest}`);
    }
  };
}

function figure(value: number | null, digits: number): string {
  return value === null ? "-" : value.toFixed(digits);
}

/** The short table that a person sees at the end; the scorecard has the rest. */
export function summaryTable(summaries: readonly VariantSummary[]): string {
  return table(
    ["model", "variant", "ok", "failed", "TTFT p50 s", "decode tok/s", "e2e s", "counted"],
    summaries.map((summary) => [
      summary.model,
      summary.variant,
      summary.ok,
      summary.failed,
      figure(summary.ttft_p50_s, 2),
      figure(summary.decode_med_tps, 1),
      figure(summary.e2e_med_s, 2),
      summary.n,
    ]),
  );
}
