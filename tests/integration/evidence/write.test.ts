import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  deviceKey,
  openRequest,
  outboxState,
  requestCalibration,
  verifyEvidence,
  writeEvidence,
  type EvidenceParts,
} from "../../../src/evidence/index.ts";
import { checkEvidence, requestKey } from "../../../src/evidence/light.ts";
import { judge } from "../../../src/verdict/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { GitRepo } from "../../helpers/git-repo.ts";
import { SAMPLE_CREATED_MS, sampleParts } from "../../helpers/sample-evidence.ts";

const REQUEST = requestKey("llama-server", "gpt-oss:20b");

function setting() {
  const repo = new GitRepo().start();
  const state_dir = join(repo.home, "state", "station");
  requestCalibration(state_dir, { key: REQUEST, reason: "never measured" }, SAMPLE_CREATED_MS);
  const write = (parts: EvidenceParts, prompts: string[] = []) =>
    writeEvidence(parts, {
      root: repo.root,
      state_dir,
      mode: "branch",
      env: { ...repo.env, USER: "anna" },
      clock: new FakeClock({ wall_ms: SAMPLE_CREATED_MS, jumpSleeps: true }),
      prompts,
    });
  return { repo, state_dir, write };
}

it("a sweep becomes signed evidence that is committed at once, and closes its request", async () => {
  const { repo, state_dir, write } = setting();
  const { path, evidence, commit } = await write(sampleParts());
  expect(commit).toMatchObject({ waiting: 0, reason: null, committed: [{ path }] });
  const text = repo.git("show", `main:${path}`);
  expect(checkEvidence(text, [deviceKey(state_dir)])).toMatchObject({ ok: true });
  expect(evidence.created).toBe("2026-01-10T10:05:00.000Z");
  expect(repo.git("log", "-1", "--format=%aI %an <%ae>")).toBe(
    "2026-01-10T10:05:00+00:00 touchstoned <evidence@touchstoned.invalid>\n",
  );
  expect(openRequest(state_dir, REQUEST)).toBeUndefined();
});

it("a sweep that is not complete writes nothing and closes nothing", async () => {
  const { repo, state_dir, write } = setting();
  const parts = sampleParts();
  const half = { ...parts, sweep: { ...parts.sweep, complete: false } };
  await expect(write(half)).rejects.toMatchObject({ code: "not_evidence", exitCode: 1 });
  expect(outboxState(state_dir).waiting).toBe(0);
  expect(readdirSync(state_dir)).not.toContain("evidence");
  expect(openRequest(state_dir, REQUEST)?.reason).toBe("never measured");
  expect(repo.git("rev-list", "--count", "main").trim()).toBe("1");
});

it("what servers said is told without paths and names, and the verdict still follows", async () => {
  const { repo, state_dir, write } = setting();
  const parts = sampleParts();
  const ladder = parts.sweep.ladder.map((start) =>
    start.loaded ? start : { ...start, failure: "user anna: no memory for /srv/models/x.gguf" },
  );
  const sweep = { ...parts.sweep, ladder };
  const { path, commit } = await write({
    ...parts,
    sweep,
    verdict: judge(sweep, parts.verdict.bounds),
  });
  expect(commit.waiting).toBe(0);
  const text = repo.git("show", `main:${path}`);
  expect(text).toContain("user <user>: no memory for <x.gguf>");
  expect(verifyEvidence(text, [deviceKey(state_dir)])).toMatchObject({ ok: true, faults: [] });
});

it("a prompt, or a model that is named by a path, is not written", async () => {
  const { state_dir, write } = setting();
  const prompt = "water the tomatoes by the old wall before the sun is up";
  const parts = sampleParts();
  const telling = { ...parts, sweep: { ...parts.sweep, stop: `it was asked to ${prompt}` } };
  await expect(write(telling, [prompt])).rejects.toMatchObject({ code: "evidence_private" });
  const model = { ...parts.identity.model, id: "/srv/models/x.gguf" };
  const pathed = { ...parts, identity: { ...parts.identity, model } };
  await expect(write(pathed)).rejects.toThrow(/identity\.model\.id: a path/);
  expect(outboxState(state_dir).waiting).toBe(0);
});
