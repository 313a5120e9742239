import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { createReadingsRecorder } from "../../../src/probes/index.ts";
import { cardFiles } from "../../helpers/device-host.ts";
import {
  pathWith,
  plant,
  recorded,
  RECORDED_FOLDER,
  standIn,
} from "../../helpers/probe-samples.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitFor } from "../../helpers/wait.ts";

const clock = systemClock;
const print = (path: string) => `cat "${RECORDED_FOLDER}${path}"`;

async function recorderWith(platform: NodeJS.Platform, folder: string, files = {}) {
  const root = join(folder, "root");
  plant(root, { "/proc/meminfo": recorded("linux/proc-meminfo/10-local-24g.txt"), ...files });
  const env = pathWith(join(folder, "bin"));
  const recorder = createReadingsRecorder({ server_pid: null, clock, platform, root, env });
  onTestFinished(() => recorder.close());
  await recorder.ready(20_000);
  return recorder;
}

const NVIDIA = cardFiles("0000:01:00.0", "0x10de", "0x2702");

async function readingsOf(script: string, files = NVIDIA) {
  const folder = tempDir();
  standIn(join(folder, "bin"), "nvidia-smi", script);
  const recorder = await recorderWith("linux", folder, files);
  recorder.start();
  return recorder.stop();
}

describe("the recorder with nvidia-smi", () => {
  it("reads each card, also one that shares the host's memory", async () => {
    const readings = await readingsOf(
      `case "$1" in -l) exit 3;; esac
       while echo "3, 0, NVIDIA H200, 32362, 143771, 0x0, Disabled"; do
         echo "3, 1, NVIDIA GB10, [N/A], [N/A], 0x0, [N/A]"
         echo "3, 2, NVIDIA H200, 16959, 143771, 0x0, Enabled"; sleep 0.1
       done`,
    );
    expect(readings.gpus).toEqual([
      { id: "0 NVIDIA H200", used_peak_mb: 33_934.017, total_mb: 150_754.82 },
      { id: "2 NVIDIA H200 (MIG)", used_peak_mb: null, total_mb: null },
    ]);
    expect(readings.unavailable["gpus"]).toContain("nvidia-smi -l");
  });

  it("reads each instance of a card that is cut", async () => {
    const folder = tempDir();
    standIn(
      join(folder, "bin"),
      "nvidia-smi",
      `case "$1" in -l) while ${print("linux/nvidia-smi-table/04-h200-mig-idle.txt")}; do sleep 0.2; done;; esac
       while echo "1, 0, NVIDIA H200, 55, 143771, 0x0, Enabled"; do sleep 0.1; done`,
    );
    const recorder = await recorderWith("linux", folder, NVIDIA);
    const readings = await waitFor("the table", () => {
      recorder.start();
      const found = recorder.stop();
      return found.gpus?.length === 5 && found;
    });
    expect(readings.gpus?.[2]).toEqual({
      id: "0.2 NVIDIA H200 (MIG)",
      used_peak_mb: 17.826,
      total_mb: 34_896.609,
    });
    expect(readings.unavailable).not.toHaveProperty("gpus");
  });

  it("takes an error in the place of the amount for no sign that there is none", async () => {
    const readings = await readingsOf(
      'while echo "1, 0, NVIDIA T4, [Unknown Error], [Unknown Error], 0x0, [N/A]"; do sleep 0.1; done',
    );
    expect(readings.gpus).toEqual([{ id: "0 NVIDIA T4", used_peak_mb: null, total_mb: null }]);
    expect(readings.unavailable["gpus"]).toContain("does not tell its memory");
  });

  it("is unknown where the driver is not there, and asks none where the bus shows no card", async () => {
    const broken = `${print("linux/nvidia-smi-error/03-couldnt-communicate.txt")}; exit 9`;
    const readings = await readingsOf(broken);
    expect(readings.gpus).toBeNull();
    expect(readings.unavailable["gpus"]).toBe("nvidia-smi: the NVIDIA driver is not loaded");
    const none = await readingsOf(broken, cardFiles("0000:00:02.0", "0x1234", "0x1111"));
    expect(none.gpus).toEqual([]);
  });
});

function macTools(bin: string, machine: string): void {
  standIn(bin, "vm_stat", print("macos/vm_stat/03-macos27-mte-tagged-after.txt"));
  standIn(
    bin,
    "sysctl",
    `case "$*" in
      vm.swapusage) ${print("macos/sysctl-vm.swapusage/04-macos27-2g-after.txt")};;
      kern.memorystatus_vm_pressure_level) echo "kern.memorystatus_vm_pressure_level: 1";;
      hw.memsize*) printf '${machine}';;
    esac`,
  );
  standIn(bin, "pmset", `echo "Now drawing from 'AC Power'"`);
  standIn(bin, "sudo", "echo 'sudo: a password is required' >&2; exit 1");
  standIn(bin, "notifyutil", 'echo "$2 2"');
}

describe("the recorder on macOS", () => {
  it("takes what is wired for used, unified memory for the host's, and heat without root", async () => {
    const folder = tempDir();
    macTools(join(folder, "bin"), "hw.memsize: 34359738368\\nhw.optional.arm64: 1\\n");
    const recorder = await recorderWith("darwin", folder);
    recorder.start();
    const readings = recorder.stop();
    expect(readings).toMatchObject({
      host_used_peak_mb: 25_530.319,
      host_total_mb: 34_359.738,
      cgroup_limit_mb: null,
      gpus: [],
      pressure_stall_share: null,
      pressure_level: "normal",
      throttled: true,
    });
    expect(readings.unavailable["pressure_stall_share"]).toContain("macOS counts no stalls");
  });

  it("does not know the GPUs of an Intel Mac", async () => {
    const folder = tempDir();
    macTools(join(folder, "bin"), "hw.memsize: 17179869184\\n");
    const recorder = await recorderWith("darwin", folder);
    recorder.start();
    expect(recorder.stop().unavailable["gpus"]).toContain("Intel Mac");
  });
});
