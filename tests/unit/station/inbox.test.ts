import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkConfig, requireInbox } from "../../../src/station/index.ts";
import { testStation } from "../../helpers/station.ts";

test("an inbox that is a link is named, with what to do", async () => {
  const { home, root, env } = testStation({ policy: "schema_version: 1\n", machine: "" });
  expect(() => requireInbox(root)).not.toThrow();
  mkdirSync(join(home, "elsewhere"));
  symlinkSync(join(home, "elsewhere"), join(root, "inbox"));
  expect(() => requireInbox(root)).toThrow(`${join(root, "inbox")} is a symbolic link`);
  const { faults } = await checkConfig({ env, cwd: root });
  expect(faults).toMatchObject([
    {
      file: join(root, "inbox"),
      message: "is a symbolic link",
      hint: expect.stringContaining("links"),
    },
  ]);
});
