import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { command } from "../../helpers/command.ts";
import { testStation } from "../../helpers/station.ts";

const RECORDER = `
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    appendFileSync(process.env.IMPORTS, found.url + "\\n");
    return found;
  },
});
`;

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
  const [recorder, imports] = [join(home, "recorder.mjs"), join(home, "imports")];
  writeFileSync(recorder, RECORDER);
  const NODE_OPTIONS = `--import=${pathToFileURL(recorder).href}`;
  const recorded = { ...env, IMPORTS: imports, NODE_OPTIONS };
  const ended = await command(["status", "--json"], { cwd, env: recorded });
  expect(ended.exit_code).toBe(0);
  expect(JSON.parse(ended.stdout)).toMatchObject({ root, state_dir });
  expect(readFileSync(imports, "utf8")).not.toMatch(/node_modules\/(?:zod|yaml|execa)\//);
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
