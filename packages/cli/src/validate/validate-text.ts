// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Io } from "../io.ts";
import { harmless, harmlessLine } from "../terminal/harmless.ts";
import { createStyle } from "../terminal/style.ts";
import { type Finding, placeOf } from "./finding.ts";
import { objectName, type Report, summaryOf } from "./report.ts";

const widest = 120;

/** For people: a line a finding with its place, the line of the file, and a mark below it. The last line counts. */
export async function reportText(report: Report, io: Io): Promise<string> {
  const sources = new Map<string, readonly string[]>();
  const lines: string[] = [];
  for (const finding of report.judged.flatMap(({ findings }) => findings)) {
    lines.push(...findingLines(finding, await sourceOf(finding, sources, io), io));
  }
  lines.push(
    ...report.missingPackages.map(
      (text) => `${createStyle(io.stdout, io.env).doubtful("warning:")} ${harmlessLine(text)}`,
    ),
  );
  return [...lines, countLine(report), ""].join("\n");
}

function findingLines(finding: Finding, source: readonly string[], io: Io): string[] {
  const style = createStyle(io.stdout, io.env);
  const { file, line, column } = placeOf(finding);
  const level = finding.level === "error" ? style.bad("error:") : style.doubtful("warning:");
  const head = `${harmlessLine(file)}:${line}:${column}: ${level} ${harmlessLine(`${objectName(finding.manifest)}: ${finding.text}`)} [${finding.code}]`;
  const text = source[line - 1];
  if (text === undefined || text.length > widest) return [head];
  const number = String(line).padStart(5);
  // A tab is as wide above the mark as in the line itself.
  const before = text.slice(0, column - 1).replaceAll(/[^\t]/g, " ");
  return [head, `${number} | ${harmless(text)}`, `${" ".repeat(number.length)} | ${before}^`];
}

async function sourceOf(finding: Finding, sources: Map<string, readonly string[]>, io: Io): Promise<readonly string[]> {
  const { file } = placeOf(finding);
  const known = sources.get(file);
  if (known !== undefined) return known;
  // Standard input can be read only once.
  const text = file === "-" ? "" : await readFile(resolve(io.cwd, file), "utf8").catch(() => "");
  const lines = text.split(/\r\n|\r|\n/);
  sources.set(file, lines);
  return lines;
}

function countLine(report: Report): string {
  const { total, missingSchemas, errors, warnings } = summaryOf(report);
  const files = new Set(report.judged.map(({ manifest }) => manifest.file)).size;
  const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
  const objects = `${count(total, "object")} in ${count(files, "file")}`;
  const without = missingSchemas === 0 ? "" : `, ${missingSchemas} without a schema`;
  return `${objects}: ${count(errors, "error")}, ${count(warnings, "warning")}${without}`;
}
