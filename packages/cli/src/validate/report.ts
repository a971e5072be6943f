// SPDX-License-Identifier: Apache-2.0
import { keyOf } from "@purlin/kube-objects/object";
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
export const objectName = ({ object }: Pick<Judged["manifest"], "object">): string =>
  `${object.kind}/${object.metadata.name ?? object.metadata.generateName ?? ""}`;

/** For programs: the document of `crossplane resource validate -o json`, with the place and code of each finding. */
export function documentOf(report: Report): object {
  const { total, valid, invalid, missingSchemas, warnings } = summaryOf(report);
  return {
    summary: { total, valid, invalid, missingSchemas, warnings },
    resources: report.judged.map((one) => {
      const { object } = one.manifest;
      const { namespace } = keyOf(object);
      return {
        apiVersion: object.apiVersion,
        kind: object.kind,
        name: object.metadata.name ?? "",
        ...(namespace && { namespace }),
        status: statusOf(one),
        ...(one.findings.length > 0 && { errors: one.findings.map(errorOf) }),
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

/** For GitHub Actions: annotations of the files of a pull request. */
export function githubLines({ judged }: Report): string {
  const escaped = (text: string): string => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const property = (text: string): string => escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const lines = judged.flatMap(({ findings }) =>
    findings.map((finding) => {
      const { file, line, column } = placeOf(finding);
      const place = `file=${property(file)},line=${line},col=${column},title=${finding.code}`;
      return `::${finding.level} ${place}::${escaped(`${objectName(finding.manifest)}: ${finding.text}`)}\n`;
    }),
  );
  return lines.join("");
}

/** For code scanning: SARIF 2.1.0. */
export function sarifOf({ judged }: Report, version: string): object {
  const rules = Object.entries(checks).map(([id, text]) => ({ id, shortDescription: { text } }));
  const results = judged.flatMap(({ findings }) => findings.map(sarifResult));
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{ tool: { driver: { name: "purlin", version, rules } }, results }],
  };
}

function sarifResult(finding: Finding): object {
  const { file, line, column }: Place = placeOf(finding);
  const region = { startLine: line, startColumn: column };
  const uri = file.split("/").map(encodeURIComponent).join("/");
  return {
    ruleId: finding.code,
    level: finding.level,
    message: { text: `${objectName(finding.manifest)}: ${finding.text}` },
    locations: [{ physicalLocation: { artifactLocation: { uri }, region } }],
  };
}
