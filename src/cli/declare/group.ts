import type { Command } from "commander";

/** The family of commands called `name`, made by whoever declares the first of them. */
export function group(program: Command, name: string, description: string): Command {
  return (
    program.commands.find((command) => command.name() === name) ??
    program.command(name).description(description)
  );
}
