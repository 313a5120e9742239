import { describe, expect, it } from "vitest";
import { CgroupLimit, memoryCgroup, parseLimit } from "../../../src/probes/linux/cgroup.ts";
import { createHostSampler } from "../../../src/probes/index.ts";
import { parseMemInfo } from "../../../src/probes/linux/memory.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { plant, recorded } from "../../helpers/probe-samples.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const MOUNT_V2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const MOUNT_V1 = "34 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
const MEMINFO = recorded("linux/proc-meminfo/10-local-24g.txt");

describe("parseLimit", () => {
  it.each([
    ["linux/cgroup-v1/01-docker-memory.limit_in_bytes.txt", null],
    ["linux/cgroup-v1/04-k8s-amzn2-memory.limit_in_bytes.txt", 2147483648],
    ["linux/cgroup-v2/09-session-scope-memory.max.txt", null],
  ])("reads %s", (path, limit) => {
    expect(parseLimit(recorded(path))).toBe(limit);
  });

  it("takes an empty file for no limit and zero for a limit", () => {
    expect(parseLimit("\n")).toBeNull();
    expect(parseLimit("0\n")).toBe(0);
  });
});

describe("memoryCgroup", () => {
  it("prefers v1 where v1 has the memory controller", () => {
    const found = memoryCgroup("4:memory:/a/b\n0::/c\n", MOUNT_V2 + MOUNT_V1);
    expect(found).toMatchObject({ mount: "/sys/fs/cgroup/memory", path: "a/b" });
  });

  it("takes v2 where it stands alone", () => {
    const found = memoryCgroup("0::/user.slice/run.scope\n", MOUNT_V2);
    expect(found).toMatchObject({ mount: "/sys/fs/cgroup", path: "user.slice/run.scope" });
  });

  it("counts from the mount's own root in a container", () => {
    const mount = "34 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    expect(memoryCgroup("4:memory:/docker/abc\n", mount)?.path).toBe("");
    expect(memoryCgroup("4:memory:/docker/abc/in\n", mount)?.path).toBe("in");
    expect(memoryCgroup("4:memory:/elsewhere\n", mount)?.path).toBe("");
  });

  it("finds nothing where no controller is mounted", () => {
    expect(memoryCgroup("1:cpu:/\n", MOUNT_V1)).toBeUndefined();
    expect(memoryCgroup("4:memory:/\n", "")).toBeUndefined();
  });
});

function v2Host(limits: Record<string, string>): string {
  const root = tempDir();
  const files: Record<string, string> = {
    "/proc/meminfo": MEMINFO,
    "/proc/self/cgroup": "0::/outer/inner\n",
    "/proc/self/mountinfo": MOUNT_V2,
    "/sys/fs/cgroup/outer/memory.current": "8000000000\n",
    "/sys/fs/cgroup/outer/memory.stat": "anon 1\ninactive_file 3000000000\n",
    "/sys/fs/cgroup/outer/inner/memory.current": recorded(
      "linux/cgroup-v2/10-session-scope-memory.current.txt",
    ),
    "/sys/fs/cgroup/outer/inner/memory.stat": recorded(
      "linux/cgroup-v2/13-session-scope-memory.stat.txt",
    ),
  };
  for (const [path, text] of Object.entries(limits)) {
    files[`/sys/fs/cgroup/${path}/memory.max`] = text;
  }
  plant(root, files);
  return root;
}

