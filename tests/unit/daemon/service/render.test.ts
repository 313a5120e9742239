import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "plist";
import { describe, expect, it } from "vitest";
import { renderDefinition, renderLauncher } from "../../../../src/daemon/service/render.ts";
import { MANAGER_KINDS, type ManagerKind } from "../../../../src/daemon/service/types.ts";
import { onlyIf } from "../../../helpers/only-if.ts";
import { projectText } from "../../../helpers/project-files.ts";
import { sampleSetup } from "../../../helpers/service-setup.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";

const GOLDEN = fileURLToPath(new URL("../../../fixtures/service/golden", import.meta.url));

const FILES: Record<ManagerKind, string> = {
  "systemd-user": "touchstoned.user.service",
  "systemd-system": "touchstoned.system.service",
  "launchd-agent": "agent.plist",
  "launchd-daemon": "daemon.plist",
  cron: "crontab",
};

/** With TOUCHSTONED_WRITE_GOLDEN set, what is rendered becomes what is expected: look at the diff. */
function golden(name: string, text: string): string {
  const path = join(GOLDEN, name);
  if (process.env["TOUCHSTONED_WRITE_GOLDEN"] !== undefined) writeFileSync(path, text);
  return readFileSync(path, "utf8");
}

describe("what is written", () => {
  it.each(MANAGER_KINDS)("%s is the golden file, letter by letter", (kind) => {
    const text = renderDefinition(sampleSetup(kind));
    expect(text).toBe(golden(FILES[kind], text));
    expect(text).not.toMatch(/@[A-Z_]+@/);
  });

  it.each(MANAGER_KINDS)("%s with odd paths is the golden file", (kind) => {
    const text = renderDefinition(sampleSetup(kind, { odd: true }));
    expect(text).toBe(golden(`odd.${FILES[kind]}`, text));
  });

  it("says the launcher, plain and with odd paths", () => {
    const [plain, odd] = [sampleSetup("systemd-user"), sampleSetup("launchd-agent", { odd: true })];
    expect(renderLauncher(plain)).toBe(golden("launch", renderLauncher(plain)));
    expect(renderLauncher(odd)).toBe(golden("odd.launch", renderLauncher(odd)));
  });

  it("does without readiness where nobody can tell it", () => {
    const text = renderDefinition({ ...sampleSetup("systemd-user"), notify: false });
    expect(text).toBe(golden("touchstoned.exec.service", text));
    expect(text).toContain("Type=exec");
    expect(text).not.toMatch(/^(?:WatchdogSec|NotifyAccess)=/m);
  });
});

/** Keys of a unit file, or of the top of a plist. */
function keysOf(text: string): string[] {
  const unit = [...text.matchAll(/^([A-Z][A-Za-z]+)=/gm)].map(([, key = ""]) => key);
  const list = [...text.matchAll(/<key>(\w+)<\/key>/g)].map(([, key = ""]) => key);
  return [...new Set([...unit, ...list])];
}

describe("every key", () => {
  const documented = projectText("docs/install.md");

  it.each([
    "systemd/touchstoned.user.service",
    "systemd/touchstoned.system.service",
    "systemd/readiness-notify.conf",
    "systemd/readiness-exec.conf",
    "launchd/agent.plist",
    "launchd/daemon.plist",
  ])("of %s has its reason beside it, or in docs/install.md", (name) => {
    const lines = projectText(`installers/${name}`).split("\n");
    const without = keysOf(lines.join("\n")).filter((key) => {
      const at = lines.findIndex((line) => line.includes(`${key}=`) || line.includes(`>${key}<`));
      // A comment above it, with nothing but other keys and their values between.
      const above = lines.slice(0, at).reverse();
      const comment = above.findIndex((line) => line.startsWith("#") || line.includes("<!--"));
      const gap = above.findIndex((line) => line.trim() === "" || line.startsWith("["));
      const explained = comment >= 0 && (gap < 0 || comment < gap);
      return !explained && !documented.includes(`\`${key}`);
    });
    expect(without).toEqual([]);
  });

  it("is none that jobs would inherit", () => {
    const texts = MANAGER_KINDS.map((kind) => renderDefinition(sampleSetup(kind)));
    const keys = texts.flatMap((text) => keysOf(text));
    const inherited =
      /^(?:Nice|LowPriority|IOScheduling|CPU|IOWeight|MemoryMax|MemoryHigh|Private|Protect|NoNewPrivileges|Restrict|SystemCall|UMask|Umask)/;
    expect(keys.filter((key) => inherited.test(key))).toEqual([]);
    expect(renderDefinition(sampleSetup("launchd-agent"))).toMatch(
      /<key>ProcessType<\/key>\s*<string>Interactive<\/string>/,
    );
  });
});

