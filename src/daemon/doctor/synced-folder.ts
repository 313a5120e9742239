import { dirname, join } from "node:path";

/** Folders that a program copies to and from other machines, by their place below the home. */
const BY_PLACE: readonly [place: RegExp, name: string][] = [
  [/^Library\/Mobile Documents(?:\/|$)/, "iCloud Drive"],
  [/^Library\/CloudStorage\/([^/-]+)/, ""],
  [/^Dropbox(?: \([^/]*\))?(?:\/|$)/, "Dropbox"],
  [/^OneDrive(?: - [^/]*)?(?:\/|$)/, "OneDrive"],
  [/^Google ?Drive(?:\/|$)/i, "Google Drive"],
  [/^Nextcloud\d*(?:\/|$)/, "Nextcloud"],
  [/^ownCloud(?:\/|$)/i, "ownCloud"],
  [/^pCloud ?Drive(?:\/|$)/i, "pCloud"],
  [/^Box(?: Sync)?(?:\/|$)/, "Box"],
  [/^MEGA(?:sync)?(?:\/|$)/i, "MEGA"],
];

/** What such programs leave at the top of a folder that they look after. */
const BY_MARK: readonly [mark: string, name: string][] = [
  [".stfolder", "Syncthing"],
  [".dropbox", "Dropbox"],
  [".dropbox.cache", "Dropbox"],
  [".nextcloudsync.log", "Nextcloud"],
  [".sync_folder", "Seafile or Resilio"],
];

/**
 * The program that keeps the folder `path` (absolute, links resolved) in step with other machines;
 * null where none is known to.
 */
export function syncedBy(
  path: string,
  home: string,
  isThere: (path: string) => boolean,
): string | null {
  if (path.startsWith(`${home}/`)) {
    const below = path.slice(home.length + 1);
    for (const [place, name] of BY_PLACE) {
      const match = place.exec(below);
      if (match !== null) return name === "" ? (match[1] ?? "") : name;
    }
  }
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    // What lies in the home itself is the program's own business, not the home's.
    if (at === home) break;
    for (const [mark, name] of BY_MARK) if (isThere(join(at, mark))) return name;
  }
  return null;
}

const PRIVATE_FOLDERS = ["Desktop", "Documents", "Downloads", "Library/Mobile Documents"];

/**
 * The folder of macOS around `path` that no program may look into unless a person has allowed it,
 * and which a daemon, whom nobody sees a question of, gets nothing of; null elsewhere.
 */
export function privateFolder(path: string, home: string): string | null {
  const inHome = PRIVATE_FOLDERS.find(
    (folder) => path === join(home, folder) || path.startsWith(`${join(home, folder)}/`),
  );
  if (inHome !== undefined) return join(home, inHome);
  const volume = /^\/Volumes\/[^/]+/.exec(path)?.[0];
  return volume ?? null;
}
