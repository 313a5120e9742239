import type { ServiceHost } from "./host.ts";
import { firstLine } from "./host.ts";
import { EXIT, TouchstonedError } from "../../core/errors.ts";

const CRON_BEGIN = "# BEGIN touchstoned";
const CRON_END = "# END touchstoned";

/** The lines of our block, its marks among them; undefined where there is none. */
export function findBlock(crontab: string): string[] | undefined {
  const lines = crontab.split("\n");
  const begin = lines.findIndex((line) => line.startsWith(CRON_BEGIN));
  if (begin < 0) return undefined;
  const end = lines.findIndex((line, at) => at > begin && line.startsWith(CRON_END));
  // Without its end nobody can tell what is ours: the first mark alone is taken for the block.
  return lines.slice(begin, end < 0 ? begin + 1 : end + 1);
}

/** `crontab` with `block` in the place of the one that is there, else at its end; null takes it out. */
export function withBlock(crontab: string, block: string | null): string {
  const there = findBlock(crontab);
  const lines = crontab === "" ? [] : crontab.replace(/\n$/, "").split("\n");
  const ours = block === null ? [] : block.replace(/\n$/, "").split("\n");
  if (there === undefined) lines.push(...ours);
  else
    lines.splice(
      lines.findIndex((line) => line.startsWith(CRON_BEGIN)),
      there.length,
      ...ours,
    );
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** The user's crontab; empty where there is none. Throws `no_crontab` (69) where it cannot be read. */
export async function readCrontab(host: ServiceHost): Promise<string> {
  const told = await host.run("crontab", ["-l"]);
  if (told.ok) return told.stdout;
  // "no crontab for NAME", on every system with exit status 1.
  if (told.exit_code === 1 && /no crontab for/i.test(told.stderr)) return "";
  throw crontabError("the crontab cannot be read", firstLine(told));
}

function crontabError(what: string, said: string): TouchstonedError {
  return new TouchstonedError({
    code: "no_crontab",
    exitCode: EXIT.unavailable,
    message: `${what}: ${said}`,
    hint: "Is cron installed (Debian: apt install cron), and may you use it (/etc/cron.allow)?",
  });
}

/** Puts a whole crontab in its place; an empty one is taken away. */
export async function writeCrontab(host: ServiceHost, text: string): Promise<void> {
  const told =
    text === ""
      ? await host.run("crontab", ["-r"])
      : await host.run("crontab", ["-"], { input: text });
  if (!told.ok) throw crontabError("the crontab cannot be written", firstLine(told));
}
