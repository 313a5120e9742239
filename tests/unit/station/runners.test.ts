import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { machineSchema, resolveRunner, type MachineSettings } from "../../../src/station/index.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function machine(...runners: object[]): MachineSettings {
  return machineSchema.parse({ runners });
}

const ollama = { name: "ollama", kind: "ollama", url: "http://127.0.0.1:11434/" };

function withKey(content: string, mode = 0o600): { settings: MachineSettings; home: string } {
  const home = tempDir();
  const api_key_file = join(home, "key");
  writeFileSync(api_key_file, content);
  chmodSync(api_key_file, mode);
  return {
    home,
    settings: machine({ name: "far", kind: "openai", url: "https://h", api_key_file }),
  };
}

describe("resolveRunner", () => {
  it("takes the only one where no name is given", () => {
    expect(resolveRunner(machine(ollama), undefined)).toEqual({
      name: "ollama",
      kind: "ollama",
      url: "http://127.0.0.1:11434",
      api_key: null,
      start: null,
      declared_slots: null,
    });
  });

  it("fills in how to start a runner of our own", () => {
    const start = { model_file: "/m.gguf" };
    const both = machine(
      { name: "a", kind: "llama-server", start },
      { name: "b", kind: "embedded", start, declared_slots: 2 },
    );
    expect(resolveRunner(both, "a").start).toEqual({
      binary: "llama-server",
      model_file: "/m.gguf",
      args: [],
      context_length: 4096,
      slots: 1,
    });
    expect(resolveRunner(both, "b")).toMatchObject({ url: null, declared_slots: 2 });
    expect(resolveRunner(both, "b").start?.binary).toBeNull();
  });

  it("names the known ones where none or the wrong one is named", () => {
    const two = machine(ollama, { ...ollama, name: "other" });
    const unknown = { code: "runner_unknown", exitCode: 64 };
    expect(() => resolveRunner(two, undefined)).toThrow(
      expect.objectContaining({ ...unknown, hint: "machine.yaml declares: ollama, other." }),
    );
    expect(() => resolveRunner(two, "olama")).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('Did you mean "ollama"?') }),
    );
    expect(() => resolveRunner(machine(), undefined)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("declares no runner") }),
    );
  });

  it("reads the key, without what an editor adds", () => {
    const { settings, home } = withKey("sk-123\n");
    expect(resolveRunner(settings, "far", home).api_key).toBe("sk-123");
  });

  it.each([
    ["two lines", "sk-123\nX-Evil: 1\n", 0o600, "one key in one line"],
    ["nothing", "\n", 0o600, "one key in one line"],
    ["too much", "k".repeat(9000), 0o600, "over 8192 bytes"],
    ["what everyone may write", "sk-123", 0o606, "chmod go-w"],
    ["what everyone may read", "sk-123", 0o604, "chmod o-rwx"],
  ])("refuses a key file with %s, and does not quote it", (_, content, mode, message) => {
    const { settings, home } = withKey(content, mode);
    expect(() => resolveRunner(settings, "far", home)).toThrow(message);
    expect(() => resolveRunner(settings, "far", home)).not.toThrow("sk-123");
  });
});
