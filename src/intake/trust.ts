import { askingUser, chainFault, modeFault, userPaths, type Env } from "../station/resident.ts";
import type { Trust } from "./ports.ts";

/**
 * Trust as sshd has it: a queue file starts work on this machine, so it and the directories above it
 * belong to the user (or root), and nobody else may write them.
 */
export function stationTrust(inbox: string, env: Env): Trust {
  const asker = askingUser(userPaths(env).home);
  return {
    inbox: () => chainFault(inbox, asker),
    file: (path, stat) => modeFault(path, stat, asker),
  };
}
