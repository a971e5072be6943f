// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

/** The Markdown help of a command, without its title. The same text is in docs/reference/cli.md. */
export function helpMarkdown(commandName: string): string {
  const file = new URL(`../help/${commandName.replaceAll(" ", "-")}.md`, import.meta.url);
  return readFileSync(file, "utf8").replace(/^# .*\n+/, "");
}

/** The help of a command for a terminal of this many columns. */
export function helpText(commandName: string, columns?: number): string {
  return terminalText(helpMarkdown(commandName), columns);
}

/** Longer lines are hard to read, however wide the window is. */
const mostColumns = 100;

/** Markdown without its marks: paragraphs as wide as the terminal, code as it is, indented by two spaces. */
export function terminalText(markdown: string, columns: number = mostColumns): string {
  const lines: string[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    lines.push(...wrapWords(paragraph.join(" "), Math.min(columns, mostColumns)));
    paragraph = [];
  };
  let inCode = false;
  let isShell = false;
  const all = markdown.trimEnd().split("\n");
  for (const [at, line] of all.entries()) {
    const isFence = line.startsWith("```");
    const row = inCode ? undefined : tableCells(line, all[at + 1]);
    if (isFence || inCode || line === "" || row !== undefined || startsAnew.test(line)) endParagraph();
    if (isFence) {
      inCode = !inCode;
      isShell = line === "```sh";
    } else if (inCode) lines.push(...(isShell ? wrapCommand(line, columns - 2) : [line]).map((part) => `  ${part}`));
    else if (line === "") lines.push("");
    else if (row !== undefined) lines.push(...rowLines(row.map(plain), Math.min(columns, mostColumns)));
    else paragraph.push(plain(line));
    if (line.startsWith("#") && !inCode) endParagraph();
  }
  endParagraph();
  return lines.join("\n").replaceAll(/\n{3,}/g, "\n\n");
}

const separator = /^\|(\s*:?-+:?\s*\|)+$/;

/** The cells of a row of a table; none for its headings and the line below them, undefined for other lines. */
export function tableCells(line: string, next = ""): readonly string[] | undefined {
  if (!line.startsWith("|")) return undefined;
  if (separator.test(line) || separator.test(next)) return [];
  const cells = line.split(/(?<!\\)\|/).slice(1, -1);
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** What a row is about, and what it says: behind it if that is a short word, otherwise below it. */
function rowLines([first, ...others]: readonly string[], columns: number): string[] {
  if (first === undefined) return [];
  const says = wrapWords(others.join(": "), columns - 6).map((text) => `      ${text}`);
  const [one = "", ...rest] = says;
  return first.length < 4
    ? [`  ${first.padEnd(3)} ${one.trimStart()}`, ...rest]
    : [...wrapWords(first, columns - 2).map((text) => `  ${text}`), ...says];
}

/** Headings and items of lists have lines of their own. */
const startsAnew = /^(#+ |- |\d+\. )/;

/** A command that is too long continues in the next line, so that it can be copied as it is. Other code is not changed. */
function wrapCommand(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const lines: string[] = [];
  let current = "";
  for (const word of words) {
    const indent = lines.length === 0 ? "" : "  ";
    if (current !== "" && indent.length + current.length + word.length + 3 > width) {
      lines.push(`${indent}${current} \\`);
      current = word;
    } else current = current === "" ? word : `${current} ${word}`;
  }
  return [...lines, `${lines.length === 0 ? "" : "  "}${current}`];
}

/** Text in lines of this many columns, broken between words. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").filter(Boolean)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, line];
}

function plain(line: string): string {
  const heading = /^#+ (.*)$/.exec(line);
  if (heading) return `${heading[1]}:`;
  return line.replaceAll("`", "").replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1");
}
