import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  compareEvidence,
  comparisonText,
  deviceKey,
  EvidenceBook,
  evidenceText,
  findListed,
  openRequests,
  outboxState,
  pruneEvidence,
  readCatalog,
  recoverBook,
  requestCalibration,
  type Evidence,
} from "../../../src/evidence/index.ts";
import { outboxEntries } from "../../../src/evidence/outbox.ts";
import { requestKey } from "../../../src/evidence/light.ts";
import { SAMPLE_CREATED_MS, sampleEvidence, sampleParts } from "../../helpers/sample-evidence.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const DAY_MS = 86_400_000;

function setting() {
  const [state_dir, root] = [tempDir(), tempDir()];
  const device = deviceKey(state_dir);
  const book = new EvidenceBook(state_dir, device);
  const at = (minutes: number, quantization: string | null = "mxfp4"): Evidence => {
    const parts = sampleParts();
    return sampleEvidence(state_dir, {
      created_ms: SAMPLE_CREATED_MS + minutes * 60_000,
      parts: { ...parts, identity: { ...parts.identity, quantization } },
    });
  };
  const place = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  return { state_dir, root, device, book, at, place };
}

describe("EvidenceBook", () => {
  it("puts evidence into the outbox and answers from it at once", () => {
    const { state_dir, book, at } = setting();
    const evidence = at(0);
    const entry = book.write(evidence);
    expect(entry.path).toMatch(
      /^evidence\/[0-9a-f]{16}\/gpt-oss-20b\/2026-01-10T10-05-00Z-[0-9a-f]{8}$/,
    );
    expect(book.find(evidence.key)?.text).toBe(evidenceText(evidence));
    expect(outboxState(state_dir)).toEqual({ waiting: 1, reason: null, tried_at: null });
    expect(outboxEntries(state_dir).entries[0]).toEqual({ ...entry, previous: null });
  });

  it("keeps the newest of each key, and knows what the number was before", () => {
    const { state_dir, book, at } = setting();
    const [first, second, other] = [at(0), at(5), at(9, "q4_k_m")];
    for (const evidence of [first, second, other]) book.write(evidence);
    expect(
      book
        .all()
        .map(({ evidence }) => evidence.created)
        .toSorted(),
    ).toEqual([second.created, other.created]);
    expect(outboxEntries(state_dir).entries.map(({ previous }) => previous)).toEqual([null, 2, 2]);
  });

  it("takes what was measured last, also where the clock was set back since", () => {
    const { book, at } = setting();
    book.write(at(60 * 24 * 365));
    const later = at(0);
    book.write(later);
    expect(book.find(later.key)?.evidence.created).toBe(later.created);
  });

  it("never overwrites a path: two of one second get two names", () => {
    const { state_dir, book, at } = setting();
    const paths = [book.write(at(0)).path, book.write(at(0)).path, book.write(at(0)).path];
    expect(paths[1]).toBe(`${paths[0]}-2`);
    expect(paths[2]).toBe(`${paths[0]}-3`);
    const waiting = outboxEntries(state_dir).entries.map(({ path }) => path);
    expect(waiting).toEqual(paths);
  });

  it("closes the request that it answers, and no other", () => {
    const { state_dir, book, at } = setting();
    const mine = requestKey("llama-server", "gpt-oss:20b");
    for (const key of [mine, requestKey("ollama", "gpt-oss:20b")]) {
      requestCalibration(state_dir, { key, reason: "never measured" }, SAMPLE_CREATED_MS);
    }
    book.write(at(0));
    expect(openRequests(state_dir).map(({ key }) => key)).toEqual([
      requestKey("ollama", "gpt-oss:20b"),
    ]);
  });

  it("believes no file that was edited in the state", () => {
    const { book, at } = setting();
    const evidence = at(0);
    book.write(evidence);
    const text = readFileSync(book.path(evidence.key), "utf8");
    writeFileSync(book.path(evidence.key), text.replace('"recommended":2', '"recommended":8'));
    expect(book.find(evidence.key)).toBeUndefined();
    expect(book.all()).toEqual([]);
  });

  it("takes up own evidence of the work tree where the state was lost, and nobody else's", () => {
    const { state_dir, root, device, book, at, place } = setting();
    const evidence = at(0);
    const { path } = book.write(evidence);
    const foreign = setting();
    const theirs = foreign.book.write(foreign.at(3));
    place(`${path}.json`, evidenceText(evidence));
    place(`${theirs.path}.json`, evidenceText(theirs.evidence));
    place(`evidence/${device.name}/x/2026-01-10T10-05-00Z-00000000.json`, "{}");
    rmSync(join(state_dir, "evidence"), { recursive: true });
    expect(book.all()).toEqual([]);
    expect(recoverBook(root, state_dir)).toBe(1);
    expect(book.find(evidence.key)?.text).toBe(evidenceText(evidence));
    expect(book.find(theirs.evidence.key)).toBeUndefined();
    expect(book.importFrom(root)).toBe(0);
    // Where there is a book, what was pruned from it does not come back.
    rmSync(book.path(evidence.key));
    expect(recoverBook(root, state_dir)).toBe(0);
    expect(recoverBook(root, tempDir())).toBe(0);
  });
});

