import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inputError } from "../../../src/core/errors.ts";
import { jobLimitsSchema } from "../../../src/core/job-settings.ts";
import { sha256Hex } from "../../../src/core/json.ts";
import { modelSpecSchema } from "../../../src/core/model-spec.ts";
import { parseQueueFile, queueFileSchema, type QueueContext } from "../../../src/queue/index.ts";
import { nearestKey } from "../../../src/core/yaml.ts";
import { z } from "zod";
import { queueContext } from "./context.ts";

const parse = (text: string, change: Partial<QueueContext> = {}) =>
  parseQueueFile(text, "night.yaml", queueContext(change));

/** A config whose URL is that of the runner "other". */
const otherByConfig: QueueContext["look"] = (kind, path) => ({
  ok: true,
  sha256: path,
  runner: kind === "config" ? "other" : null,
});

const allTheSame: QueueContext["look"] = () => ({ ok: true, sha256: "same" });

const entry = (more = ""): string => `entries:
  - model: m
    pack: p.yaml
    runner: local
${more}`;

/** Messages of everything that is wrong. */
function faults(text: string, change: Partial<QueueContext> = {}): string {
  try {
    parse(text, change);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "";
}

describe("what a queue file means", () => {
  test("an entry gets every default", () => {
    const [one] = parse(entry()).entries;
    expect(one).toMatchObject({
      index: 0,
      id: null,
      runner: "local",
      model: { id: "m", quant: "", max_tokens_default: 400, extra_body: {} },
      config: null,
      judge_config: null,
      judge_model: null,
      reset_command: null,
      settle: { timeout_s: 120, plateau_polls: 3, poll_interval_s: 2, epsilon_mb: 200 },
      step_timeout_s: { eval: 14_400, judge: 21_600 },
      idle_timeout_s: { eval: 1800, judge: 1800 },
      cooldown_s: 0,
      priority: 100,
      not_before: null,
      max_attempts: 5,
      after: [],
    });
  });

  test("blocks are merged key by key: built-in, policy, file, entry", () => {
    const text = `defaults: {settle: {epsilon_mb: 50, plateau_polls: 4}, cooldown_s: 9}
${entry("    settle: {plateau_polls: 5}\n")}`;
    const policy_defaults = { settle: { timeout_s: 60, epsilon_mb: 70 }, cooldown_s: 1 };
    const [one] = parse(text, { policy_defaults }).entries;
    expect(one?.settle).toEqual({
      timeout_s: 60,
      plateau_polls: 5,
      poll_interval_s: 2,
      epsilon_mb: 50,
    });
    expect(one?.cooldown_s).toBe(9);
  });

  test("an empty reset command in an entry switches the file's off", () => {
    const text = `defaults: {reset_command: "lms unload --all"}
entries:
  - {model: a, pack: p, runner: local}
  - {model: b, pack: p, runner: local, reset_command: ""}`;
    expect(parse(text).entries.map((one) => one.reset_command)).toEqual([
      ["lms", "unload", "--all"],
      [],
    ]);
  });

  test("JSON is read as well, and schema_version may be written", () => {
    const text =
      '{"schema_version":1,"entries":[{"model":{"id":"m"},"pack":"p","runner":"local"}]}';
    expect(parse(text).entries).toHaveLength(1);
  });

  test("the runner: entry, then the command line, then defaults, then the config's URL", () => {
    const text = (own: string, file: string) =>
      `defaults: {${file}}\nentries: [{model: m, pack: p, config: c, ${own}}]`;
    const runner = (own: string, file: string, change: Partial<QueueContext> = {}) =>
      parse(text(own, file), { look: otherByConfig, ...change }).entries[0]?.runner;
    expect(runner("runner: local", "runner: other", { runner_override: "other" })).toBe("local");
    expect(runner("", "runner: other", { runner_override: "local" })).toBe("local");
    expect(runner("", "runner: local")).toBe("local");
    expect(runner("", "")).toBe("other");
  });

  test("the only runner of the machine need not be named", () => {
    const text = "entries: [{model: m, pack: p}]";
    expect(parse(text, { runner_names: ["solo"] }).entries[0]?.runner).toBe("solo");
    expect(faults(text)).toContain("names no runner");
    expect(faults(text)).toContain("Declared runners: local, other.");
  });

  test("a tightened limit lowers the built-in default and refuses what is written above it", () => {
    const limits = jobLimitsSchema.parse({ step_timeout_s: { eval: 600 } });
    expect(parse(entry(), { limits }).entries[0]?.step_timeout_s.eval).toBe(600);
    expect(faults(entry("    step_timeout_s: {eval: 601}\n"), { limits })).toMatch(
      /night\.yaml:5:\d+: entries\.0\.step_timeout_s\.eval: 601 s is above the limit of 600 s/,
    );
  });

  test("the same model with thinking on and off is two models", () => {
    const text = `entries:
  - {runner: local, pack: p, model: {id: m, extra_body: {think: true}}}
  - {runner: local, pack: p, model: {id: m, extra_body: {think: false}}}`;
    const [a, b] = parse(text).entries;
    expect(a?.key).not.toBe(b?.key);
  });
});

describe("a model disk file", () => {
  const text = `entries:
  - {runner: local, pack: p, model: {file: models/m.json}}
  - {runner: other, pack: p, model: {file: models/m.json}}`;
  const spec = modelSpecSchema.parse({ id: "tiny:latest", quant: "f16" });
  const looking = (memoryMb: (runner: string) => number, sha256 = sha256Hex("m")) =>
    queueContext({
      look: (kind, path) => ({
        ok: true,
        sha256: kind === "model" ? sha256 : sha256Hex(path),
        ...(kind === "model" ? { model: { spec, memoryMb } } : {}),
      }),
    });

  test("gives the model its name and the job its memory, as each runner serves it", () => {
    const context = looking((runner) => (runner === "local" ? 900 : 1700));
    const { entries } = parseQueueFile(text, "night.yaml", context);
    expect(entries.map(({ model }) => model)).toEqual([spec, spec]);
    expect(entries.map(({ memory_mb }) => memory_mb)).toEqual([900, 1700]);
  });

  test("makes another job where the file is another one", () => {
    const key = (sha256: string) =>
      parseQueueFile(
        text,
        "night.yaml",
        looking(() => 1, sha256),
      ).entries[0]?.key;
    expect(key("a")).toBe(key("a"));
    expect(key("a")).not.toBe(key("b"));
  });

  test("is refused at its place where it is wrong, or its size cannot be told", () => {
    const gone = queueContext({ look: () => ({ ok: false, message: "m.json: no such file" }) });
    expect(() => parseQueueFile(text, "night.yaml", gone)).toThrow(
      /night\.yaml:2:\d+: entries\.0\.model\.file: m\.json: no such file/,
    );
    const odd = looking(() => {
      throw inputError('unknown quantization "q9"', "Known: f16.");
    });
    expect(() => parseQueueFile(text, "night.yaml", odd)).toThrow(
      /:2:\d+: entries\.0\.model\.file: unknown quantization "q9"\. Known: f16/,
    );
  });

  test("is not needed for a memory that nobody knows", () => {
    const plain = "entries:\n  - {runner: local, pack: p, model: m}";
    expect(parseQueueFile(plain, "f", queueContext()).entries[0]?.memory_mb).toBeNull();
  });
});

describe("what is refused, with line and column", () => {
  const cases: [name: string, text: string, expected: RegExp][] = [
    ["an unknown key", entry("    prioritty: 3\n"), /night\.yaml:5:5: .*"prioritty".*"priority"/],
    ["an unknown key below", entry("    settle: {epsilonmb: 3}\n"), /:5:\d+: .*"epsilon_mb"/],
    [
      "an unknown key of a model",
      "entries:\n  - {runner: local, pack: p, model: {id: m, qant: x}}",
      /:2:\d+: .*"quant"/,
    ],
    ["no entries", "entries: []", /night\.yaml:1:\d+: entries: must have at least one entry/],
    ["no model", "entries:\n  - pack: p", /:2:\d+: entries\.0\.model/],
    ["no pack", "entries:\n  - {model: m, runner: local}", /entries\.0\.pack/],
    [
      "an unknown runner",
      entry().replace("local", "locel"),
      /:4:\d+: .*no runner "locel".*Did you mean "local"/,
    ],
    [
      "a command that is not allowed",
      entry('    reset_command: "rm -rf x"\n'),
      /:5:\d+: .*"rm -rf x" is not on the list.*lms unload --all/,
    ],
    [
      "a command with more words",
      entry('    reset_command: "ollama stop a b"\n'),
      /not on the list/,
    ],
    [
      "an option in place of a model",
      entry('    reset_command: "ollama stop --all"\n'),
      /not on the list/,
    ],
    ["an open quote", entry("    reset_command: 'lms \"unload'\n"), /:5:\d+: .*never closed/],
    ["a bad time", entry("    not_before: tomorrow\n"), /:5:\d+: .*RFC 3339/],
    ["a fraction as priority", entry("    priority: 1.5\n"), /:5:\d+: entries\.0\.priority/],
    ["an unknown id", entry("    after: [x]\n"), /:5:\d+: .*no entry of this file has the id "x"/],
    ["judge_model alone", entry("    judge_model: j\n"), /judge_model without judge_config/],
    ["no mapping at all", "- a\n- b", /night\.yaml:1:1/],
    ["another schema version", `schema_version: 2\n${entry()}`, /:1:\d+: schema_version/],
  ];
  test.each(cases)("%s", (_name, text, expected) => {
    expect(faults(text)).toMatch(expected);
  });

  test("two equal entries, naming both", () => {
    const text = `entries:
  - {model: m, pack: ./p, runner: local}
  - {model: x, pack: p, runner: local}
  - {model: {id: m, quant: ""}, pack: p, runner: local, priority: 3}`;
    expect(faults(text, { look: allTheSame })).toMatch(
      /:4:\d+: .*entry 2 is the same as entry 0 \(line 2\)/,
    );
  });

  test("a cycle, by name", () => {
    const text = `entries:
  - {model: a, pack: p, runner: local, id: a, after: [c]}
  - {model: b, pack: p, runner: local, id: b, after: [a]}
  - {model: c, pack: p, runner: local, id: c, after: [b]}`;
    expect(faults(text)).toContain("these wait for one another: a -> c -> b -> a");
  });

  test("an id near a known one, and an id twice", () => {
    const text = `entries:
  - {model: a, pack: p, runner: local, id: small}
  - {model: b, pack: p, runner: local, id: small, after: [smal]}`;
    expect(faults(text)).toContain('id "small" is already the id of entry 0');
    expect(faults(text)).toContain('Did you mean "small"?');
  });

  test("everything that is wrong at once, a broken file among it", () => {
    const text = `entries:
  - {model: m, pack: bad.yaml, runner: nobody}
  - {model: m, pack: bad.yaml, runner: local, cooldown_s: 1}`;
    let looks = 0;
    const look: QueueContext["look"] = () => {
      looks += 1;
      return { ok: false, message: "bad.yaml:7:1: unknown key" };
    };
    const lines = faults(text, { look }).split("\n");
    expect(lines.filter((line) => line.includes("bad.yaml:7:1"))).toHaveLength(2);
    expect(lines.some((line) => line.includes('no runner "nobody"'))).toBe(true);
    expect(looks).toBe(1);
  });
});

describe("properties", () => {
  const key = fc.constantFrom("timeout_s", "plateau_polls", "poll_interval_s", "epsilon_mb");
  const layer = fc.dictionary(key, fc.integer({ min: 2, max: 500 }));

  test("each key has the value of the highest layer that says it", () => {
    fc.assert(
      fc.property(layer, layer, layer, (policy, file, own) => {
        const text = JSON.stringify({
          defaults: { settle: file },
          entries: [{ model: "m", pack: "p", runner: "local", settle: own }],
        });
        const settle: Record<string, number> = {
          timeout_s: 120,
          plateau_polls: 3,
          poll_interval_s: 2,
          epsilon_mb: 200,
          ...policy,
          ...file,
          ...own,
        };
        const parsed = parse(text, { policy_defaults: { settle: policy } });
        expect(parsed.entries[0]?.settle).toEqual(settle);
      }),
    );
  });

  test("a file is refused as a duplicate exactly when two of its entries say the same", () => {
    const one = fc.record({
      model: fc.constantFrom("a", "b", "c"),
      pack: fc.constantFrom("p", "q"),
      priority: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 5 }), (entries) => {
        const said = faults(
          JSON.stringify({ entries: entries.map((e) => ({ ...e, runner: "local" })) }),
        );
        const distinct = new Set(entries.map(({ model, pack }) => `${model} ${pack}`)).size;
        expect(said.includes("is the same as entry")).toBe(distinct < entries.length);
      }),
    );
  });

  test("no text makes the parser throw anything but a known error", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.string({ unit: "binary" })), (text) => {
        let thrown: unknown = null;
        try {
          parse(text);
        } catch (error) {
          thrown = error;
        }
        expect([null, 64]).toContain(
          thrown === null ? null : Reflect.get(Object(thrown), "exitCode"),
        );
      }),
      { numRuns: 300 },
    );
  });
});

test("an editor schema can be made of it that knows every key", () => {
  const schema = z.toJSONSchema(queueFileSchema, { io: "input", unrepresentable: "any" });
  const text = JSON.stringify(schema);
  for (const known of ["not_before", "reset_command", "epsilon_mb", "judge_model", "after"]) {
    expect(text).toContain(`"${known}"`);
  }
  expect(nearestKey("not_befor", ["not_before"])).toBe("not_before");
});
