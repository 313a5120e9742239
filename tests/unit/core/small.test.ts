import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileTime, isoTime, systemClock } from "../../../src/core/clock.ts";
import {
  EXIT,
  TouchstonedError,
  configError,
  errorMessage,
  inputError,
  systemErrorCode,
  usageError,
} from "../../../src/core/errors.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import { slug } from "../../../src/core/text.ts";
import { markdownCell, table } from "../../../src/core/markdown.ts";
import { packageFile, packageVersion, selfCommand } from "../../../src/core/program.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";

describe("slug", () => {
  it.each([
    ["qwen3:30b-a3b", "qwen3-30b-a3b"],
    ["org/model name", "org-model-name"],
    ["../../etc/passwd", "etc-passwd"],
    ["..", "unnamed"],
    ["", "unnamed"],
    ["Ü", "unnamed"],
    ["a.b_c-d", "a.b_c-d"],
  ])("%s -> %s", (text, expected) => {
    expect(slug(text)).toBe(expected);
  });

  it("is always one safe path segment, and stays what it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const name = slug(text);
        expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$/);
        expect(slug(name)).toBe(name);
      }),
    );
  });
});

describe("ulidSource", () => {
  it("ascends although the wall clock goes back", () => {
    const clock = new FakeClock();
    const next = ulidSource(clock);
    const first = next();
    clock.stepWall(-3_600_000);
    const second = next();
    expect(second > first).toBe(true);
  });
});

describe("times", () => {
  it("are written in UTC and sort as text", () => {
    const epoch_ms = Date.UTC(2026, 10, 29, 13, 40, 35, 7);
    expect(isoTime(epoch_ms)).toBe("2026-11-29T13:40:35.007Z");
    expect(fileTime(epoch_ms)).toBe("2026-11-29T13-40-35Z");
  });

  it("the system's sleep ends at once when it is aborted, without an error", async () => {
    const controller = new AbortController();
    const sleeping = systemClock.sleep(60_000, controller.signal);
    controller.abort();
    await expect(sleeping).resolves.toBeUndefined();
  });
});

describe("errors", () => {
  it("carry code, exit code and hint", () => {
    expect(inputError("queue.yaml:3: no", "do this")).toMatchObject({
      exitCode: EXIT.bad_input,
      code: "bad_input",
      hint: "do this",
    });
    expect(configError("x").exitCode).toBe(EXIT.bad_config);
    expect(usageError("x").exitCode).toBe(EXIT.usage);
    const cause = new Error("why");
    const error = new TouchstonedError({ code: "c", exitCode: EXIT.failed, message: "m", cause });
    expect(error.cause).toBe(cause);
    expect(error.hint).toBeUndefined();
  });

  it("are put in words whatever was thrown", () => {
    expect(errorMessage(new Error("a"))).toBe("a");
    expect(errorMessage("b")).toBe("b");
    expect(systemErrorCode(Object.assign(new Error("x"), { code: "ENOSPC" }))).toBe("ENOSPC");
    expect(systemErrorCode(new Error("x"))).toBeUndefined();
  });
});

describe("markdown", () => {
  it("keeps a hostile name inside its cell", () => {
    expect(markdownCell("a|b\n# c <script> `x`")).toBe("a\\|b # c &lt;script> \\`x\\`");
    expect(markdownCell("a\u001B[2Jb\u0000c")).toBe("a \\[2Jb c");
    expect(markdownCell(null)).toBe("");
    expect(table(["model"], [["m|1"], [3], [undefined]]).split("\n")).toHaveLength(5);
  });
});

describe("program", () => {
  it("knows how to start itself and what it is", () => {
    const [program, main] = selfCommand();
    expect(program).toBe(process.execPath);
    expect(main).toMatch(/src\/cli\/main\.ts$/);
    expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/);
    expect(packageFile("package.json")).toMatch(/package\.json$/);
  });
});
