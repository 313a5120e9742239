import { generateKeyPairSync } from "node:crypto";
import { chmodSync, readFileSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deviceKey, evidenceText, ownPublicKey } from "../../../src/evidence/index.ts";
import {
  checkEvidence,
  evidenceKey,
  freshness,
  readPublicKey,
} from "../../../src/evidence/light.ts";
import { sampleEvidence } from "../../helpers/sample-evidence.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function sample() {
  const state_dir = tempDir();
  const evidence = sampleEvidence(state_dir);
  return { state_dir, evidence, text: evidenceText(evidence), device: deviceKey(state_dir) };
}

describe("checkEvidence", () => {
  it("believes what this device signed", () => {
    const { text, device, evidence } = sample();
    const checked = checkEvidence(text, [device]);
    expect(checked).toMatchObject({ ok: true, fault: null });
    expect(checked.evidence?.verdict.recommended).toBe(evidence.verdict.recommended);
  });

  it("refuses a text with any one byte edited, added or left out", () => {
    const { text, device } = sample();
    const at = fc.nat({ max: text.length - 1 });
    const character = fc.constantFrom(...Array.from(' 0123456789abcdefABZ+/="{}[],:.-\n'));
    fc.assert(
      fc.property(at, character, fc.constantFrom(0, 1), (index, other, cut) => {
        fc.pre(cut === 0 || text[index] !== other);
        const edited = text.slice(0, index) + other + text.slice(index + cut);
        return !checkEvidence(edited, [device]).ok;
      }),
      { numRuns: 400 },
    );
    for (const edited of [`${text}\n`, text.trimEnd(), ` ${text}`, text.replace(",", ", ")]) {
      expect(checkEvidence(edited, [device]).fault).toMatch(/canonical form/);
    }
  });

  it("refuses a signature that is spelled otherwise", () => {
    const { text, evidence, device } = sample();
    const { signature } = evidence;
    const blank = text.replace(signature, `${signature.slice(0, 9)} ${signature.slice(9)}`);
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // The last letter carries four bits that decoding drops.
    const last = letters[letters.indexOf(signature.at(-3) ?? "") ^ 1] ?? "";
    const bits = text.replace(signature, `${signature.slice(0, -3)}${last}==`);
    for (const edited of [blank, bits]) {
      expect(edited).not.toBe(text);
      expect(checkEvidence(edited, [device]).fault).toMatch(/signature does not fit/);
    }
  });

  it("refuses another device's evidence unless its key is given", () => {
    const [mine, theirs] = [sample(), sample()];
    const refused = checkEvidence(theirs.text, [mine.device]);
    expect(refused.fault).toBe(
      `it is of device ${theirs.device.name}, whose key is not among those that are accepted`,
    );
    const pinned = readPublicKey(theirs.device.public_pem);
    expect(checkEvidence(theirs.text, [mine.device, pinned]).ok).toBe(true);
  });

  it("refuses what another device signed in this one's name", () => {
    const [mine, theirs] = [sample(), sample()];
    const claimed = { ...mine.evidence, signature: theirs.evidence.signature };
    const { fault } = checkEvidence(evidenceText(claimed), [mine.device, theirs.device]);
    expect(fault).toMatch(/signature does not fit/);
  });

  it.each([
    ["", /not a JSON document/],
    ["[]", /not a JSON document/],
    ['{"schema":"other/1"}', /schema is not touchstoned/],
    [`{"schema":"touchstoned/slot-evidence/1"}\n`, /key is not the hash/],
    ["x".repeat(65_536), /64 KiB or more/],
  ])("says what is wrong with %.20j", (text, fault) => {
    expect(checkEvidence(text, []).fault).toMatch(fault);
  });

  it("loads neither zod nor yaml nor git", () => {
    const sources = new Set<string>();
    const visit = (path: string): void => {
      if (sources.has(path)) return;
      sources.add(path);
      const text = readFileSync(path, "utf8");
      for (const [, type, from = ""] of text.matchAll(
        /^(?:import|export)( type)? [^;]*?from "([^"]+)";/gms,
      )) {
        if (type !== undefined) continue;
        expect(["zod", "yaml", "simple-git", "execa"], `${path} imports ${from}`).not.toContain(
          from,
        );
        if (from.startsWith(".")) visit(join(path, "..", from));
      }
    };
    visit(join(import.meta.dirname, "../../../src/evidence/light.ts"));
    expect(sources.size).toBeGreaterThan(3);
  });
});

