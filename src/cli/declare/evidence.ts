import type { Command } from "commander";
import type { Act, Declare } from "../program.ts";
import { group } from "./group.ts";

function finish(command: Command, help: string): Command {
  return command
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .addHelpText("after", `\n${help}`);
}

function declareLooks(evidence: Command, act: Act): void {
  finish(
    evidence
      .command("list")
      .description("what was measured: device, model, slots, and whether it still counts")
      .option("--all", "also what newer evidence has superseded")
      .option("--json", "everything as JSON")
      .action(act(() => import("../commands/evidence-list.ts"))),
    `Works in any clone; what this device has not committed yet is listed, too.

Examples:
  touchstoned evidence list
  touchstoned evidence list --all --json | jq '.evidence[] | [.model, .recommended, .fresh]'`,
  );
  finish(
    evidence
      .command("show")
      .description("one piece of evidence as the page that is committed beside it")
      .argument("[what]", "path, beginning of a key, or model (default: the newest of this device)")
      .option("--json", "the document itself")
      .action(act(() => import("../commands/evidence-show.ts"))),
    `Examples:
  touchstoned evidence show
  touchstoned evidence show gpt-oss:20b
  touchstoned evidence show 3f9a1c22 --json | jq .verdict`,
  );
  finish(
    evidence
      .command("diff")
      .description("what two pieces of evidence say differently, and what was different")
      .argument("<before>", "path, beginning of a key, or model")
      .argument("[after]", "the same (default: the newest of this device)")
      .option("--json", "the comparison as JSON")
      .action(act(() => import("../commands/evidence-diff.ts"))),
    `Examples:
  touchstoned evidence diff 3f9a1c22
  touchstoned evidence diff 3f9a1c22 77e01b4d --json | jq .identity`,
  );
}

function declareVerify(evidence: Command, act: Act): void {
  finish(
    evidence
      .command("verify")
      .description("check form, every byte, signature, and that the number follows from the blocks")
      .argument("[paths...]", "files or directories (default: all of this clone or station)")
      .option("--key <file...>", "accept this device's public key, too")
      .option("--json", "one verdict a file as JSON")
      .action(act(() => import("../commands/evidence-verify.ts"))),
    `Offline and from a plain clone: no station, no state, no runner is needed. Keys that count are those in
evidence/devices/ beside the files, this device's own, and those given with --key.
Exit codes: 0 everything holds, 1 at least one fault, 64 there is no such path.

Examples:
  touchstoned evidence verify
  touchstoned evidence verify evidence/4be0a2c91f7d3355/gpt-oss-20b
  touchstoned evidence verify copy.json --key evidence/devices/4be0a2c91f7d3355.pub`,
  );
}

function declareChanges(evidence: Command, act: Act): void {
  finish(
    evidence
      .command("commit")
      .description("commit what waits: evidence that could not be committed when it was measured")
      .option("--json", "what was committed and what waits, as JSON")
      .action(act(() => import("../commands/evidence-commit.ts"))),
    `Only evidence is committed, and never in your way: nothing of yours is staged, changed or moved. Where it goes
is said by evidence.commit in touchstoned.yaml: branch (the current one), ref (a branch of its own), off.
Exit codes: 0 nothing waits any more, 75 something still waits; the reason is given.

Examples:
  touchstoned evidence commit
  touchstoned evidence commit --json | jq '.waiting, .reason'`,
  );
  finish(
    evidence
      .command("prune")
      .description(
        "remove stale evidence and old requests from the state, older files if asked for",
      )
      .option(
        "--files <keep>",
        "also this device's files in the work tree, but for the newest KEEP of a model",
      )
      .option("--dry-run", "only say what would be removed")
      .option("--json", "what was removed as JSON")
      .action(act(() => import("../commands/evidence-prune.ts"))),
    `Nothing is committed, and what git has stays in its history.

Examples:
  touchstoned evidence prune --dry-run
  touchstoned evidence prune --files 3 && git add -A evidence`,
  );
}

export const declareEvidence: Declare = (program, act) => {
  const evidence = group(program, "evidence", "what was measured on which device, signed, in git");
  declareLooks(evidence, act);
  declareVerify(evidence, act);
  declareChanges(evidence, act);
};
