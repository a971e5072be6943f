// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

/** The Markdown help of a command, without its title. The same text is in docs/reference/cli.md. */
export function helpMarkdown(commandName: string): string {
  const file = new URL(`../help/${commandName.replaceAll(" ", "-")}.md`, import.meta.url);
  return readFileSync(file, "utf8").replace(/^# .*\n+/, "");
}

/** The help of a command for a terminal. */
export function helpText(commandName: string): string {
  return terminalText(helpMarkdown(commandName));
}

/** Markdown without its marks, code indented by two spaces. */
export function terminalText(markdown: string): string {
  const lines: string[] = [];
  let inCode = false;
  for (const line of markdown.trimEnd().split("\n")) {
    if (line.startsWith("```")) inCode = !inCode;
    else if (inCode) lines.push(`  ${line}`);
    else lines.push(plain(line));
  }
  return lines.join("\n").replaceAll(/\n{3,}/g, "\n\n");
}

function plain(line: string): string {
  const heading = /^#+ (.*)$/.exec(line);
  if (heading) return `${heading[1]}:`;
  return line.replaceAll("`", "").replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1");
}
