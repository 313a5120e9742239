import { EXIT } from "../../core/errors.ts";
import { settingRows } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";

export interface ConfigShowOptions {
  origin?: boolean;
  station?: string;
  json?: boolean;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "-";
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

export const run: CommandAction<ConfigShowOptions> = async (options, { terminal, env, cwd }) => {
  const rows = settingRows({ explicit: options.station, env, cwd });
  if (options.json === true) {
    terminal.json(rows);
    return EXIT.done;
  }
  const lines = rows.map((row) => [row.key, valueText(row.value), row.origin.text] as const);
  const width = (column: 0 | 1): number => Math.max(...lines.map((line) => line[column].length));
  // A path may be very long; the origins behind it then stand out of line.
  const [keys, values] = [width(0), Math.min(width(1), 60)];
  for (const [key, value, from] of lines) {
    const start = `${key.padEnd(keys)}  `;
    terminal.out(
      options.origin === true ? `${start}${value.padEnd(values)}  (${from})` : `${start}${value}`,
    );
  }
  return EXIT.done;
};
