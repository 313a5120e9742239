import { describe, expect, it } from "vitest";
import {
  cellNumber,
  nvidiaError,
  parseNvidiaCsv,
  slowedDown,
} from "../../../src/probes/gpu/nvidia-csv.ts";
import { parseRocmSmi } from "../../../src/probes/gpu/rocm.ts";
import { recorded } from "../../helpers/probe-samples.ts";

describe("parseNvidiaCsv", () => {
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

describe("parseRocmSmi", () => {
  it("tells no cards from no answer", () => {
    expect(parseRocmSmi('{"system": {}}')).toEqual([]);
    expect(parseRocmSmi("ERROR: no driver")).toBeUndefined();
    expect(parseRocmSmi("null")).toBeUndefined();
  });
});
