// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { printJson } from "@purlin/kube-objects/json";

const maxDefaultLength = 200;

/** What a schema says about a value in words, as the lines of a comment; none where it says nothing. */
export function docLines(
  schema: JsonObject,
  { isDefaultShown = true }: { readonly isDefaultShown?: boolean } = {},
): string[] {
  const { description } = schema;
  const lines = typeof description === "string" ? textLines(description) : [];
  const value = isDefaultShown ? defaultText(schema["default"]) : undefined;
  return value === undefined ? lines : [...lines, ...textLines(`@default ${value}`)];
}

/** A comment at some indentation, with its line break; empty where there are no lines. */
export function docComment(lines: readonly string[], indent: string): string {
  const [first = "", ...more] = lines;
  if (lines.length === 0) return "";
  if (more.length === 0) return `${indent}/** ${first} */\n`;
  const body = lines.map((line) => `${indent} *${line === "" ? "" : ` ${line}`}\n`).join("");
  return `${indent}/**\n${body}${indent} */\n`;
}

/** The lines of a text, without anything that would end the comment or hide what follows. */
function textLines(text: string): string[] {
  const lines = text.replaceAll("*/", "*\\/").split(/\r\n|[\n\r\u2028\u2029]/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  const cleaned = lines.map((line) => line.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trimEnd());
  while (cleaned.at(-1) === "") cleaned.pop();
  while (cleaned[0] === "") cleaned.shift();
  return cleaned;
}

function defaultText(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  const text = printJson(value);
  return text.length > maxDefaultLength ? `${text.slice(0, maxDefaultLength)}…` : text;
}
