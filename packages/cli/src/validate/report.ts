// SPDX-License-Identifier: Apache-2.0

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { crossplaneAnnotations } from "@purlin/composition";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { harmless, harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { createStyle } from "../terminal/style.ts";
import { checks, type Finding, type Place, placeOf } from "./finding.ts";
import type { Judged } from "./validate-objects.ts";

/** What was found in all objects. */
export interface Report {
  readonly judged: readonly Judged[];
  /** Why the schemas of some packages are unknown, a line each. */
  readonly missingPackages: readonly string[];
}

/** How many there are of what. */
interface Summary {
  readonly total: number;
  readonly valid: number;
  readonly invalid: number;
  readonly missingSchemas: number;
  readonly errors: number;
  readonly warnings: number;
  /** CEL rules about changes that were not evaluated. */
  readonly skippedRules: number;
}

export function summaryOf({ judged, missingPackages }: Report): Summary {
  const findings = judged.flatMap((one) => one.findings);
  const count = (status: Status): number => judged.filter((one) => statusOf(one) === status).length;
  return {
    total: judged.length,
    valid: count("valid"),
    invalid: count("invalid"),
    missingSchemas: count("missingSchema"),
    errors: findings.filter(({ level }) => level === "error").length,
    warnings: findings.filter(({ level }) => level === "warning").length + missingPackages.length,
    skippedRules: judged.reduce((sum, one) => sum + one.skippedRules, 0),
  };
}

type Status = "valid" | "invalid" | "missingSchema";

/** How an object is counted. */
export function statusOf({ manifest, findings }: Judged): Status {
  const lacksSchema = findings.some(({ code, type }) => type === "missingSchema" && code === "V01");
  if (lacksSchema) return "missingSchema";
  return findings.some((finding) => finding.level === "error" && finding.manifest === manifest) ? "invalid" : "valid";
}

/** An object in a message. */
const objectName = ({ object }: Pick<Judged["manifest"], "object">): string =>
  `${object.kind}/${object.metadata.name ?? object.metadata.generateName ?? ""}`;

/** The name of an object; of a composed resource that the control plane will name, the name in its Composition. */
export const shownName = ({ metadata }: KubeObject): string =>
  metadata.name ?? metadata.annotations?.[crossplaneAnnotations.resourceName] ?? "";

/** For programs: the document of `crossplane resource validate -o json`, with the place and code of each finding. */
export function documentOf(report: Report, entryOf: (finding: Finding) => object = errorOf): object {
  const { total, valid, invalid, missingSchemas, warnings, skippedRules } = summaryOf(report);
  return {
    summary: { total, valid, invalid, missingSchemas, warnings, ...(skippedRules > 0 && { skippedRules }) },
    resources: report.judged.map((one) => {
      const { object } = one.manifest;
      const { namespace } = keyOf(object);
      return {
        apiVersion: object.apiVersion,
        kind: object.kind,
        name: shownName(object),
        ...(namespace && { namespace }),
        status: statusOf(one),
        ...(one.findings.length > 0 && { errors: one.findings.map(entryOf) }),
      };
    }),
    ...(report.missingPackages.length > 0 && { missingPackages: report.missingPackages }),
  };
}

/** The path of a finding as text. */
export function fieldOf({ path }: Pick<Finding, "path">): string {
  return path
    .map((segment) => (typeof segment === "number" ? `[${segment}]` : `.${segment}`))
    .join("")
    .replace(/^\./, "");
}

function errorOf(finding: Finding): object {
  const { type, text, level, code } = finding;
  const field = fieldOf(finding);
  return { type, ...(field !== "" && { field }), message: text, ...placeOf(finding), level, code };
}

/** A line of the reports for code hosts. */
interface Mark {
  readonly level: Finding["level"];
  readonly text: string;
  readonly code?: string;
  /** Absent when the error names no place. */
  readonly place?: Place;
}

const marksOf = ({ judged }: Report): Mark[] =>
  judged.flatMap(({ findings }) =>
    findings.map((finding) => ({
      level: finding.level,
      text: `${objectName(finding.manifest)}: ${finding.text}`,
      code: finding.code,
      place: placeOf(finding),
    })),
  );

/** An error that ended the validation, such as a file that does not parse. */
function markOfError(message: string): Mark {
  const [, file, line, column, text] = /^(.+?):(\d+):(\d+): (.*)$/s.exec(message) ?? [];
  if (file === undefined || text === undefined) return { level: "error", text: message };
  return { level: "error", text, place: { file, line: Number(line), column: Number(column) } };
}

/** For GitHub Actions: annotations of the files of a pull request. */
export const githubLines = (report: Report): string => marksOf(report).map(githubLine).join("");

/** {@link githubLines} of an error that ended the validation. */
export const githubError = (message: string): string => githubLine(markOfError(message));

function githubLine({ level, text, code, place }: Mark): string {
  const escaped = (part: string): string => part.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const property = (part: string): string => escaped(part).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const properties = [
    ...(place === undefined ? [] : [`file=${property(place.file)},line=${place.line},col=${place.column}`]),
    ...(code === undefined ? [] : [`title=${code}`]),
  ];
  return `::${[level, properties.join(",")].filter((part) => part !== "").join(" ")}::${escaped(text)}\n`;
}

/** For code scanning: SARIF 2.1.0. */
export const sarifOf = (report: Report, version: string): object =>
  sarifDocument(marksOf(report).map(sarifResult), version, true);

/** {@link sarifOf} of an error that ended the validation. */
export const sarifError = (message: string, version: string): object =>
  sarifDocument([sarifResult(markOfError(message))], version, false);

function sarifDocument(results: readonly object[], version: string, isComplete: boolean): object {
  const rules = Object.entries(checks).map(([id, text]) => ({ id, shortDescription: { text } }));
  const invocations = [{ executionSuccessful: isComplete }];
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{ tool: { driver: { name: "purlin", version, rules } }, invocations, results }],
  };
}

