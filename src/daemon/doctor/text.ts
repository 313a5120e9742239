import type { DoctorReport } from "./doctor.ts";
import { counted, type Level } from "./line.ts";

/** The worst last: that is what stands above the prompt. */
const ORDER: readonly Level[] = ["ok", "warning", "failure"];
const MARK: Readonly<Record<Level, string>> = { ok: "ok", warning: "warning", failure: "FAILURE" };

function verdict({ counts, not_looked_at }: DoctorReport): string {
  const parts = [
    counts.failure === 0 ? null : counted(counts.failure, "failure"),
    counts.warning === 0 ? null : counted(counts.warning, "warning"),
  ].filter((part) => part !== null);
  const skipped =
    not_looked_at.length === 0 ? "" : `; not looked at until then: ${not_looked_at.join(", ")}`;
  if (parts.length === 0) return `all is well (${counts.ok} looked at)`;
  return `${parts.join(", ")}, ${counts.ok} ok${skipped}`;
}

/** For a terminal. */
export function doctorText(report: DoctorReport): string {
  const width = Math.max(...report.lines.map(({ check }) => check.length));
  const lines: string[] = [];
  for (const level of ORDER) {
    for (const { check, text, todo } of report.lines.filter((line) => line.level === level)) {
      lines.push(`${MARK[level].padEnd(7)}  ${check.padEnd(width)}  ${text}`);
      if (todo !== null) lines.push(`${" ".repeat(9 + width)}  -> ${todo}`);
    }
  }
  return [...lines, verdict(report)].join("\n");
}