/** systemd's own verdict on a unit; "" where it has nothing to say. */
function verify(kind: "systemd-user" | "systemd-system", text: string): string {
  const dir = tempDir();
  const path = join(dir, "touchstoned.service");
  writeFileSync(path, text);
  const own = kind === "systemd-user" ? ["--user"] : [];
  const run = spawnSync("systemd-analyze", ["verify", ...own, path], {
    encoding: "utf8",
    env: { ...process.env, XDG_RUNTIME_DIR: dir },
  });
  return `${run.stderr}${run.status === 0 ? "" : `exit ${run.status ?? run.signal}`}`;
}

/** A setup whose user is there: systemd looks. */
function verified(kind: ManagerKind, odd: boolean) {
  const setup = sampleSetup(kind, { odd });
  return {
    ...setup,
    record: { ...setup.record, account: { ...setup.record.account, user: "root" } },
  };
}

describe("systemd-analyze verify (Linux)", () => {
  const there = existsSync("/usr/bin/systemd-analyze");
  const cases = onlyIf(there).flatMap(() =>
    (["systemd-user", "systemd-system"] as const).flatMap((kind) => [
      [kind, false] as const,
      [kind, true] as const,
    ]),
  );

  it.each(cases)("has nothing to say of %s (odd paths: %s)", (kind, odd) => {
    expect(verify(kind, renderDefinition(verified(kind, odd)))).toBe("");
  });

  it.each(onlyIf(there))("has, where a key is misspelt", () => {
    const text = renderDefinition(verified("systemd-user", false));
    expect(verify("systemd-user", text.replace("KillMode=", "KilMode="))).toContain("KilMode");
  });
});

describe("a plist library", () => {
  it.each(["launchd-agent", "launchd-daemon"] as const)(
    "reads %s, odd paths as they are",
    (kind) => {
      const setup = sampleSetup(kind, { odd: true });
      const value = parse(renderDefinition(setup)) as Record<string, unknown>;
      expect(value).toMatchObject({
        Label: "dev.touchstoned.daemon",
        RunAtLoad: true,
        KeepAlive: { SuccessfulExit: false },
        ProcessType: "Interactive",
        AbandonProcessGroup: true,
        StandardErrorPath: setup.record.crash_log,
      });
      expect(value["UserName"]).toBe(kind === "launchd-daemon" ? "alice" : undefined);
      const [shell, launch, ...rest] = value["ProgramArguments"] as string[];
      expect([shell, launch]).toEqual(["/bin/sh", setup.places.launch]);
      expect(rest).toEqual([
        "--launchd",
        "daemon",
        "--station",
        setup.record.station,
        "--stop-within",
        "15",
      ]);
    },
  );

  it("finds no two hyphens inside a comment, which XML forbids", () => {
    for (const kind of ["launchd-agent", "launchd-daemon"] as const) {
      const comments = renderDefinition(sampleSetup(kind)).matchAll(/<!--([\s\S]*?)-->/g);
      for (const [, text = ""] of comments) expect(text).not.toContain("--");
    }
  });
});

describe("the cron block", () => {
  it("is one that a shell reads back, odd paths and all", () => {
    const setup = sampleSetup("cron", { odd: true });
    const line = renderDefinition(setup)
      .split("\n")
      .find((one) => one.startsWith("@reboot "));
    // As cron does it: an escaped percent sign is one, the rest goes to the shell.
    const command = (line ?? "").slice("@reboot ".length).replaceAll("\\%", "%");
    const dir = tempDir();
    mkdirSync(join(dir, "x"));
    const shown = command.replace(/^\/bin\/sh /, "printf '%s\\n' ").replace(/ >>.*$/, "");
    const run = spawnSync("/bin/sh", ["-c", shown], { encoding: "utf8" });
    expect(run.stdout.split("\n").slice(0, 4)).toEqual([
      setup.places.launch,
      "--cron",
      "daemon",
      "--station",
    ]);
    expect(run.stdout).toContain(`\n${setup.record.station}\n`);
  });
});
