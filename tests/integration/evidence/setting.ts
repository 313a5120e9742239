import { join } from "node:path";
import {
  commitOutbox,
  deviceKey,
  EvidenceBook,
  type CommitMode,
  type CommitReport,
} from "../../../src/evidence/index.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { GitRepo } from "../../helpers/git-repo.ts";
import { SAMPLE_CREATED_MS, sampleEvidence } from "../../helpers/sample-evidence.ts";
import { random } from "../../helpers/seeded.ts";

/** A station that is the top of a person's repository, and its evidence. */
export class EvidenceSetting {
  readonly repo: GitRepo;
  readonly state_dir: string;
  readonly root: string;
  #written = 0;

  constructor(repo: GitRepo, root = repo.root) {
    this.repo = repo;
    this.root = root;
    this.state_dir = join(repo.home, "state", "station");
  }

  get device(): string {
    return deviceKey(this.state_dir).name;
  }

  get ref(): string {
    return `refs/heads/touchstoned/evidence/${this.device}`;
  }

  /** Puts one more piece of evidence into the outbox; gives its path, less the ending. */
  write(): string {
    const created_ms = SAMPLE_CREATED_MS + this.#written * 60_000;
    this.#written += 1;
    const evidence = sampleEvidence(this.state_dir, { created_ms });
    return new EvidenceBook(this.state_dir, deviceKey(this.state_dir)).write(evidence).path;
  }

  commit(mode: CommitMode, env: Record<string, string> = {}): Promise<CommitReport> {
    return commitOutbox({
      root: this.root,
      state_dir: this.state_dir,
      mode,
      env: { ...this.repo.env, ...env },
      clock: systemClock,
      random: random(1),
    });
  }
}
