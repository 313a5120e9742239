import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runForAnswer } from "../../../src/core/tool.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const PROGRAM = new URL("../../../src/core/program.ts", import.meta.url).href;

test("a process becomes itself once more: same number, same arguments, another environment", async () => {
  const path = join(tempDir(), "twice.ts");
  writeFileSync(
    path,
    `import { startAnew } from ${JSON.stringify(PROGRAM)};
     const { ROUND = "first", HOME } = process.env;
     console.log([ROUND, process.pid, process.argv.slice(2).join(), HOME !== undefined].join(" "));
     if (ROUND === "first") startAnew({ ROUND: "second", NOTHING: undefined });`,
  );
  const result = await runForAnswer(process.execPath, [path, "a", "b"], { cwd: tempDir() });
  const [first, second] = result.answer.trim().split("\n");
  const pid = first?.split(" ")[1] ?? "";
  expect([result.exit_code, first, second]).toEqual([
    0,
    `first ${pid} a,b true`,
    `second ${pid} a,b false`,
  ]);
});

test("a program that cannot be started has no answer and no exit code", async () => {
  const result = await runForAnswer("no-such-program", [], { cwd: tempDir() });
  expect(result).toEqual({
    exit_code: null,
    answer: "",
    complaints: "spawn no-such-program ENOENT",
  });
});
