import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isAlive, processIdentity } from "../../../src/core/process-table.ts";
import { LineStream } from "../../../src/probes/line-stream.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitFor } from "../../helpers/wait.ts";

function stream(script: string) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const helper = new LineStream({
    name: "helper",
    file: "sh",
    args: ["-c", script],
    clock,
    onLine: (line) => lines.push(line),
  });
  onTestFinished(() => helper.close());
  return { clock, lines, helper };
}

it("hands over whole lines, however they arrive", async () => {
  const { lines, helper } = stream("printf 'one\\ntw'; sleep 0.1; printf 'o\\nrest'");
  await helper.ended;
  expect(lines).toEqual(["one", "two"]);
});

it("has a fault until the first line, and again when silent for too long", async () => {
  const { clock, helper } = stream("read wait; echo 1; exec sleep 60");
  expect(helper.fault(1000)).toBe("helper has printed nothing yet");
  helper.close();

  const second = stream("echo 1; exec sleep 60");
  await second.helper.spoke;
  expect(second.helper.fault(5000)).toBeNull();
  second.clock.advance(5000);
  expect(second.helper.fault(5000)).toBeNull();
  second.clock.advance(1500);
  expect(second.helper.fault(5000)).toBe("helper has been silent for 7 s");
  expect(clock.monotonic_ms()).toBe(0);
});

it("starts a helper again ten seconds after it ended", async () => {
  const count = join(tempDir(), "count");
  const { clock, lines, helper } = stream(`echo x >> ${count}; echo up; echo why >&2; exit 3`);
  await helper.ended;
  expect(helper.fault(5000)).toBe("helper ended (exit 3): why");
  clock.advance(9999);
  helper.fault(5000);
  clock.advance(1);
  expect(helper.fault(5000)).toContain("exit 3");
  await waitFor("the second start", () => lines.length === 2);
  expect(readFileSync(count, "utf8")).toBe("x\nx\n");
});

it("tries no program twice that cannot be started", async () => {
  const clock = new FakeClock();
  const helper = new LineStream({
    name: "helper",
    file: join(tempDir(), "not-there"),
    args: [],
    clock,
    onLine: () => {},
  });
  await helper.ended;
  expect(helper.fault(5000)).toBe("helper could not be started");
  clock.advance(60_000);
  expect(helper.fault(5000)).toBe("helper could not be started");
  expect(helper.fault(5000)).toBe("helper could not be started");
  helper.close();
});

it("ends its helper when it is closed, also one that cannot be signalled", async () => {
  // A helper of root's is out of reach of our signals; one that ignores them stands for it.
  const { lines, helper } = stream("trap '' TERM; while echo $$; do sleep 0.05; done");
  await helper.spoke;
  const identity = processIdentity(Number(lines[0]));
  if (identity === undefined) throw new Error("the helper is not there");
  helper.close();
  await helper.ended;
  expect(isAlive(identity)).toBe(false);
});
