import { canonicalJson, sha256Hex } from "../core/json.ts";
import type { GenerateResult, ToolCall } from "../runners/index.ts";

type Said = Pick<GenerateResult, "text" | "tool_calls">;

/** Names of the arguments, sorted; `?` where the model wrote no JSON object. */
function argumentNames(text: string): string {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return "?";
    return Object.keys(value).sort().join(",");
  } catch {
    return "?";
  }
}

function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function kindOfText(text: string): string {
  if (text.trim() === "") return "text:empty";
  if (isJson(text)) return "text:json";
  return text.includes("```") ? "text:fenced" : "text:plain";
}

/**
 * What kind of answer it is: the tools it calls, in order, with the names of their arguments, or what
 * its text looks like. Two answers with the same signature do the same thing in other words.
 */
export function structuralSignature({ text, tool_calls }: Said): string {
  if (tool_calls.length === 0) return kindOfText(text);
  const calls = tool_calls.map(
    ({ name, arguments_text }) => `${name}(${argumentNames(arguments_text)})`,
  );
  return `tools:${calls.join(";")}`;
}

/** Whether such a signature is that of an answer without tool calls. */
export function isText(structural: string | null): boolean {
  return structural?.startsWith("text:") ?? false;
}

function callContent({ name, arguments_text }: ToolCall): [string, unknown] {
  try {
    return [name, JSON.parse(arguments_text)];
  } catch {
    return [name, arguments_text];
  }
}

/** SHA-256 of text and tool calls; ids of calls, which servers make up, and thoughts are left out. */
export function exactSignature({ text, tool_calls }: Said): string {
  return sha256Hex(canonicalJson({ text, calls: tool_calls.map((call) => callContent(call)) }));
}
