import type { CompletionOptions } from "../commands/completion.ts";
import { outlineOf } from "../outline.ts";
import type { Declare } from "../program.ts";

export const declareCompletion: Declare = (program, act) => {
  const command = program
    .command("completion")
    .description("print what lets a shell complete commands, options and ids of jobs")
    .addHelpText(
      "after",
      `
Put it where your shell looks for it, once, and again after an upgrade (docs/shell.md):

  touchstoned completion bash > ~/.local/share/bash-completion/completions/touchstoned
  touchstoned completion zsh > ~/.zfunc/_touchstoned       # with ~/.zfunc in fpath, before compinit
  touchstoned completion fish > ~/.config/fish/completions/touchstoned.fish

For this session only:
  source <(touchstoned completion bash)`,
    )
    .action((...args: unknown[]) =>
      act<Omit<CompletionOptions, "outline">>(async () => {
        const { run } = await import("../commands/completion.ts");
        const outline = outlineOf(program);
        return { run: async (options, context) => run({ ...options, outline }, context) };
      })(...args),
    );
  const shell = command.createArgument("<shell>", "bash, zsh or fish");
  command.addArgument(shell.choices(["bash", "zsh", "fish"]));
};
