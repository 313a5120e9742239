import { defineConfig, type OxlintOverride } from "oxlint";

/** The composition root and the command line may enter everything below them. */
const BELOW_DAEMON = [
  "core",
  "station",
  "queue",
  "models",
  "probes",
  "runners",
  "eval",
  "steps",
  "store",
  "intake",
  "verdict",
  "calibrate",
  "evidence",
] as const;

/**
 * Which rooms a room may enter (ARCHITECTURE.md has the same table in words). A room that is not
 * named here may be entered by nobody. `core` is a toolbox and is entered by file; every other room
 * is entered by its `index.ts` alone, or by its `light.ts` or `fast.ts` where a command must start
 * fast, or by its `resident.ts` from what stays in memory for weeks.
 */
const MAY_ENTER: Record<string, readonly string[]> = {
  core: [],
  station: ["core"],
  queue: ["core"],
  store: ["core", "queue"],
  intake: ["core", "station", "queue"],
  models: ["core"],
  probes: ["core"],
  runners: ["core", "models"],
  verdict: ["core"],
  eval: ["core", "runners", "probes", "models", "station"],
  calibrate: ["core", "runners", "probes", "models", "verdict", "station"],
  evidence: ["core", "station", "verdict", "models"],
  steps: ["core", "station", "queue", "eval", "runners", "probes", "models"],
  daemon: [...BELOW_DAEMON],
  cli: [...BELOW_DAEMON, "daemon"],
};

/** Each library has one home, so that replacing it is a change in one room. */
const LIBRARY_HOME: Record<string, readonly string[]> = {
  execa: ["core"],
  yaml: ["core"],
  pino: ["core"],
  canonicalize: ["core"],
  croner: ["core"],
  ulid: ["core"],
  leven: ["core"],
  "markdown-table": ["core"],
  "csv-stringify": ["eval"],
  ajv: ["eval"],
  "eventsource-parser": ["runners"],
  systeminformation: ["probes"],
  commander: ["cli"],
  "simple-git": ["evidence"],
  chokidar: ["intake"],
  "node:sqlite": ["store"],
  "@huggingface/gguf": ["models"],
};

const rooms = Object.keys(MAY_ENTER);

const roomRules = rooms.map((room): OxlintOverride => {
  const allowed = MAY_ENTER[room] ?? [];
  const patterns: { group: string[]; message: string }[] = [];
  for (const other of rooms) {
    if (other === room) continue;
    // Two spellings of "another room": from src/<room>/x.ts and from src/<room>/deeper/x.ts.
    const inside = [`../${other}/**`, `../../${other}/**`];
    if (!allowed.includes(other)) {
      patterns.push({ group: inside, message: `${room} may not import ${other}` });
    } else if (other !== "core") {
      patterns.push({
        group: [
          ...inside,
          ...["index", "light", "fast", "resident"].flatMap((door) => [
            `!../${other}/${door}.ts`,
            `!../../${other}/${door}.ts`,
          ]),
        ],
        message: `enter ${other} by ${other}/index.ts (or light.ts, fast.ts and resident.ts, which load no schema library)`,
      });
    }
  }
  const paths = Object.entries(LIBRARY_HOME)
    .filter(([, homes]) => !homes.includes(room))
    .map(([name, homes]) => ({ name, message: `${name} lives in ${homes.join(", ")}` }));
  if (!["core"].includes(room)) {
    paths.push({ name: "node:child_process", message: "processes are started by core/process.ts" });
  }
  return {
    files: [`src/${room}/**/*.ts`],
    rules: { "no-restricted-imports": ["error", { paths, patterns }] },
  };
});

export default defineConfig({
  plugins: ["typescript", "import", "unicorn", "oxc", "promise", "vitest"],
  categories: { correctness: "error", suspicious: "error", perf: "error" },
  options: { typeAware: true },
  rules: {
    "no-console": "error",
    eqeqeq: ["error", "always", { null: "ignore" }],
    "import/no-cycle": "error",
    "import/no-default-export": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/consistent-type-imports": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/switch-exhaustiveness-check": [
      "error",
      { considerDefaultExhaustiveForUnions: true },
    ],
    "max-lines": ["error", { max: 400 }],
    "max-lines-per-function": ["error", { max: 80, skipBlankLines: false, skipComments: false }],
    "unicorn/prefer-node-protocol": "error",
    // The work of this program is done strictly in order: one request, one step, one job at a time.
    "no-await-in-loop": "off",
    "no-underscore-dangle": "off",
    // Threads are posted to, never windows: there is no origin to name.
    "unicorn/require-post-message-target-origin": "off",
    "unicorn/no-array-sort": "off",
    "unicorn/no-array-reverse": "off",
    "import/no-named-as-default": "off",
    "import/no-named-as-default-member": "off",
    "typescript/no-unsafe-type-assertion": "off",
  },
  overrides: [
    ...roomRules,
    {
      files: ["tests/**/*.ts", "scripts/**", "bench/**/*.ts"],
      rules: {
        "max-lines-per-function": "off",
        "no-console": "off",
        // Suites that are run on several things have their assertions in functions of their own.
        "vitest/no-standalone-expect": "off",
        "vitest/valid-expect": ["error", { maxArgs: 2 }],
        // A test's small helpers stand beside their one use.
        "unicorn/consistent-function-scoping": "off",
      },
    },
    { files: ["*.config.ts"], rules: { "import/no-default-export": "off" } },
  ],
  ignorePatterns: ["dist/**", "node_modules/**", ".cache/**", "tests/fixtures/**"],
});