describe("the outbox", () => {
  it("names what cannot be read and leaves it there", () => {
    const { state_dir, book, at } = setting();
    const { name } = book.write(at(0));
    const bad = name.replace(/-[0-9a-f]{8}/, "-deadbeef");
    writeFileSync(join(state_dir, "outbox", bad), "{ half");
    const { entries, unreadable } = outboxEntries(state_dir);
    expect(entries).toHaveLength(1);
    expect(unreadable).toEqual([bad]);
    expect(outboxState(state_dir).waiting).toBe(2);
    expect(readdirSync(join(state_dir, "outbox"))).toContain(bad);
  });

  it("is empty where there never was one", () => {
    expect(outboxState(join(tempDir(), "none"))).toEqual({
      waiting: 0,
      reason: null,
      tried_at: null,
    });
  });
});

describe("the catalog", () => {
  it("brings work tree, state and outbox together, each document once", () => {
    const { state_dir, root, book, at, place } = setting();
    const [first, second] = [at(0), at(5)];
    const { path } = book.write(first);
    book.write(second);
    place(`${path}.json`, evidenceText(first));
    const { listed, refused } = readCatalog(root, state_dir);
    expect(refused).toEqual([]);
    expect(listed.map(({ places, newest, own }) => ({ places, newest, own }))).toEqual([
      { places: ["work tree", "outbox"], newest: false, own: true },
      { places: ["outbox", "state"], newest: true, own: true },
    ]);
  });

  it("says of a clone's documents which cannot be believed, and why", () => {
    const { root, book, at, place, device } = setting();
    const { path, evidence } = book.write(at(0));
    place(`${path}.json`, evidenceText(evidence));
    expect(readCatalog(root, null).refused).toEqual([
      { path: `${path}.json`, fault: expect.stringMatching(/key is not among/) },
    ]);
    place(`evidence/devices/${device.name}.pub`, device.public_pem);
    expect(readCatalog(root, null)).toMatchObject({ refused: [], listed: [{ own: false }] });
  });

  it("finds by path, key and model, and the newest of this device by nothing", () => {
    const { state_dir, root, book, at } = setting();
    const [first, other] = [at(0), at(5, "q4_k_m")];
    const { path } = book.write(first);
    book.write(other);
    const catalog = readCatalog(root, state_dir);
    const find = (what?: string) => findListed(catalog, what).evidence.key;
    expect(find()).toBe(other.key);
    expect(find("gpt-oss:20b")).toBe(other.key);
    expect(find(first.key.slice(0, 8))).toBe(first.key);
    expect(find(`./${path}.md`)).toBe(first.key);
    expect(() => find("llama3")).toThrow(/no evidence is called "llama3"/);
    expect(() => findListed({ listed: [], refused: [] }, undefined)).toThrow(/no evidence here/);
  });
});

describe("compareEvidence", () => {
  it("says what changed in the identity, and what it did to the throughput", () => {
    const { at } = setting();
    const [before, after] = [at(0), at(5, "q4_k_m")];
    const comparison = compareEvidence(before, after);
    expect(comparison.identity).toEqual([
      { name: "quantization", before: "mxfp4", after: "q4_k_m" },
    ]);
    expect(comparison).toMatchObject({ conditions: [], method: [], bounds: [] });
    expect(comparison.levels.map(({ slots }) => slots)).toEqual([1, 2, 3, 4]);
    const lines = comparisonText(comparison);
    expect(lines).toContain("recommended: 2 -> 2");
    expect(lines).toContain("  quantization: mxfp4 -> q4_k_m");
    expect(lines).toContain("conditions: the same");
    expect(lines).toContain("  2 slots: 28.3 -> 28.3 tokens/s (+0 %)");
    expect(lines).toContain("  4 slots: - -> - tokens/s");
  });
});

describe("pruneEvidence", () => {
  const options = { max_age_days: 30, keep_files: null, dry_run: false };

  it("takes stale evidence and old requests out of the state, and leaves what waits", () => {
    const { state_dir, root, book, at } = setting();
    const [stale, waiting] = [at(0), at(5, "q4_k_m")];
    const { name } = book.write(stale);
    book.write(waiting);
    rmSync(join(state_dir, "outbox", name)); // it was committed
    requestCalibration(state_dir, { key: "old", reason: "x" }, SAMPLE_CREATED_MS);
    const now_ms = SAMPLE_CREATED_MS + 31 * DAY_MS;
    requestCalibration(state_dir, { key: "young", reason: "x" }, now_ms - DAY_MS);
    const report = { state: [stale.key], requests: ["old"], files: [] };
    const dry = pruneEvidence({ ...options, root, state_dir, now_ms, dry_run: true });
    expect(dry).toEqual(report);
    expect(book.all()).toHaveLength(2);
    expect(pruneEvidence({ ...options, root, state_dir, now_ms })).toEqual(report);
    expect(book.all().map(({ evidence }) => evidence.key)).toEqual([waiting.key]);
    expect(openRequests(state_dir).map(({ key }) => key)).toEqual(["young"]);
  });

  it("takes older files of this device only where that is asked for, never what waits", () => {
    const { state_dir, root, book, at, place } = setting();
    const entries = [at(0), at(5), at(9)].map((evidence) => book.write(evidence));
    for (const { path, evidence } of entries) {
      place(`${path}.json`, evidenceText(evidence));
      place(`${path}.md`, "page");
    }
    const now_ms = SAMPLE_CREATED_MS + DAY_MS;
    const prune = () => pruneEvidence({ ...options, root, state_dir, now_ms, keep_files: 1 }).files;
    expect(prune()).toEqual([]);
    for (const { name } of entries) rmSync(join(state_dir, "outbox", name));
    const gone = entries
      .slice(0, 2)
      .flatMap(({ path }) => [".json", ".md", ".svg"].map((e) => path + e));
    expect(prune()).toEqual(gone);
    expect(readCatalog(root, state_dir).listed).toHaveLength(1);
  });
});
