// SPDX-License-Identifier: Apache-2.0
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { UserError } from "../user-error.ts";

/** The words of --entrypoint: a JSON list, or what stands between blanks. */
export function entrypointOption(input: CommandInput): readonly string[] | undefined {
  const text = textOption(input, "entrypoint")?.trim();
  if (text === undefined) return undefined;
  const words = text.startsWith("[") ? listOf(text) : text.split(/\s+/).filter((word) => word !== "");
  if (words !== undefined && words.length > 0) return words;
  const expected = `expected a command such as "/bin/function --debug", or a JSON list of its words`;
  throw new UserError(`--entrypoint ${JSON.stringify(text)}: ${expected}`, { exitCode: 2 });
}

function listOf(text: string): string[] | undefined {
  try {
    const words: unknown = JSON.parse(text);
    const isList = Array.isArray(words) && words.every((word) => typeof word === "string" && word !== "");
    return isList ? (words as string[]) : undefined;
  } catch {
    return undefined;
  }
}
