import type { Command } from "commander";
import type { QueueChangeOptions } from "../commands/queue-change.ts";
import type { Act, Declare } from "../program.ts";

const STATION = "the station (default: the nearest touchstoned.yaml)";

function withExamples(command: Command, text: string): Command {
  return command.option("--station <dir>", STATION).addHelpText("after", `\n${text}`);
}

export const declareQueue: Declare = (program, act) => {
  const queue = program
    .command("queue")
    .description("files and jobs: which models to measure, on what, one after the other")
    .addHelpText(
      "after",
      `
A queue file has entries, and each becomes a job. With a daemon: submit, then list and show. Without
one: check, then run. Jobs are named by the last letters of their ids.

Examples:
  touchstoned queue check night.yaml && touchstoned queue submit night.yaml
  touchstoned queue list
  touchstoned queue run night.yaml`,
    );
  queue
    .command("run")
    .description("run a queue file in the foreground, under the model lock")
    .argument("[file]", "queue file (YAML or JSON); may be left out with --resume")
    .option("--resume <dir>", "go on with an earlier run: what is finished is not run again")
    .option("--lock-wait <seconds>", "wait so long for the model lock (default: do not wait)")
    .option("--runner <name>", "runner of the entries that name none themselves")
    .option("--strict-cache", "refuse a model disk file whose model was changed since")
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .option("--json", "the summary as JSON on standard output")
    .addHelpText(
      "after",
      `
Each entry: reset, settle, load, eval, and judge where one is asked for. Ctrl-C ends the running step
and says how to resume; once more ends at once.
Exit codes: 0 all entries ok, 1 any other, 64 something in the file is wrong, 75 the model lock is
held.

Examples:
  touchstoned queue run inbox/examples/night.yaml
  touchstoned queue run night.yaml --runner local --lock-wait 600
  touchstoned queue run --resume RUN_DIRECTORY
  touchstoned queue run night.yaml --json | jq '.entries[] | [.model_id, .status]'`,
    )
    .action(act(() => import("../commands/queue-run.ts")));
  queue
    .command("check")
    .description("prove the chain before a night: each model resets, loads, speaks and unloads")
    .argument("<file>", "queue file (YAML or JSON)")
    .option("--lock-wait <seconds>", "wait so long for the model lock (default: do not wait)")
    .option("--runner <name>", "runner of the entries that name none themselves")
    .option("--strict-cache", "refuse a model disk file whose model was changed since")
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .option("--json", "the report as JSON on standard output")
    .addHelpText(
      "after",
      `
Exit codes: 0 every model can be measured, 1 at least one cannot, 64 something in the file is wrong,
75 the model lock is held.

Example:
  touchstoned queue check night.yaml && touchstoned queue run night.yaml`,
    )
    .action(act(() => import("../commands/queue-check.ts")));
  declareLooks(queue, act);
  declareChanges(queue, act);
};

function declareLooks(queue: Command, act: Act): void {
  const submit = queue
    .command("submit")
    .description("check queue files and drop them into the inbox, whole or not at all")
    .argument("<files...>", "queue files (YAML or JSON)")
    .option("--rename", "where the name is taken, add a number instead of refusing")
    .option("--force", "drop it although it has errors: it will be rejected, with the reason")
    .option("--json", "where they are and when they are taken up, as JSON")
    .action(act(() => import("../commands/queue-submit.ts")));
  withExamples(
    submit,
    `A file that would be rejected is refused (exit 64), with what is wrong in it.

Examples:
  touchstoned queue submit night.yaml
  touchstoned queue submit --rename nightly/*.yaml`,
  );
  const list = queue
    .command("list")
    .description("jobs that have not ended, in the order in which they will run")
    .option("--all", "those that have ended, too")
    .option("--state <state>", "only those in this state (pending, in_progress, failed ...)")
    .option("--limit <jobs>", "show at most so many (default: 200)")
    .option("--json", "the jobs as JSON")
    .action(act(() => import("../commands/queue-list.ts")));
  withExamples(
    list,
    `Examples:
  touchstoned queue list
  touchstoned queue list --all --json | jq '.[] | [.id, .state]'`,
  );
  const show = queue
    .command("show")
    .description("one job: what it is, what happened to it, its steps")
    .argument("<id>", "id of a job, or its last letters")
    .option("--json", "everything as JSON")
    .action(act(() => import("../commands/queue-show.ts")));
  withExamples(show, "Example:\n  touchstoned queue show 7Q2M");
}

function declareChanges(queue: Command, act: Act): void {
  const changes = [
    ["cancel", "take jobs out of the queue; one that runs is ended"],
    ["retry", "run failed jobs again, with their attempts and priority as at first"],
    ["hold", "let jobs wait, or without IDS the whole queue; what runs goes on"],
    ["release", "end a hold of jobs, or without IDS of the queue"],
  ] as const;
  for (const [change, description] of changes) {
    const command = queue
      .command(change)
      .description(description)
      .argument("[ids...]", "ids of jobs, or their last letters (at least four)")
      .option("--file <name>", "instead: all jobs of this queue file")
      .option("--json", "what was changed as JSON")
      .action((...args: unknown[]) =>
        act<QueueChangeOptions>(async () => {
          const { run } = await import("../commands/queue-change.ts");
          return { run: (options, context) => run({ ...options, change }, context) };
        })(...args),
      );
    withExamples(
      command,
      `Examples:
  touchstoned queue ${change} 7Q2M
  touchstoned queue ${change} --file night.yaml`,
    );
  }
  const drain = queue
    .command("drain")
    .description("let the running job end, claim no more until `queue release`")
    .option("--no-wait", "do not wait for the running job")
    .option("--json", "the outcome as JSON")
    .action(act(() => import("../commands/queue-drain.ts")));
  withExamples(
    drain,
    `The daemon goes on running and taking up files. Exit 75: stopped by Ctrl-C before the job had ended.

Example:
  touchstoned queue drain && sudo reboot`,
  );
  const rebuild = queue
    .command("rebuild")
    .description("make a new store from the inbox and the runs; the old one is kept aside")
    .option("--json", "the outcome as JSON")
    .action(act(() => import("../commands/queue-rebuild.ts")));
  withExamples(
    rebuild,
    `No daemon may run meanwhile. What has valid results is COMPLETE, the rest waits with its first priority.

Example:
  touchstoned queue rebuild && touchstoned fsck`,
  );
}
