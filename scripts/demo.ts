// `npm run demo`: the program at work, from nothing, in a temporary folder of its own.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { parseArgs, styleText } from "node:util";
import {
  fillStation,
  madeTargets,
  MIN_AGE_S,
  makePlace,
  writeMachineFile,
  type DemoPlace,
} from "./demo/place.ts";
import { embeddedInstalled } from "../src/runners/index.ts";
import { startDaemon, type FileEnd } from "./demo/daemon.ts";
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

function dim(text: string): void {
  say(styleText("dim", text, { stream: process.stderr }));
}

function command(args: readonly string[]): void {
  say(styleText("cyan", `$ touchstoned ${args.join(" ")}`, { stream: process.stderr }));
}

/** Shows a command as a person would type it, and runs the real program. */
function touchstoned(place: Pick<DemoPlace, "env">, args: readonly string[], cwd: string): number {
  command(args);
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

/** How the night went: the demo's exit status, and where the queue file is now. */
interface Night {
  status: number;
  end: FileEnd | null;
  file: string | null;
}

/** Drops the queue file into the inbox and lets the daemon run it, as on any other night. */
async function night(place: DemoPlace, queueFile: string): Promise<Night> {
  heading("3. A file is dropped into the inbox: two entries, the second one with a judge");
  for (const line of readFileSync(queueFile, "utf8").trimEnd().split("\n")) {
    if (!line.startsWith("#")) dim(line);
  }
  const name = basename(queueFile);
  const submitted = touchstoned(place, ["queue", "submit", name], place.station);
  if (submitted !== 0) return { status: submitted, end: null, file: null };

  heading("4. The daemon takes it up and runs it");
  say(
    `(inbox.min_age_seconds is ${MIN_AGE_S} in this station's touchstoned.yaml; it is 30 otherwise)`,
  );
  command(["daemon"]);
  let looked = false;
  const daemon = startDaemon({
    main,
    station: place.station,
    env: { ...process.env, ...place.env },
    onLine: (line) => {
      dim(`| ${line}`);
      // Once, in the middle of the work: what a person sees who looks in.
      if (!looked && line.trim() === "eval") touchstoned(place, ["status"], place.station);
      looked ||= line.trim() === "eval";
    },
  });
  const ended = await daemon.fileEnded(name);
  if (ended !== null) say(`the file is in inbox/${ended.end}/ now: SIGTERM to the daemon`);
  const exit = await daemon.stop();
  say(`the daemon ended with exit status ${exit}`);
  if (ended === null) return { status: exit === 0 ? 1 : exit, end: null, file: null };
  const sound = touchstoned(place, ["fsck"], place.station);
  const good = ended.end === "done" && exit === 0 && sound === 0;
  return { status: good ? 0 : 1, end: ended.end, file: ended.path };
}

/** What the run left behind, in words, and as JSON on stdout where that is asked for. */
function report(place: DemoPlace, { status, end, file }: Night): void {
  const run = findRun(place);
  if (run === undefined) {
    say(`no run was begun (exit status ${status}); everything lies in ${place.folder}`);
    return;
  }
  const { entries } = run.summary;
  heading("5. What came of it");
  say(run.headline);
  for (const entry of entries) {
    const bundle = join(run.folder, entry.bundle_dir);
    say("");
    say(styleText("bold", `${entry.model_id}: ${entry.status}`, { stream: process.stderr }));
    for (const line of bundleLines(bundle, entry)) say(line);
  }
  heading("6. Where everything is");
  const places = {
    summary: join(run.folder, "summary.md"),
    bundles: entries.map((entry) => join(run.folder, entry.bundle_dir)),
    queue_file: file ?? join(place.station, "inbox", "tonight.yaml"),
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
  heading("7. Next");
  say("npx touchstoned init ~/bench     a station of your own; then declare your runner in the");
  say("                                 machine.yaml that it names, and see");
  say("                                 docs/inbox-and-daemon.md and docs/night-run.md");
  say("npx touchstoned --help           everything else");
  if (options.clean !== true) say(`rm -r ${place.folder}     when you have seen enough`);
  say(`(demo: ${seconds(begun)} s)`);
  if (options.json === true) {
    const json = { exit_status: status, end, ...places, entries };
    console.log(JSON.stringify(json, null, 2));
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
  const went = await night(place, fillStation(place, targets, judge));
  report(place, went);
  if (options.clean === true) rmSync(place.folder, { recursive: true, force: true });
  return went.status;
}

if (options.help === true) {
  process.stdout.write(HELP);
} else {
  process.exitCode = await demo();
}