describe("CgroupLimit", () => {
  const info = parseMemInfo(MEMINFO);

  it("is not there without a limit, or with one above the machine's memory", () => {
    expect(CgroupLimit.find(v2Host({}), info)).toBeUndefined();
    const root = v2Host({ outer: "max\n", "outer/inner": "99000000000\n" });
    expect(CgroupLimit.find(root, info)).toBeUndefined();
  });

  it("takes usage less inactive cache of our own cgroup", () => {
    const root = v2Host({ "outer/inner": "12000000000\n" });
    expect(CgroupLimit.find(root, info)?.read()).toEqual({
      limit_bytes: 12000000000,
      working_set_bytes: 10498404352 - 6685749248,
      pressure: null,
    });
  });

  it("takes the tightest limit on the way up", () => {
    const root = v2Host({ outer: "9000000000\n", "outer/inner": "12000000000\n" });
    expect(CgroupLimit.find(root, info)?.read()).toMatchObject({
      limit_bytes: 9000000000,
      working_set_bytes: 5000000000,
    });
  });

  it("reads v1 as a Kubernetes pod has it", () => {
    const root = tempDir();
    plant(root, {
      "/proc/self/cgroup": "4:memory:/pod\n",
      "/proc/self/mountinfo": MOUNT_V1,
      "/sys/fs/cgroup/memory/pod/memory.limit_in_bytes": recorded(
        "linux/cgroup-v1/04-k8s-amzn2-memory.limit_in_bytes.txt",
      ),
      "/sys/fs/cgroup/memory/pod/memory.usage_in_bytes": "1300000000\n",
      "/sys/fs/cgroup/memory/pod/memory.stat": recorded(
        "linux/cgroup-v1/06-k8s-amzn2-memory.stat.txt",
      ),
    });
    expect(CgroupLimit.find(root, info)?.read()).toMatchObject({
      limit_bytes: 2147483648,
      working_set_bytes: 1300000000 - 78557184,
    });
  });

  it("throws where the usage cannot be read", () => {
    const root = v2Host({ "outer/inner": "12000000000\n" });
    plant(root, { "/sys/fs/cgroup/outer/inner/memory.stat": "anon 1\n" });
    expect(() => CgroupLimit.find(root, info)?.read()).toThrow("inactive_file");
  });
});

const sampleOf = (root: string) => {
  const clock = new FakeClock();
  const sampler = createHostSampler({
    server_pid: null,
    clock,
    platform: "linux",
    root,
    env: { PATH: "" },
  });
  const sample = sampler.sample();
  sampler.close();
  return sample;
};

describe("the sampler inside a limit", () => {
  it("counts the limit as the memory there is", () => {
    const sample = sampleOf(v2Host({ outer: "9000000000\n" }));
    expect(sample.sys_used_mb).toBe(5000);
    expect(sample.sys_available_mb).toBe(4000);
  });

  it("never tells more available than the host has", () => {
    const root = v2Host({ outer: "20000000000\n" });
    plant(root, { "/proc/meminfo": "MemTotal: 24684092 kB\nMemAvailable: 1000000 kB\n" });
    expect(sampleOf(root).sys_available_mb).toBe(1024);
  });

  it("takes the cgroup's pressure where it is worse than the host's", () => {
    const root = v2Host({ outer: "9000000000\n" });
    const quiet = "some avg10=0.00 avg60=0.00\nfull avg10=0.00 avg60=0.00\n";
    const stalled = "some avg10=80.00 avg60=0.00\nfull avg10=40.00 avg60=0.00\n";
    plant(root, {
      "/proc/pressure/memory": quiet,
      "/sys/fs/cgroup/outer/memory.pressure": stalled,
    });
    expect(sampleOf(root).mem_pressure_level).toBe("critical");
    plant(root, {
      "/proc/pressure/memory": stalled,
      "/sys/fs/cgroup/outer/memory.pressure": quiet,
    });
    expect(sampleOf(root).mem_pressure_level).toBe("critical");
  });

  it("does not fall back to the host where it is not known whether there is a limit", () => {
    const root = tempDir();
    plant(root, { "/proc/meminfo": MEMINFO });
    const sample = sampleOf(root);
    expect(sample.sys_used_mb).toBeNull();
    expect(sample.unavailable["sys_used_mb"]).toContain("memory limit: ENOENT");
  });

  it("says so where the usage inside the limit cannot be read any more", () => {
    const root = v2Host({ "outer/inner": "12000000000\n" });
    plant(root, { "/sys/fs/cgroup/outer/inner/memory.stat": "" });
    expect(sampleOf(root).unavailable["sys_used_mb"]).toContain("inactive_file");
  });
});
