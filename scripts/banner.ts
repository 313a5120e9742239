/** Says on standard error what nobody is to overlook. */
export function banner(lines: readonly string[]): void {
  const rule = "!".repeat(78);
  process.stderr.write([rule, ...lines.map((line) => `!! ${line}`), rule, ""].join("\n"));
}
