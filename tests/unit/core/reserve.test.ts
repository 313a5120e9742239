import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keepReserve, withReserve } from "../../../src/core/reserve.ts";
import { diskLow } from "../../../src/daemon/disk-room.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function full(code = "ENOSPC"): Error {
  return Object.assign(new Error(`${code}: no space`), { code });
}

test("on a full disk the reserve is given up, and what must be written is written", () => {
  const dir = tempDir();
  keepReserve(dir);
  expect(statSync(join(dir, "reserve"))).toMatchObject({ size: 1 << 20 });
  expect(statSync(join(dir, "reserve")).mode & 0o777).toBe(0o600);
  let tries = 0;
  const write = (): string => {
    tries += 1;
    if (existsSync(join(dir, "reserve"))) throw full();
    return "written";
  };
  expect([withReserve(dir, write), tries]).toEqual(["written", 2]);
  keepReserve(dir);
  expect(existsSync(join(dir, "reserve"))).toBe(true);
});

test("other trouble costs no reserve, and without one the trouble is told as it is", () => {
  const dir = tempDir();
  const fail = (code: string) => () => {
    throw full(code);
  };
  expect(() => withReserve(dir, fail("ENOSPC"))).toThrow("ENOSPC");
  keepReserve(dir);
  expect(() => withReserve(dir, fail("EACCES"))).toThrow("EACCES");
  expect(existsSync(join(dir, "reserve"))).toBe(true);
  expect(() => withReserve(dir, fail("EDQUOT"))).toThrow("EDQUOT");
  expect(existsSync(join(dir, "reserve"))).toBe(false);
});

test("where there can be none, nothing is thrown and nothing is left behind", () => {
  expect(() => keepReserve(join(tempDir(), "nowhere"))).not.toThrow();
});

test("a disk with room gets a reserve; on one that is low nothing new begins, and none is made", () => {
  const state_dir = tempDir();
  const settings = { limits: { min_free_disk_mb: 100 } } as never;
  const low = (free_mb: number | null) =>
    diskLow({ runs_dir: "/runs", state_dir, settings }, (path) =>
      path === "/runs" ? free_mb : 500,
    );
  expect(low(99.9)).toBe(
    "disk low: only 99 MB left at /runs, limits.min_free_disk_mb asks for 100",
  );
  expect(existsSync(join(state_dir, "reserve"))).toBe(false);
  expect([low(100), low(null)]).toEqual([null, null]);
  expect(existsSync(join(state_dir, "reserve"))).toBe(true);
});
