import { describe, expect, it } from "vitest";
import { userCacheDir, userStateDir } from "../../../src/core/user-dirs.ts";

describe("directories of a user", () => {
  it.each([
    [{}, "/h/.local/state/touchstoned", "/h/.cache/touchstoned"],
    [{ XDG_STATE_HOME: "/s", XDG_CACHE_HOME: "/c" }, "/s/touchstoned", "/c/touchstoned"],
    // The XDG specification asks to pass over relative values.
    [
      { XDG_STATE_HOME: "s", XDG_CACHE_HOME: "" },
      "/h/.local/state/touchstoned",
      "/h/.cache/touchstoned",
    ],
  ])("on Linux with %j", (variables, state, cache) => {
    const env = { HOME: "/h", ...variables };
    expect(userStateDir(env, "linux")).toBe(state);
    expect(userCacheDir(env, "linux")).toBe(cache);
  });

  it("on macOS, where XDG has no say", () => {
    const env = { HOME: "/h", XDG_STATE_HOME: "/s", XDG_CACHE_HOME: "/c" };
    expect(userStateDir(env, "darwin")).toBe("/h/Library/Application Support/touchstoned");
    expect(userCacheDir(env, "darwin")).toBe("/h/Library/Caches/touchstoned");
  });
});
