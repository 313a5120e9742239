import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { confine } from "../../../src/station/index.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

let root = "";
let outside = "";

beforeEach(() => {
  const base = tempDir();
  root = join(base, "station");
  outside = join(base, "outside");
  mkdirSync(join(root, "packs"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, "secret"), "s");
  writeFileSync(join(root, "packs", "a.yaml"), "a");
});

describe("confine", () => {
  it.each([
    ["a file", "packs/a.yaml", "packs/a.yaml"],
    ["the station itself", ".", ""],
    ["a way that goes up and stays inside", "packs/../packs/a.yaml", "packs/a.yaml"],
    ["what is not there yet", "runs/new/deep.json", "runs/new/deep.json"],
    ["a name that begins with two dots", "..data/x", "..data/x"],
  ])("gives the real path of %s", (_, path, wanted) => {
    expect(confine(root, path, "pack")).toBe(wanted === "" ? root : join(root, wanted));
  });

  it("takes an absolute path inside, also by way of a link above the station", () => {
    expect(confine(root, join(root, "packs/a.yaml"), "pack")).toBe(join(root, "packs/a.yaml"));
    const alias = join(outside, "alias");
    symlinkSync(root, alias);
    expect(confine(root, join(alias, "packs/a.yaml"), "pack")).toBe(join(root, "packs/a.yaml"));
  });

  it("follows a link that stays inside", () => {
    symlinkSync("a.yaml", join(root, "packs", "b.yaml"));
    expect(confine(root, "packs/b.yaml", "pack")).toBe(join(root, "packs", "a.yaml"));
  });

  it.each([
    ["..", ".."],
    ["../outside/secret", "parent"],
    ["packs/../../outside/secret", "parent by a detour"],
    ["/etc/passwd", "absolute"],
    ["", "empty"],
    ["packs/a\0.yaml", "NUL"],
  ])("refuses %j (%s)", (path) => {
    expect(() => confine(root, path, "entries.0.pack")).toThrow(
      expect.objectContaining({ code: "outside_station", exitCode: 64 }),
    );
    expect(() => confine(root, path, "entries.0.pack")).toThrow(/^entries\.0\.pack: /);
  });

  it.each([
    ["to a file outside", "../../outside/secret"],
    ["to a directory outside, absolute", "/etc"],
    ["to something outside that is not there yet", "../../outside/not-yet"],
    ["in a circle", "link"],
  ])("refuses a link %s", (_, target) => {
    symlinkSync(target, join(root, "packs", "link"));
    expect(() => confine(root, "packs/link", "pack")).toThrow(/^pack: "packs\/link"/);
  });

  it("refuses a directory link on the way, with the rest not there yet", () => {
    symlinkSync(outside, join(root, "runs"));
    expect(() => confine(root, "runs/new/deep.json", "runs")).toThrow(/leads out of the station/);
  });

  it("resolves `..` in a link's target as the kernel does, after the links before it", () => {
    // packs/far -> OUTSIDE/sub; packs/link -> far/../secret: that is OUTSIDE/secret, not packs/secret.
    mkdirSync(join(outside, "sub"));
    symlinkSync(join(outside, "sub"), join(root, "packs", "far"));
    symlinkSync("far/../secret", join(root, "packs", "link"));
    expect(() => confine(root, "packs/link", "pack")).toThrow(join(outside, "secret"));
  });
});
