import type { ToolAnswer, Tools } from "../../src/probes/tool.ts";

/** Tools that answer from memory: by the whole command line, or by its beginning. */
export function fakeTools(answers: Readonly<Record<string, string | ToolAnswer>>): Tools & {
  readonly asked: string[];
} {
  const asked: string[] = [];
  return {
    asked,
    has: (file) => Object.keys(answers).some((line) => line.split(" ", 1)[0] === file),
    ask(file, ...args) {
      const line = [file, ...args].join(" ");
      asked.push(line);
      const key = Object.keys(answers).find((start) => line.startsWith(start));
      const answer = key === undefined ? undefined : answers[key];
      if (answer === undefined) {
        return Promise.resolve({ ok: false, text: "", reason: `${file} is not on PATH` });
      }
      if (typeof answer !== "string") return Promise.resolve(answer);
      return Promise.resolve({ ok: true, text: answer, reason: null });
    },
  };
}

/** What a tool that hangs is answered for. */
export function hung(file: string): ToolAnswer {
  return { ok: false, text: "", reason: `${file}: no answer within 15 s` };
}
