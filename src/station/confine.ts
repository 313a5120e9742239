import { lstatSync, readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { configError, errorMessage, inputError, type TouchstonedError } from "../core/errors.ts";
import { printable } from "../core/text.ts";
import { isInside } from "./paths.ts";

/** As many as the Linux kernel follows. */
const MAX_LINKS = 40;

/**
 * `path` with every link resolved, one part after the other as the kernel does it, but also where
 * the last parts are not there yet: a link to something missing is followed, since writing to it
 * would make that very thing.
 */
function resolveLinks(path: string): string {
  const parts = path.split("/");
  let real = "/";
  let links = 0;
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      real = dirname(real);
      continue;
    }
    const next = join(real, part);
    const stats = lstatSync(next, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() !== true) {
      real = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) throw new Error("goes round in a circle of links");
    const target = readlinkSync(next);
    if (isAbsolute(target)) real = "/";
    parts.unshift(...target.split("/"));
  }
  return real;
}

/**
 * The absolute path, links resolved, of `path` as a file in a station names it: relative to `root`
 * (links resolved), and inside it. The file need not be there. Throws an input error (64) that
 * begins with `what` where it leads out, by `..`, by an absolute path or by a link.
 */
export function confine(root: string, path: string, what: string): string {
  const outside = (where: string): TouchstonedError =>
    inputError(
      printable(`${what}: "${path}" ${where}`),
      `Files must lie in the station ${root}; copy it there.`,
      "outside_station",
    );
  if (path === "") throw inputError(`${what}: the path is empty`, undefined, "outside_station");
  if (path.includes("\0")) {
    throw inputError(
      `${what}: the path holds a NUL character`,
      "Write it without control characters.",
      "outside_station",
    );
  }
  const plain = resolve(root, path);
  // An absolute path may reach the station through a link above it: its real place decides.
  if (!isAbsolute(path) && !isInside(root, plain)) throw outside("leads out of the station");
  let real: string;
  try {
    real = resolveLinks(plain);
  } catch (error) {
    throw outside(`cannot be resolved: ${errorMessage(error)}`);
  }
  if (!isInside(root, plain) && !isInside(root, real)) throw outside("leads out of the station");
  if (!isInside(root, real)) throw outside(`is a link that leads out of the station, to ${real}`);
  return real;
}

/**
 * Throws a configuration error (78) where `inbox/` of the station is anything but a directory of its
 * own. None at all is fine: it is made.
 */
export function requireInbox(root: string): void {
  const path = join(root, "inbox");
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isDirectory()) return;
  const what = stats.isSymbolicLink() ? "a symbolic link" : "no directory";
  throw configError(
    `${path} is ${what}`,
    "Make it a directory of the station itself: what is dropped there starts work, so links are not followed.",
    "bad_inbox",
  );
}
