import { chmodSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { tempDir } from "../../helpers/temp-dir.ts";
import { missing } from "../../system/harness/ability.ts";

const host = { platform: "linux", arch: "x64", uid: 0, cgroups: "/" };

describe("whether a machine can be booted here", () => {
  it("says in one line what is missing", () => {
    expect(missing({ ...host, platform: "darwin", arch: "arm64" })).toBe(
      "it takes Linux on x64, and this is darwin on arm64",
    );
    expect(missing({ ...host, uid: 1000 })).toMatch(/^it takes root/);
    expect(missing({ ...host, cgroups: undefined })).toMatch(/^it takes control groups/);
    expect(missing({ ...host, cgroups: "/proc/1/no-such" })).toMatch(/cannot be written/);
  });

  it("finds nothing missing where all is there", () => {
    const cgroups = tempDir();
    chmodSync(cgroups, 0o700);
    expect(missing({ ...host, cgroups })).toBeUndefined();
  });
});
