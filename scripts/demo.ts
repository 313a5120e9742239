// `npm run demo`: the program at work, from nothing, in a temporary folder of its own.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { parseArgs, styleText } from "node:util";
import {
  fillStation,
  madeTargets,
  makePlace,
  writeMachineFile,
  type DemoPlace,
} from "./demo/place.ts";
import { embeddedInstalled } from "../src/runners/index.ts";
import { declaredTargets } from "./demo/declared.ts";
import { bundleLines, findRun } from "./demo/report.ts";
import { presentServer } from "./llama-server.ts";

const HELP = `npm run demo [-- OPTIONS]

  --runner NAME   attach to a runner of your machine.yaml instead of starting one
  --model ID      with --runner: the model to ask for [the first one that the runner serves]
  --embedded      use the embedded runner, also where a llama-server is found
  --clean         remove the temporary folder at the end
  --json          print where everything is as JSON, the rest goes to stderr
`;

const root = join(import.meta.dirname, "..");
const main = join(root, "src", "cli", "main.ts");
const begun = performance.now();

const { values: options } = parseArgs({
  options: {
    runner: { type: "string" },
    model: { type: "string" },
    embedded: { type: "boolean" },
    clean: { type: "boolean" },
    json: { type: "boolean" },
    help: { type: "boolean" },
  },
});

function heading(text: string): void {
  process.stderr.write(`\n${styleText("bold", text, { stream: process.stderr })}\n`);
}

function say(text: string): void {
  process.stderr.write(`  ${text}\n`);
}

/** Shows a command as a person would type it, and runs the real program. */
function touchstoned(place: Pick<DemoPlace, "env">, args: readonly string[], cwd: string): number {
  say(styleText("cyan", `$ touchstoned ${args.join(" ")}`, { stream: process.stderr }));
  const run = spawnSync(process.execPath, [main, ...args], {
    cwd,
    env: { ...process.env, ...place.env },
    // What the program answers belongs to the report; stdout is for --json.
    stdio: ["ignore", 2, 2],
  });
  return run.status ?? 1;
}

/** Which runner to use, and what it has to be told. */
async function chooseRunner(place: DemoPlace) {
  if (options.runner !== undefined) {
    const declared = await declaredTargets(options.runner, options.model);
    say(`your runner ${options.runner}, model ${declared.targets[0].model}`);
    return declared;
  }
  const server = options.embedded === true ? undefined : presentServer(root);
  if (server !== undefined) {
    say(`llama-server: ${server.path} (${server.version})`);
    return { ...madeTargets(place, "llama-server", server.path), model_dirs: [] };
  }
  say("no llama-server in PATH: using the embedded runner (25 MB to download, once)");
  installEmbedded(place);
  return { ...madeTargets(place, "embedded", null), model_dirs: [] };
}

/** Installs the embedded runner where every station of this user finds it, the demo's included. */
function installEmbedded(place: DemoPlace): void {
  const started = performance.now();
  if (touchstoned({ env: {} }, ["runner", "install", "embedded"], place.folder) !== 0) {
    process.exit(69);
  }
  say(`the embedded runner is ready after ${seconds(started)} s`);
  const installed = embeddedInstalled(process.env);
  if (installed === null) throw new Error("the embedded runner was installed, but is not there");
  const link = join(place.folder, "state", "touchstoned", "embedded");
  mkdirSync(link, { recursive: true });
  symlinkSync(installed, join(link, basename(installed)));
}

function seconds(since_ms: number): string {
  return ((performance.now() - since_ms) / 1000).toFixed(1);
}

/** What the run left behind, in words, and as JSON on stdout where that is asked for. */
function report(place: DemoPlace, status: number): void {
  const run = findRun(place);
  if (run === undefined) {
    say(`no run was begun (exit status ${status}); everything lies in ${place.folder}`);
    return;
  }
  const { entries } = run.summary;
  heading("4. What came of it");
  say(run.headline);
  for (const entry of entries) {
    const bundle = join(run.folder, entry.bundle_dir);
    say("");
    say(styleText("bold", `${entry.model_id}: ${entry.status}`, { stream: process.stderr }));
    for (const line of bundleLines(bundle, entry)) say(line);
  }
  heading("5. Where everything is");
  const places = {
    summary: join(run.folder, "summary.md"),
    bundles: entries.map((entry) => join(run.folder, entry.bundle_dir)),
    queue_file: join(place.station, "tonight.yaml"),
    machine_file: place.machine_file,
    folder: place.folder,
  };
  say(`${place.folder}${options.clean === true ? " (removed now)" : ""}, and in it:`);
  const shown = [
    ["summary", places.summary],
    ...places.bundles.map((bundle) => ["scorecard", join(bundle, "scorecard.md")]),
    ["queue file", places.queue_file],
    ["machine", places.machine_file],
  ];
  for (const [what = "", path = ""] of shown) {
    say(`${what.padEnd(12)}${relative(place.folder, path)}`);
  }
  heading("6. Next");
  say("npx touchstoned init ~/bench     a station of your own; then declare your runner in the");
  say("                                 machine.yaml that it names, and see docs/night-run.md");
  say("npx touchstoned --help           everything else");
  if (options.clean !== true) say(`rm -r ${place.folder}     when you have seen enough`);
  say(`(demo: ${seconds(begun)} s)`);
  if (options.json === true) {
    console.log(JSON.stringify({ exit_status: status, ...places, entries }, null, 2));
  }
}

/** Makes the demo's world, runs the night in it, tells what came of it; its exit status. */
async function demo(): Promise<number> {
  const place = makePlace();
  heading("1. A runner and two models");
  const { targets, runners, model_dirs } = await chooseRunner(place);
  writeMachineFile(place, runners, model_dirs);
  if (options.runner === undefined) {
    say("two made models with random weights: they load and answer like any other, but they talk");
    say("nonsense, so the scores mean nothing. Everything else here is the real thing.");
  }

  heading("2. A station of its own, in a temporary folder");
  const init = touchstoned(place, ["init", place.station], place.folder);
  if (init !== 0) return init;
  const judge = options.runner === undefined ? "made-judge.yaml" : "judge.yaml";
  const queueFile = fillStation(place, targets, judge);

  heading("3. A night of two entries, the second one with a judge");
  for (const line of readFileSync(queueFile, "utf8").trimEnd().split("\n")) {
    if (!line.startsWith("#")) say(styleText("dim", line, { stream: process.stderr }));
  }
  const status = touchstoned(place, ["queue", "run", "tonight.yaml"], place.station);
  report(place, status);
  if (options.clean === true) rmSync(place.folder, { recursive: true, force: true });
  return status;
}

if (options.help === true) {
  process.stdout.write(HELP);
} else {
  process.exitCode = await demo();
}
