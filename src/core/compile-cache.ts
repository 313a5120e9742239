import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { userCacheDir } from "./user-dirs.ts";

/**
 * Lets Node keep what it compiled: a night starts a dozen children of this program, each of which
 * would compile the same files on the machine that is being measured. In the user's own cache and
 * not in the shared temporary folder, where another user could lay code for us. A cache that cannot
 * be used is no fault.
 */
export function keepCompiledCode(env: Readonly<Record<string, string | undefined>>): void {
  enableCompileCache(join(userCacheDir(env), "compiled"));
}
