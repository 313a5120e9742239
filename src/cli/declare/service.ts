import type { Command } from "commander";
import type { Declare } from "../program.ts";

const WHICH = "\nWhich service is meant is clear where one is installed; else name it.";

/** `--user`, `--system` and `--cron` of a command. */
function which(command: Command, of: string): Command {
  return command
    .option("--user", `${of} this user's service manager (systemd, launchd)`)
    .option("--system", `${of} the system's service manager: needs no login, and root to install`)
    .option("--cron", `${of} cron, where there is no such manager`);
}

const declareInstall: Declare = (program, act) => {
  const install = program
    .command("install")
    .description("install the daemon as a service that starts by itself, and start it");
  which(install, "by")
    .option("--station <dir>", "the station that it runs (default: the nearest one, else your own)")
    .option("--run-as <user>", "with --system: whose rights it has (default: who said sudo)")
    .option("--dry-run", "print each file and command, and do nothing")
    .option("--json", "what was done as JSON")
    .addHelpText(
      "after",
      `
Copies this program to a place of its own, writes a launcher that finds Node again after an upgrade, and the
definition of the service. Run it again at any time: what is as it is to be stays. Without an option it is your
own service manager that starts it, or cron where there is none.
Exit codes: 0 installed, 3 refused (root by mistake, another installation), 69 no service manager that can be
used, 78 the station is not fit.

Examples:
  touchstoned install --dry-run
  touchstoned install --station ~/bench
  sudo touchstoned install --system --run-as alice --station /srv/bench`,
    )
    .action(act(() => import("../commands/install.ts")));
};

const declareUninstall: Declare = (program, act) => {
  const uninstall = program
    .command("uninstall")
    .description("stop the service and take it away; your files stay");
  which(uninstall, "the one by")
    .option("--purge", "its state as well: queue, logs, checkpoints, keys; says first what goes")
    .option(
      "--station <dir>",
      "with --purge: this station's state, whether a service is installed or not",
    )
    .option("--runs", "with --purge: the runs, too, which are your results")
    .option("--yes", "with --purge: without asking")
    .option("--dry-run", "print what would go and what would stay, and do nothing")
    .option("--json", "what was done as JSON")
    .addHelpText(
      "after",
      `
The station with its inbox and evidence, machine.yaml and the runs stay, and are named.
Exit codes: 0 it is gone (or was not there), 3 --purge was not confirmed.

Examples:
  touchstoned uninstall
  touchstoned uninstall --purge --dry-run
  touchstoned uninstall --purge --station ~/bench`,
    )
    .action(act(() => import("../commands/uninstall.ts")));
};

const declareControl: Declare = (program, act) => {
  which(program.command("start").description("start the installed service"), "the one by")
    .option("--json", "how it fares, as JSON")
    .addHelpText("after", `${WHICH}\n\nExample:\n  touchstoned start`)
    .action(act(() => import("../commands/start.ts")));
  which(
    program
      .command("stop")
      .description("stop the service; it starts again at the next boot or login"),
    "the one by",
  )
    .option("--now", "end the running step instead of giving it a minute to end by itself")
    .option("--json", "how it fares, as JSON")
    .addHelpText(
      "after",
      `\nThe job that runs is handed back and goes on where it stopped. Under cron it stays stopped until \`touchstoned start\`.${WHICH}\n\nExample:\n  touchstoned stop --now`,
    )
    .action(act(() => import("../commands/stop.ts")));
  which(
    program
      .command("restart")
      .description("start the service anew; a running step goes on where it can"),
    "the one by",
  )
    .option("--json", "how it fares, as JSON")
    .addHelpText("after", `${WHICH}\n\nExample:\n  touchstoned restart`)
    .action(act(() => import("../commands/restart.ts")));
};

const declareLogs: Declare = (program, act) => {
  which(
    program.command("logs").description("what the daemon has written into its log"),
    "the one by",
  )
    .option("-f, --follow", "go on with what comes, until Ctrl-C")
    .option("-n, --lines <count>", "the last so many lines", "50")
    .option("--station <dir>", "of this station's daemon, installed or not")
    .option("--json", "the lines as they are: one JSON object each")
    .addHelpText(
      "after",
      `
Where the installed service does not run, what its manager kept of it follows: the words of the launcher and of a daemon
that could not open its log.${WHICH}

Examples:
  touchstoned logs -f
  touchstoned logs -n 500 --json | jq -r 'select(.level >= 40) | .msg'`,
    )
    .action(act(() => import("../commands/logs.ts")));
};

const declareUpgrade: Declare = (program, act) => {
  which(
    program
      .command("upgrade")
      .description(
        "put this program in the place of the installed one; back again where it does not work",
      ),
    "the one by",
  )
    .option("--dry-run", "print each file and command, and do nothing")
    .option("--json", "what was done as JSON")
    .addHelpText(
      "after",
      `
Run it with the new program: it fetches nothing. It checks the queue first (fsck), copies itself beside the
installed version, restarts the service (a running step goes on) and waits until the new daemon has done a round; else
the old version is put back and started. The two latest versions are kept.${WHICH}

Examples:
  npm install -g ./touchstoned-0.2.0.tgz && touchstoned upgrade
  node ~/src/touchstoned/dist/cli/main.js upgrade --dry-run`,
    )
    .action(act(() => import("../commands/upgrade.ts")));
};

export const declareService: Declare = (program, act) => {
  declareInstall(program, act);
  declareUninstall(program, act);
  declareControl(program, act);
  declareLogs(program, act);
  declareUpgrade(program, act);
};
