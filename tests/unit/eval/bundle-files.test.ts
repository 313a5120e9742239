import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { perfCsv } from "../../../src/eval/perf-csv.ts";
import { joinRow, readTicks, type JoinTick } from "../../../src/eval/resources.ts";
import { readResponses } from "../../../src/eval/responses.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { row } from "./fakes.ts";

function tick(ts: number, changes: Partial<JoinTick> = {}): JoinTick {
  return {
    ts,
    sys_used_mb: 1000,
    swap_used_mb: 0,
    server_rss_mb: null,
    mem_pressure_level: "normal",
    throttled: false,
    baseline: false,
    invocation: "I",
    ...changes,
  };
}

describe("resources of a row (asked from 100 s to 103 s)", () => {
  test("takes the extremes over the window and half a second around it", () => {
    const joined = joinRow(row({ sys_used_baseline_mb: 400 }), [
      tick(99, { sys_used_mb: 9000 }),
      tick(99.6, { sys_used_mb: 1000, swap_used_mb: 10, server_rss_mb: 5 }),
      tick(101, { sys_used_mb: 1500, mem_pressure_level: "critical", throttled: true }),
      tick(103.4, { sys_used_mb: 1200, swap_used_mb: 35, mem_pressure_level: "warn" }),
      tick(104, { sys_used_mb: 9000 }),
    ]);
    expect(joined).toMatchObject({
      sys_used_mb: 1500,
      sys_used_delta_mb: 1100,
      swap_delta_mb: 35,
      peak_rss_mb: 5,
      mem_pressure_max: "critical",
      throttled: true,
    });
  });

  test("with none inside, the nearest speaks, but not one from another time", () => {
    const short = row({ t_start: 100, t_end: 100.01 });
    expect(joinRow(short, [tick(98.5), tick(101.2, { sys_used_mb: 7 })]).sys_used_mb).toBe(7);
    expect(joinRow(short, [tick(90), tick(110)])).toMatchObject({
      sys_used_mb: null,
      sys_used_delta_mb: null,
      mem_pressure_max: null,
      throttled: null,
      swap_delta_mb: null,
    });
  });

  test("readings that failed are unknown, not healthy", () => {
    const blind = { sys_used_mb: null, mem_pressure_level: null, throttled: null } as const;
    expect(joinRow(row(), [tick(101, blind)])).toMatchObject({
      sys_used_mb: null,
      mem_pressure_max: null,
      throttled: null,
    });
  });

  test("prefers the ticks of its own run to those of another in the same window", () => {
    const other = tick(101, { invocation: "J", sys_used_mb: 9000 });
    expect(joinRow(row(), [other, tick(102)]).sys_used_mb).toBe(1000);
    expect(joinRow(row(), [other]).sys_used_mb).toBe(9000);
  });

  test("reads old ticks and leaves out half a line", () => {
    const path = join(tempDir(), "resources.jsonl");
    writeFileSync(path, '{"ts":2,"sys_used_mb":5}\n{"ts":1,"sys_used_mb":NaN}\nnoise\n{"ts":');
    expect(readTicks(path).map((t) => [t.ts, t.sys_used_mb, t.throttled])).toEqual([
      [1, null, null],
      [2, 5, null],
    ]);
    expect(readTicks("/nowhere/resources.jsonl")).toEqual([]);
  });
});

describe("reading answers", () => {
  test("an old bundle: bare NaN, fields that came later, values that mean unknown", () => {
    const dir = tempDir();
    writeFileSync(
      join(dir, "responses.jsonl"),
      '{"model":"m","variant":"none","prompt_id":"a","repeat":0,"ok":true,"ttft_s":NaN,' +
        '"response_text":"NaN is a text","power_source":"unknown","mem_pressure_max":"normal"}\n',
    );
    const [read] = readResponses(dir);
    expect(read).toMatchObject({
      ttft_s: null,
      response_text: "NaN is a text",
      power_source: null,
      mem_pressure_max: "normal",
      cached_tokens: null,
      throttled: null,
      checks: [],
      fault: null,
    });
  });

  test("the later line of a cell counts; lines that are no answers do not", () => {
    const dir = tempDir();
    const lines = [
      row({ ok: false }),
      row({ prompt_id: "b" }),
      { no: "row" },
      row({ quant: "new" }),
    ];
    writeFileSync(join(dir, "responses.jsonl"), lines.map((l) => JSON.stringify(l)).join("\n"));
    expect(readResponses(dir).map((r) => [r.prompt_id, r.ok, r.quant])).toEqual([
      ["a1", true, "new"],
      ["b", true, "Q4"],
    ]);
    expect(readResponses("/nowhere")).toEqual([]);
  });

  test("what is written reads back as it was", () => {
    const dir = tempDir();
    const written = row({
      fault: { class: "stall_timeout", message: "x", retryable: true, http_status: null },
      checks: [{ kind: "regex", passed: null, reason: "limit" }],
    });
    writeFileSync(join(dir, "responses.jsonl"), `${JSON.stringify(written)}\n`);
    expect(readResponses(dir)).toEqual([written]);
  });
});

describe("perf.csv", () => {
  test("has the columns in their order, then ours", () => {
    expect(perfCsv([]).trim()).toBe(
      "run_id,machine,model,quant,engine,engine_version,scenario,target_ctx," +
        "actual_prompt_tokens,completion_tokens,ttft_s,decode_tps,prefill_tps,e2e_s,peak_rss_mb," +
        "sys_used_mb,sys_used_delta_mb,swap_delta_mb,mem_pressure_max,throttled,power_source,seed," +
        "warmup,is_cold_start,ok,error,cached_tokens",
    );
  });

  test("leaves unknown fields empty and quotes what must be quoted", () => {
    const [, line] = perfCsv([
      row({ ok: false, error: 'said "no", twice', ttft_s: null, throttled: null }),
    ]).split("\n");
    expect(line).toBe(
      "m|none|a1|0,,m,Q4,llama-server,1,a1,0,100,20,,10,100,3,,,,,,,ac,1,False,False,False," +
        '"said ""no"", twice",',
    );
  });
});
