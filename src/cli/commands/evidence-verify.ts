import { realpathSync } from "node:fs";
import { relative, resolve } from "node:path";
import { EXIT, inputError } from "../../core/errors.ts";
import {
  acceptedKeys,
  evidenceRoot,
  keyFromFile,
  verifyAt,
  type FileVerification,
} from "../../evidence/index.ts";
import { findStation } from "../../station/index.ts";
import { locateState } from "../../station/light.ts";
import type { CommandAction, CommandContext } from "../context.ts";
import type { EvidenceOptions } from "../evidence-place.ts";

export interface EvidenceVerifyOptions extends EvidenceOptions {
  paths?: string[];
  key?: string[];
}

/** Without a path: everything of the clone that we are in, else of the station. */
function targets(options: EvidenceVerifyOptions, { env, cwd }: CommandContext): string[] {
  const { paths = [], station: explicit } = options;
  if (paths.length > 0) return paths.map((path) => resolve(cwd, path));
  const found = findStation({ explicit, env, cwd });
  const root = explicit === undefined ? (evidenceRoot(realpathSync(cwd)) ?? found) : found;
  if (root === undefined) {
    throw inputError(
      `neither ${cwd} nor a directory above it has an evidence/`,
      "Name a file or a directory.",
    );
  }
  return [root];
}

/** A device trusts itself, also where its public half is not in the repository yet. */
function ownKeys({ station: explicit }: EvidenceOptions, { env, cwd }: CommandContext) {
  if (findStation({ explicit, env, cwd }) === undefined) return [];
  const { root, state_dir } = locateState({ explicit, env, cwd });
  return acceptedKeys(root, state_dir);
}

function lines(file: FileVerification, name: string): string[] {
  const { recommended, model, device } = file;
  const what =
    recommended === null
      ? ""
      : ` (${recommended} ${recommended === 1 ? "slot" : "slots"}, ${model ?? ""}, device ${device ?? ""})`;
  if (file.ok) return [`ok      ${name}${what}`];
  return file.faults.map((fault) => `REFUSED ${name}: ${fault}`);
}

export const run: CommandAction<EvidenceVerifyOptions> = async (options, context) => {
  const { terminal, cwd } = context;
  const keys = [
    ...(options.key ?? []).map((path) => keyFromFile(resolve(cwd, path))),
    ...ownKeys(options, context),
  ];
  const files = targets(options, context).flatMap((path) => verifyAt(path, keys));
  const faulty = files.filter(({ ok }) => !ok).length;
  const exitCode = faulty === 0 ? EXIT.done : EXIT.failed;
  const shown = files.map((file) => {
    const name = relative(realpathSync(cwd), file.path);
    return { ...file, path: name.startsWith("..") ? file.path : name };
  });
  if (options.json === true) {
    terminal.json({ ok: faulty === 0, files: shown });
    return exitCode;
  }
  for (const file of shown) {
    for (const line of lines(file, file.path)) terminal.out(line);
    for (const note of file.notes) terminal.err(`note: ${note}`);
  }
  if (files.length === 0) terminal.err("no evidence to verify");
  else {
    const good = files.length - faulty;
    terminal.err(
      faulty === 0 ? `${good} of ${files.length} hold` : `${faulty} of ${files.length} do not hold`,
    );
  }
  return exitCode;
};
