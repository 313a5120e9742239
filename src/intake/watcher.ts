import { lstatSync } from "node:fs";
import { errorMessage } from "../core/errors.ts";

export interface InboxWatcher {
  close(): Promise<void>;
}

export interface WatchOptions {
  inbox: string;
  /** Something happened there: look soon. May come many times for one change, or not at all. */
  onHint: () => void;
  /** No more hints will come, and why. Rescans find everything all the same. */
  onLost: (reason: string) => void;
}

/**
 * Hears of changes in the inbox from the system. They are hints: remote and synchronised directories
 * send none, and a watch can be lost (too many watches, the directory replaced).
 */
export async function watchInbox(options: WatchOptions): Promise<InboxWatcher> {
  const { inbox, onHint } = options;
  const { watch } = await import("chokidar");
  let open = true;
  const inode = inodeOf(inbox);
  // One watch on the directory itself: one for each file would cost a thousand for nothing.
  const watcher = watch(inbox, {
    depth: 0,
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path) => path !== inbox,
  });
  const lose = (reason: string): void => {
    if (!open) return;
    open = false;
    void watcher.close();
    options.onLost(reason);
  };
  watcher.on("error", (error) => lose(errorMessage(error)));
  watcher.on("raw", () => {
    if (!open) return;
    onHint();
    if (inodeOf(inbox) !== inode) lose(`${inbox} is not the directory any more that was watched`);
  });
  await new Promise<void>((resolve) => {
    watcher.once("ready", resolve);
    watcher.once("error", () => resolve());
  });
  return {
    async close() {
      open = false;
      await watcher.close();
    },
  };
}

function inodeOf(path: string): number | null {
  try {
    return lstatSync(path).ino;
  } catch {
    return null;
  }
}