function sarifResult({ level, text, code, place }: Mark): object {
  const result = { ...(code !== undefined && { ruleId: code }), level, message: { text } };
  if (place === undefined) return result;
  const region = { startLine: place.line, startColumn: place.column };
  const uri = place.file.split("/").map(encodeURIComponent).join("/");
  return { ...result, locations: [{ physicalLocation: { artifactLocation: { uri }, region } }] };
}

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
  return [...lines, ...skippedLines(report), countLine(report), ""].join("\n");
}

function findingLines(finding: Finding, source: readonly string[], io: Io): string[] {
  const style = createStyle(io.stdout, io.env);
  const { file, line, column } = placeOf(finding);
  const level = finding.level === "error" ? style.bad("error:") : style.doubtful("warning:");
  const head = `${harmlessLine(file)}:${line}:${column}: ${level} ${harmlessLine(`${objectName(finding.manifest)}: ${finding.text}`)} [${finding.code}]`;
  const text = source[line - 1];
  if (text === undefined) return [head];
  const number = String(line).padStart(5);
  const { shown, at } = windowOf(text, column - 1);
  // A tab is as wide above the mark as in the line itself.
  const before = shown.slice(0, at).replaceAll(/[^\t]/g, " ");
  return [head, `${number} | ${harmless(shown)}`, `${" ".repeat(number.length)} | ${before}^`];
}

/** The part of a long line around a column, and where the column is in it. */
function windowOf(text: string, column: number): { readonly shown: string; readonly at: number } {
  if (text.length <= widest) return { shown: text, at: column };
  const start = Math.max(0, Math.min(column - widest / 2, text.length - widest));
  const [left, right] = [start > 0 ? "…" : "", start + widest < text.length ? "…" : ""];
  return { shown: `${left}${text.slice(start, start + widest)}${right}`, at: column - start + left.length };
}

async function sourceOf(finding: Finding, sources: Map<string, readonly string[]>, io: Io): Promise<readonly string[]> {
  const { file } = finding.manifest;
  const known = sources.get(file);
  if (known !== undefined) return known;
  // Standard input can be read only once.
  const text = file === "-" ? "" : await readFile(resolve(io.cwd, file), "utf8").catch(() => "");
  const lines = text === "" ? [] : text.split(/\r\n|\r|\n/);
  sources.set(file, lines);
  return lines;
}

function skippedLines(report: Report): string[] {
  const { skippedRules } = summaryOf(report);
  if (skippedRules === 0) return [];
  const rules = skippedRules === 1 ? "1 CEL rule about changes was" : `${skippedRules} CEL rules about changes were`;
  return [`note: ${rules} not evaluated: pass the objects as they were with --old`];
}

function countLine(report: Report): string {
  const { total, missingSchemas, errors, warnings } = summaryOf(report);
  const files = new Set(report.judged.map(({ manifest }) => manifest.file)).size;
  const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
  const objects = `${count(total, "object")} in ${count(files, "file")}`;
  const without = missingSchemas === 0 ? "" : `, ${missingSchemas} without a schema`;
  return `${objects}: ${count(errors, "error")}, ${count(warnings, "warning")}${without}`;
}
