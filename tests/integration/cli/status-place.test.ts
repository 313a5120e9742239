import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { command } from "../../helpers/command.ts";
import { recordImports } from "../../helpers/import-recorder.ts";
import { testStation } from "../../helpers/station.ts";

/** A home with a record of a service of cron's, as `install` leaves it. */
function installed() {
  const { home, root, env } = testStation({ policy: "" });
  const data = join(home, "data");
  const state_dir = join(home, "state-of-it");
  for (const path of [join(data, "touchstoned"), state_dir, join(home, "elsewhere")]) {
    mkdirSync(path, { recursive: true });
  }
  const record = { schema_version: 1, manager: "cron", station: root, state_dir };
  writeFileSync(join(data, "touchstoned/service.json"), JSON.stringify(record));
  const cwd = join(home, "elsewhere");
  return { home, root, state_dir, cwd, env: { ...env, XDG_DATA_HOME: data } };
}

it("status outside of a station is of the one that the installed service runs", async () => {
  const { home, root, state_dir, cwd, env } = installed();
  const { variables, urls } = recordImports(home);
  const ended = await command(["status", "--json"], { cwd, env: { ...env, ...variables } });
  expect(ended.exit_code).toBe(0);
  expect(JSON.parse(ended.stdout)).toMatchObject({ root, state_dir });
  expect(urls().join("\n")).not.toMatch(/node_modules\/(?:zod|yaml|execa)\//);
  const text = await command(["status"], { cwd, env });
  expect(text.stdout).toContain(`station: ${root} (of the installed service)`);
});

it("status of a station that is named wrongly stays an error", async () => {
  const { cwd, env } = installed();
  const ended = await command(["status", "--station", cwd], { cwd, env });
  expect(ended.exit_code).toBe(78);
  const none = await command(["status"], { cwd, env: { ...env, XDG_DATA_HOME: join(cwd, "x") } });
  expect(none.exit_code).toBe(78);
});
