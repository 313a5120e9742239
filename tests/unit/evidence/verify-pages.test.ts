import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { evidenceMarkdown, evidenceSvg, type Evidence } from "../../../src/evidence/index.ts";
import { checkPages } from "../../../src/evidence/verify-pages.ts";
import { sampleEvidence } from "../../helpers/sample-evidence.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** A document's path with the page and the chart that are made of it beside it. */
function written(touchstoned?: string) {
  const sample = sampleEvidence(tempDir());
  const evidence: Evidence = touchstoned === undefined ? sample : { ...sample, touchstoned };
  const stem = join(tempDir(), "one");
  writeFileSync(`${stem}.md`, evidenceMarkdown(evidence, "one.svg"));
  writeFileSync(`${stem}.svg`, evidenceSvg(evidence));
  const edit = (suffix: string, from: string | RegExp, to: string) => {
    const before = readFileSync(`${stem}${suffix}`, "utf8");
    const after = before.replaceAll(from, to);
    expect(after).not.toBe(before);
    writeFileSync(`${stem}${suffix}`, after);
  };
  return { edit, check: () => checkPages(`${stem}.json`, evidence) };
}

describe("pages of this version", () => {
  it("hold as they were made, with the line ends of any system", () => {
    const { edit, check } = written();
    expect(check()).toEqual({ faults: [], notes: [] });
    edit(".md", "\n", "\r\n");
    edit(".svg", "\n", "\r\n");
    expect(check()).toEqual({ faults: [], notes: [] });
  });

  it("are refused where one byte is another, in the page and in the chart", () => {
    const page = written();
    page.edit(".md", "Recommended: 2", "Recommended: 8");
    expect(page.check()).toEqual({
      faults: [
        "one.md was edited: it is not what is made of the document: recommended is 2 in the document and 8 there",
      ],
      notes: [],
    });
    const chart = written();
    chart.edit(".svg", "</svg>", "<!-- --></svg>");
    expect(chart.check().faults).toEqual([
      "one.svg was edited: it is not what is made of the document",
    ]);
  });
});

describe("pages of another version", () => {
  it("may be worded otherwise: that is a note", () => {
    const { edit, check } = written("0.0.1");
    edit(".md", "## Measured on", "## Where it was measured");
    expect(check()).toEqual({
      faults: [],
      notes: ["one.md is not what this version makes of it"],
    });
  });

  it.each([
    ["recommended", /Recommended: \d+/g, "Recommended: 8"],
    ["recommended", /^# \d+ slots?/gm, "# 8 slots"],
    ["max_safe", /Safe up to: \d+/g, "Safe up to: 64"],
    ["first_breach", /^Ended by: .*$/gm, "Ended by: host memory at 96 slots."],
  ])("are refused where %s contradicts the document (%s)", (name, from, to) => {
    const { edit, check } = written("0.0.1");
    edit(".md", from, to);
    const { faults, notes } = check();
    expect(notes).toEqual([]);
    expect(faults).toEqual([
      expect.stringMatching(new RegExp(`^one\\.md contradicts the document: ${name} is `)),
    ]);
  });
});
