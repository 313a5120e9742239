import { describe, expect, it, test } from "vitest";
import {
  darwinMounts,
  linuxMounts,
  mountKind,
  mountOf,
  mountText,
  type MountKind,
} from "../../../../src/daemon/doctor/mounts.ts";
import { fixture } from "../../../helpers/fixtures.ts";

function recorded(name: string): string {
  return fixture(`mounts/${name}.txt`).toString("utf8");
}

describe("what Linux says of its mounts", () => {
  const LINE =
    "36 35 0:42 / /home/me/my\\040bench rw,noatime shared:1 - nfs4 nas:/export rw,vers=4.2";

  it("reads type, source and place, with the blanks in them", () => {
    expect(linuxMounts(`${LINE}\n`)).toEqual([
      { at: "/home/me/my bench", type: "nfs4", source: "nas:/export", read_only: false },
    ]);
  });

  it("takes a mount for read-only where the mount or the file system is", () => {
    const [bound, disk] = linuxMounts(
      "1 0 8:1 / /a ro,relatime - ext4 /dev/sda rw\n2 0 8:1 / /b rw - ext4 /dev/sdb ro,errors=continue\n",
    );
    expect([bound?.read_only, disk?.read_only]).toEqual([true, true]);
  });

  it("passes over lines that it does not know", () => {
    expect(linuxMounts("\nnonsense\n1 2 3 - \n")).toEqual([]);
  });

  it("knows a real machine's", () => {
    const mounts = linuxMounts(recorded("linux-6.18-vm"));
    expect(mountOf("/home/me/bench", mounts)).toMatchObject({ at: "/", type: "ext4" });
    expect(mountOf("/dev/shm/x", mounts)).toMatchObject({ type: "tmpfs" });
  });
});

describe("what macOS says of its mounts", () => {
  it("reads names with blanks and brackets, and what is read-only", () => {
    const text = [
      "//me@nas._smb._tcp.local/Team%20Share on /Volumes/Team Share (smbfs, nodev, nosuid, mounted by me)",
      "/dev/disk9s1 on /Volumes/A (old) (exfat, local, read-only, noowners)",
    ].join("\n");
    expect(darwinMounts(text)).toMatchObject([
      { at: "/Volumes/Team Share", type: "smbfs", read_only: false },
      { at: "/Volumes/A (old)", type: "exfat", read_only: true },
    ]);
  });

  it("knows a real machine's with a share", () => {
    const mounts = darwinMounts(recorded("macos-10.14.6"));
    expect(mounts).toHaveLength(7);
    expect(mountOf("/Volumes/brazil/bench", mounts)).toMatchObject({ type: "afpfs" });
    expect(mountOf("/Users/kelly/bench", mounts)).toMatchObject({ at: "/", type: "apfs" });
  });

  it("does not take what lies in the data volume for a part of the sealed system", () => {
    const mounts = darwinMounts(recorded("macos-sealed"));
    expect(mounts[0]).toMatchObject({ at: "/", read_only: true });
    expect(mountOf("/Users/me/bench", mounts)).toMatchObject({
      at: "/System/Volumes/Data",
      read_only: false,
    });
  });
});

test("the deepest mount holds a path, and of two in one place the later one", () => {
  const at = (place: string, type: string) => ({ at: place, type, source: "", read_only: false });
  const mounts = [at("/", "ext4"), at("/data", "autofs"), at("/data", "nfs4"), at("/da", "xfs")];
  expect(mountOf("/data/x", mounts)?.type).toBe("nfs4");
  expect(mountOf("/database", mounts)?.type).toBe("ext4");
  expect(mountOf("/", mounts)?.type).toBe("ext4");
  expect(mountOf("/x", [])).toBeNull();
});

test.each<[string, MountKind]>([
  ["ext4", "local"],
  ["btrfs", "local"],
  ["apfs", "local"],
  ["nfs", "network"],
  ["nfs4", "network"],
  ["cifs", "network"],
  ["smbfs", "network"],
  ["webdav", "network"],
  ["fuse.sshfs", "network"],
  ["fuse.rclone", "network"],
  ["fuse.google-drive-ocamlfuse", "network"],
  ["fuse.mergerfs", "fuse"],
  ["macfuse", "fuse"],
  ["fuseblk", "no_owners"],
  ["exfat", "no_owners"],
  ["9p", "shared"],
  ["virtiofs", "shared"],
  ["fuse.vmhgfs-fuse", "shared"],
  ["tmpfs", "memory"],
  ["overlay", "container"],
])("%s is %s", (type, kind) => {
  expect(mountKind({ at: "/", type, source: "", read_only: false })).toBe(kind);
});

test("an overlay that is not the root of a container is a folder like others", () => {
  const mount = { at: "/work", type: "overlay", source: "overlay", read_only: false };
  expect(mountKind(mount)).toBe("local");
  expect(mountText(mount)).toBe("overlay");
  expect(mountText({ ...mount, type: "nfs4", source: "nas:/x" })).toBe("nfs4, nas:/x");
});
