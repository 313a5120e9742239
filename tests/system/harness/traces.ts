// What a machine holds: to be compared before an installation and after it was taken away.
import { words } from "./inside.ts";
import type { Machine } from "./machine.ts";

/** What changes by itself on a machine that runs, and tells nothing about a program. */
const RESTLESS = words(
  `/proc /sys /dev /run /tmp /var/tmp /var/log /var/lib/stand-in /var/lib/systemd /var/cache
/etc/.updated /var/.updated /srv /opt`,
);

/** Every file, directory and link with its mode and owner, one a line; and what the files in /etc hold. */
export async function filesOf(machine: Machine): Promise<string[]> {
  const pruned = RESTLESS.map((path) => `-path ${path}`).join(" -o ");
  const out = await machine.must(
    `cd /; find / \\( ${pruned} \\) -prune -o -printf '%p %M %u:%g\\n' | LC_ALL=C sort
     find /etc -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
     ls /var/lib/systemd/linger 2>/dev/null | sed 's/^/lingers: /'`,
  );
  return out.split("\n").filter(Boolean);
}

/** Lines that only one of two lists has, with a sign that says which. */
export function differences(before: readonly string[], after: readonly string[]): string[] {
  const [was, is] = [new Set(before), new Set(after)];
  return [
    ...before.filter((line) => !is.has(line)).map((line) => `- ${line}`),
    ...after.filter((line) => !was.has(line)).map((line) => `+ ${line}`),
  ];
}

/** The processes of the program, whoever started them. */
export async function processesOf(machine: Machine): Promise<string[]> {
  const out = await machine.must("ps -eo pid,user,args | grep -E '[t]ouchstoned' || true");
  return out.split("\n").filter((line) => line !== "" && !line.includes("stand-in.ts"));
}
