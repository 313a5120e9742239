import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { cacheFolder, mirrorIsSilent, presentServer } from "../../../scripts/llama-server.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function program(path: string, text: string): string {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

describe("finding a llama-server", () => {
  it("takes the named one, then the one in PATH, then the fetched one", () => {
    const root = tempDir();
    const bin = tempDir();
    vi.stubEnv("TOUCHSTONED_TEST_LLAMA_SERVER", undefined);
    vi.stubEnv("PATH", bin);
    expect(presentServer(root)).toBeUndefined();

    mkdirSync(cacheFolder(root), { recursive: true });
    const fetched = program(join(cacheFolder(root), "llama-server"), "echo version: 1 >&2");
    expect(presentServer(root)).toEqual({ path: fetched, version: "version: 1" });

    const installed = program(join(bin, "llama-server"), "echo version: 2 >&2");
    expect(presentServer(root)?.path).toBe(installed);

    const named = program(join(root, "mine"), "echo version: 3");
    vi.stubEnv("TOUCHSTONED_TEST_LLAMA_SERVER", named);
    expect(presentServer(root)).toEqual({ path: named, version: "version: 3" });
  });

  it("passes over one that does not run", () => {
    const root = tempDir();
    vi.stubEnv("PATH", "");
    vi.stubEnv("TOUCHSTONED_TEST_LLAMA_SERVER", program(join(root, "broken"), "exit 127"));
    expect(presentServer(root)).toBeUndefined();
  });
});

describe("a mirror that does not answer", () => {
  const uri = "http://deb.debian.org/debian/dists/forky/InRelease ";

  it.each([
    `W: Failed to fetch ${uri} Could not resolve 'deb.debian.org'`,
    `W: Failed to fetch ${uri} Could not connect to 127.0.0.1:9 (127.0.0.1). - connect (111: Connection refused)`,
    `E: Failed to fetch ${uri} 503  Service Unavailable [IP: 203.0.113.80 80]`,
  ])("is told from what apt-get says: %s", (said) => {
    const rest =
      "W: Some index files failed to download.\nE: Unable to locate package llama.cpp-tools";
    expect(mirrorIsSilent(`${said}\n${rest}`)).toBe(true);
  });

  it.each([
    "E: Unable to locate package llama.cpp-tools",
    `E: Failed to fetch ${uri} 404  Not Found [IP: 203.0.113.80 80]`,
    "no Debian mirror is configured (run apt-get update once)",
  ])("is not the excuse where it did answer: %s", (said) => {
    expect(mirrorIsSilent(said)).toBe(false);
  });
});
