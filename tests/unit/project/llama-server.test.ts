import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { cacheFolder, findLlamaServer, presentServer } from "../../../scripts/llama-server.ts";
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

/** A project whose real script meets an apt that says what it is told to. */
function projectWithApt(apt: { update: string; show?: string }): string {
  const [root, bin] = [tempDir(), tempDir()];
  mkdirSync(join(root, "scripts"));
  for (const name of ["get-llama-server.sh", "own-apt.sh"]) {
    const script = fileURLToPath(new URL(`../../../scripts/${name}`, import.meta.url));
    copyFileSync(script, join(root, "scripts", name));
  }
  program(join(bin, "dpkg"), "echo amd64");
  program(join(bin, "dpkg-deb"), "exit 0");
  program(join(bin, "apt-cache"), apt.show ?? "exit 0");
  program(
    join(bin, "apt-get"),
    `case "$*" in
      indextargets*) echo "Debian|http://mirror.example/debian/" ;;
      *update*) ${apt.update} ;;
      *) exit 0 ;;
    esac`,
  );
  vi.stubEnv("TOUCHSTONED_TEST_LLAMA_SERVER", undefined);
  vi.stubEnv("PATH", `${bin}:/usr/bin:/bin`);
  return root;
}

describe("fetching it", () => {
  const uri = "http://mirror.example/debian/dists/forky/InRelease ";

  it.each([
    `W: Failed to fetch ${uri} Could not resolve 'mirror.example'`,
    `W: Failed to fetch ${uri} Could not connect to 127.0.0.1:9 (111: Connection refused)`,
    `E: Failed to fetch ${uri} 503  Service Unavailable [IP: 203.0.113.80 80]`,
  ])("says that the mirror does not answer: %s", (said) => {
    const found = findLlamaServer(projectWithApt({ update: `echo "${said}" >&2; exit 100` }));
    expect(found).toMatchObject({ path: null, mirror_silent: true });
    expect(found.reason).toContain("Failed to fetch");
  });

  it("has no such excuse where the mirror answers that the suite is gone", () => {
    const said = `E: The repository '${uri}' does not have a Release file.`;
    const found = findLlamaServer(projectWithApt({ update: `echo "${said}" >&2; exit 100` }));
    expect(found).toMatchObject({ path: null, mirror_silent: false });
    expect(found.reason).toContain("THE SUITE forky IS GONE");
  });

  it("nor where the suite has no such package any more", () => {
    const found = findLlamaServer(projectWithApt({ update: "exit 0", show: "exit 100" }));
    expect(found).toMatchObject({ path: null, mirror_silent: false });
    expect(found.reason).toContain("THE PACKAGE llama.cpp-tools IS GONE");
  });
});
