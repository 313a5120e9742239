import { describe, expect, it } from "vitest";
import {
  cellNumber,
  nvidiaError,
  parseNvidiaCsv,
  slowedDown,
} from "../../../src/probes/gpu/nvidia-csv.ts";
import { parseRocmSmi } from "../../../src/probes/gpu/rocm.ts";
import { recorded } from "../../helpers/probe-samples.ts";

const COLUMNS = [
  "name",
  "memory.total",
  "memory.used",
  "driver_version",
  "temperature.gpu",
  "power.draw",
  "clocks_throttle_reasons.active",
];

/** The first GPU of a recording, its columns as numbers where they are that. */
function gpu(name: string, more: string[] = []) {
  const { rows, other } = parseNvidiaCsv(recorded(`linux/nvidia-smi-csv/${name}.txt`), [
    ...COLUMNS,
    ...more,
  ]);
  expect(other).toEqual([]);
  expect(rows).toHaveLength(1);
  const row = rows[0] ?? {};
  return {
    row,
    total: cellNumber(row["memory.total"]),
    used: cellNumber(row["memory.used"]),
    temp: cellNumber(row["temperature.gpu"]),
    power: cellNumber(row["power.draw"]),
    mask: cellNumber(
      row["clocks_throttle_reasons.active"] ?? row["clocks_event_reasons.active"] ?? null,
    ),
  };
}

describe("parseNvidiaCsv", () => {
  it.each([
    ["04-rtx2080s-idle-noheader", 8192, 214, 40, 39.32, 0x4],
    ["06-rtx4080s-idle-header", 16376, 596, 43, 26.2, 0x1],
    ["07-h100-load", 81559, 19818, 59, 631.95, 0],
    ["10-h200-load", 143771, 32362, 52, 627.4, 0],
    ["12-windows-wddm-idle", 8192, 702, 40, 38.92, 0x1],
  ])("reads %s", (name, total, used, temp, power, mask) => {
    expect(gpu(name)).toMatchObject({ total, used, temp, power, mask });
  });

  it("reads name and driver", () => {
    expect(gpu("04-rtx2080s-idle-noheader").row).toMatchObject({
      name: "NVIDIA GeForce RTX 2080 SUPER",
      driver_version: "595.71.05",
    });
  });

  it("gives null for what a card does not tell", () => {
    const mig = gpu("09-h200-mig-load", ["mig.mode.current", "utilization.gpu"]);
    expect(mig).toMatchObject({ total: 143771, used: 16959, power: 295.01 });
    expect(mig.row).toMatchObject({ "mig.mode.current": "Enabled", "utilization.gpu": null });
    const idle = gpu("13-h100-idle-fan-na", ["utilization.gpu", "fan.speed"]);
    expect(idle).toMatchObject({ used: 0, mask: 1 });
    expect(idle.row["fan.speed"]).toBeNull();
  });

  it("keeps apart what is no row", () => {
    const text = "0, 214, 0x4\nUnable to determine the device handle\n\n1, [Unknown Error], 0x0\n";
    const { rows, other } = parseNvidiaCsv(text, ["index", "memory.used", "mask"]);
    expect(rows.map((row) => row["memory.used"])).toEqual(["214", null]);
    expect(other).toEqual(["Unable to determine the device handle"]);
  });

  it("takes no text for a number", () => {
    expect(cellNumber("214 MiB")).toBe(214);
    expect(cellNumber("Enabled")).toBeNull();
    expect(cellNumber(null)).toBeNull();
    expect(cellNumber(undefined)).toBeNull();
    expect(cellNumber("")).toBeNull();
  });
});

describe("throttle reasons", () => {
  it.each([
    [0, false],
    [0x1, false],
    [0x4, false],
    [0x8, true],
    [0x20, true],
    [0x40, true],
    [0x44, true],
    [0x80, true],
    [0x100, false],
    [0x8000000000000000, false],
  ])("mask %d", (mask, slowed) => {
    expect(slowedDown(mask)).toBe(slowed);
  });
});

const text = (name: string) => recorded(`linux/nvidia-smi-error/${name}.txt`);

describe("nvidiaError", () => {
  it.each([
    ["01-mismatch-with-nvml-version", "driver_library_mismatch"],
    ["03-couldnt-communicate", "driver_not_loaded"],
    ["04-gpu-access-blocked-wsl-docker", "blocked_by_os"],
    ["06-device-handle-second-gpu-lost", "device_handle"],
    ["07-device-handle-no-space", "device_handle"],
  ])("knows %s", (name, code) => {
    expect(nvidiaError(recorded(`linux/nvidia-smi-error/${name}.txt`))?.code).toBe(code);
  });

  it("names the lost GPU in both spellings", () => {
    expect(nvidiaError(text("06-device-handle-second-gpu-lost"))?.reason).toContain(
      "(GPU1: 0000:34:00.0)",
    );
    expect(nvidiaError(text("07-device-handle-no-space"))?.reason).toContain("(GPU0000:CB:00.0)");
  });

  it("finds no error in a row or a table", () => {
    expect(nvidiaError("0, 214, 0x4")).toBeUndefined();
    expect(nvidiaError("")).toBeUndefined();
  });
});

const cards = (name: string) => parseRocmSmi(recorded(`linux/rocm-smi/${name}.json`));

describe("parseRocmSmi", () => {
  it("reads 09-rx6700xt-rocm430", () => {
    expect(cards("09-rx6700xt-rocm430")).toEqual([
      {
        name: "0x73df",
        vram_total_bytes: 12868124672,
        vram_used_bytes: 1622728704,
        temp_edge_c: 45,
        power_w: 6,
      },
    ]);
  });

  it("reads 10-rx6700xt-rocm612", () => {
    expect(cards("10-rx6700xt-rocm612")).toMatchObject([
      {
        name: "Navi 22 [Radeon RX 6700/6700 XT / 6800M]",
        vram_total_bytes: 12868124672,
        vram_used_bytes: 1572745216,
        temp_edge_c: 45,
      },
    ]);
  });

  it("tells no cards from no answer", () => {
    expect(parseRocmSmi('{"system": {}}')).toEqual([]);
    expect(parseRocmSmi("ERROR: no driver")).toBeUndefined();
    expect(parseRocmSmi("null")).toBeUndefined();
  });
});
