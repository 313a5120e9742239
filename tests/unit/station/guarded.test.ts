import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  chainFault,
  isPrivateGroup,
  modeFault,
  readGuarded,
  type Asker,
} from "../../../src/station/guarded.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const PASSWD = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n";

function me(home: string, private_group = false): Asker {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, home, private_group };
}

function file(mode: number): { path: string; home: string } {
  const home = tempDir();
  const path = join(home, "f");
  writeFileSync(path, "x");
  chmodSync(path, mode);
  return { path, home };
}

describe("isPrivateGroup", () => {
  it.each([
    ["the user's own, empty", "ann:x:1000:\n", PASSWD, true],
    ["with the user as its member", "ann:x:1000:ann\n", PASSWD, true],
    ["with another member", "ann:x:1000:ann,bob\n", PASSWD, false],
    ["not in the list", "users:x:100:\n", PASSWD, false],
    [
      "another user's primary group, too",
      "ann:x:1000:\n",
      `${PASSWD}bob:x:1001:1000::/home/bob:/bin/sh\n`,
      false,
    ],
    ["of a user that is not in the list", "ann:x:1000:\n", "", false],
  ])("%s", (_, group, passwd, wanted) => {
    expect(isPrivateGroup(1000, 1000, passwd, group)).toBe(wanted);
  });

  it("is not a group that is another than the primary one", () => {
    expect(isPrivateGroup(100, 1000, PASSWD, "users:x:100:\n")).toBe(false);
  });
});

describe("modeFault", () => {
  it.each([0o600, 0o644, 0o755])("allows mode %o", (mode) => {
    const { path, home } = file(mode);
    expect(modeFault(path, statSync(path), me(home))).toBeNull();
  });

  it("prints the chmod for a file that everyone or a shared group may write", () => {
    const open = file(0o666);
    expect(modeFault(open.path, statSync(open.path), me(open.home))).toContain(
      `chmod go-w ${open.path}`,
    );
    const group = file(0o664);
    expect(modeFault(group.path, statSync(group.path), me(group.home))).toContain(
      `chmod g-w ${group.path}`,
    );
  });

  it("allows group write where the group is the owner's private one", () => {
    const { path, home } = file(0o664);
    expect(modeFault(path, statSync(path), me(home, true))).toBeNull();
  });

  it("refuses a file of another user, and allows one of root", () => {
    const { path, home } = file(0o600);
    const asker = { ...me(home), uid: 4321 };
    const stats = statSync(path);
    stats.uid = 1234;
    expect(modeFault(path, stats, asker)).toContain("chown 4321");
    stats.uid = 0;
    expect(modeFault(path, stats, asker)).toBeNull();
  });

  it("quotes a path in the command that it prints", () => {
    const home = tempDir();
    const path = join(home, "a b's");
    writeFileSync(path, "");
    chmodSync(path, 0o666);
    expect(modeFault(path, statSync(path), me(home))).toContain(String.raw`a b'\''s'`);
  });
});

describe("chainFault", () => {
  it("looks at every directory up to home", () => {
    const home = tempDir();
    mkdirSync(join(home, "a", "b"), { recursive: true });
    writeFileSync(join(home, "a", "b", "f"), "");
    expect(chainFault(join(home, "a", "b", "f"), me(home))).toBeNull();
    chmodSync(join(home, "a"), 0o777);
    expect(chainFault(join(home, "a", "b", "f"), me(home))).toContain(`chmod go-w ${home}/a`);
  });

  it("allows a sticky directory of root above, as /tmp is one", () => {
    const base = tempDir();
    expect(chainFault(base, me("/nonexistent"))).toBeNull();
  });
});

describe("readGuarded", () => {
  it("reads a file, and undefined where there is none", () => {
    const { path } = file(0o600);
    expect(readGuarded(path, 1)).toBe("x");
    expect(readGuarded(`${path}.no`, 1)).toBeUndefined();
  });

  it("refuses a link, a directory, too many bytes, and bytes that are no text", () => {
    const base = tempDir();
    const path = join(base, "f");
    writeFileSync(path, Buffer.from([0x61, 0xff]));
    symlinkSync(path, join(base, "link"));
    expect(() => readGuarded(join(base, "link"), 10)).toThrow("link: it is a symbolic link");
    expect(() => readGuarded(base, 10)).toThrow("it is a directory");
    expect(() => readGuarded(path, 1)).toThrow("it has over 1 bytes");
    expect(() => readGuarded(path, 10)).toThrow("it is not UTF-8 text");
  });
});