describe("evidenceKey", () => {
  const { identity } = { identity: { device_key: "a", kv_type: "f16", accelerators: null } };

  it("does not depend on the order of names", () => {
    const turned = { accelerators: null, kv_type: "f16", device_key: "a" };
    expect(evidenceKey(turned)).toBe(evidenceKey(identity));
  });

  it.each([{ kv_type: "q8_0" }, { kv_type: null }, { accelerators: [] }, { device_key: "b" }])(
    "is another one with %j: unknown is not none",
    (change) => {
      expect(evidenceKey({ ...identity, ...change })).not.toBe(evidenceKey(identity));
    },
  );
});

describe("freshness", () => {
  const evidence = {
    oldest_measured: "2026-01-10T08:00:00.000Z",
    created: "2026-01-10T10:00:00.000Z",
  };
  const at = (iso: string, dates = evidence) => freshness(dates, Date.parse(iso), 30);

  it.each([
    ["2026-01-10T10:00:00Z", true],
    ["2026-02-09T08:00:00Z", true],
    ["2026-02-09T08:00:01Z", false],
    ["2026-02-09T09:59:59Z", false],
  ])("at %s: %s, counted from the oldest step", (now, fresh) => {
    expect(at(now).fresh).toBe(fresh);
  });

  it("says how old it is", () => {
    expect(at("2026-02-20T08:00:00Z").reason).toBe(
      "its oldest measurement is 41 days old; 30 is the limit",
    );
  });

  it("takes a date in the future as stale, but for a clock that is a little behind", () => {
    expect(at("2026-01-10T09:59:30Z").fresh).toBe(true);
    expect(at("2026-01-10T09:00:00Z").reason).toMatch(/dated in the future/);
    expect(at("2025-01-01T00:00:00Z").reason).toMatch(/dated in the future/);
  });

  it("takes dates that cannot be read as stale", () => {
    expect(at("2026-01-11T00:00:00Z", { ...evidence, oldest_measured: "soon" })).toEqual({
      fresh: false,
      age_days: null,
      reason: "its dates cannot be read",
    });
  });
});

describe("the device's key", () => {
  it("is made once, for the owner's eyes only", () => {
    const state_dir = join(tempDir(), "state");
    expect(ownPublicKey(state_dir)).toBeUndefined();
    const first = deviceKey(state_dir);
    expect(statSync(join(state_dir, "device.key")).mode & 0o777).toBe(0o600);
    expect(statSync(state_dir).mode & 0o777).toBe(0o700);
    expect(deviceKey(state_dir).fingerprint).toBe(first.fingerprint);
    expect(ownPublicKey(state_dir)?.fingerprint).toBe(first.fingerprint);
    expect(readPublicKey(first.public_pem).fingerprint).toBe(first.fingerprint);
  });

  it("is refused where others may read it, with what to do", () => {
    const state_dir = tempDir();
    deviceKey(state_dir);
    chmodSync(join(state_dir, "device.key"), 0o640);
    expect(() => deviceKey(state_dir)).toThrow(/others may read .* \(mode 640\)/);
  });

  it("is refused where it is none, and never replaced", () => {
    const state_dir = tempDir();
    const path = join(state_dir, "device.key");
    const rsa = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
    for (const text of ["nonsense", rsa.export({ type: "pkcs8", format: "pem" }).toString()]) {
      writeFileSync(path, text, { mode: 0o600 });
      expect(() => deviceKey(state_dir)).toThrow(/not an Ed25519 private key/);
      expect(readFileSync(path, "utf8")).toBe(text);
    }
  });

  it("is not read through a link", () => {
    const [state_dir, elsewhere] = [tempDir(), tempDir()];
    deviceKey(elsewhere);
    symlinkSync(join(elsewhere, "device.key"), join(state_dir, "device.key"));
    expect(() => deviceKey(state_dir)).toThrow(/ELOOP/);
    unlinkSync(join(state_dir, "device.key"));
    expect(deviceKey(state_dir).fingerprint).not.toBe(deviceKey(elsewhere).fingerprint);
  });
});
