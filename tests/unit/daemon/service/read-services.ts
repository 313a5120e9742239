import { parsePrint, printFailure } from "../../../../src/daemon/service/launchd-facts.ts";
import {
  properties,
  reachedNobody,
  unitFacts,
} from "../../../../src/daemon/service/systemd-facts.ts";
import type { SampleReader } from "../../../helpers/sample-index.ts";

/** How each tool of a service manager is read, by its name in the index of samples. */
export const SERVICE_READERS: Record<string, SampleReader> = {
  "launchctl-print": ({ text }) => {
    const { properties: words, ...printed } = parsePrint(text);
    const has = (word: string) => words.includes(word);
    const shown = { ...printed, keepalive: has("keepalive"), runatload: has("runatload") };
    return { ...shown, reason: printed.loaded ? null : printFailure(text) };
  },
  "systemctl-user": ({ text }) => ({
    error: reachedNobody(text) ? "no_systemd_or_no_user_bus" : null,
  }),
  "loginctl-show-user": ({ text }) => {
    const found = properties(text);
    const value = (name: string) => found.get(name) ?? null;
    return {
      uid: Number(value("UID")),
      gid: Number(value("GID")),
      name: value("Name"),
      state: value("State"),
      linger: value("Linger") === "yes",
      runtime_path: value("RuntimePath"),
      sessions: value("Sessions"),
      service: value("Service"),
    };
  },
  "systemctl-show": ({ text }) => {
    const found = properties(text);
    return {
      names: found.get("Names"),
      load_state: found.get("LoadState"),
      ...unitFacts(text),
    };
  },
};
