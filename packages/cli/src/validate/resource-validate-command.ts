// SPDX-License-Identifier: Apache-2.0

import { resolve } from "node:path";
import { parseJson, printJson } from "@purlin/kube-objects/json";
import { printYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { findManifests } from "../manifests/manifest.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { harmless, harmlessJson } from "../terminal/harmless.ts";
import { isCrd, isDefinition } from "../tree/defined-kinds.ts";
import { UserError } from "../user-error.ts";
import { type Finding, placeOf } from "./finding.ts";
import { documentOf, fieldOf, type Report, shownName, statusOf, summaryOf } from "./report.ts";
import { validate } from "./validate-command.ts";
import type { Judged } from "./validate-objects.ts";

const formats = ["text", "json", "yaml"];
/** What Crossplane's command checks; the other checks are those of `purlin validate`. */
const checked: ReadonlySet<Finding["type"]> = new Set(["schema", "unknownField", "cel", "missingSchema"]);

/** `purlin resource validate EXTENSIONS RESOURCES` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const output = textOption(input, "output") ?? "text";
  if (!formats.includes(output)) {
    throw new UserError(`--output ${output}: expected ${formats.join(", ")}`, { exitCode: 2 });
  }
  const [extensions = [], resources = []] = input.args.map((list) => list.split(",").filter((path) => path !== ""));
  const report = await validate([...extensions, ...resources], input, io);
  const files = new Set((await findManifests(resources, io, { stdin: true })).map((file) => resolve(io.cwd, file)));
  const isResource = ({ manifest }: Judged): boolean => files.has(resolve(io.cwd, manifest.file));
  const judged = report.judged.filter(isResource).map(({ manifest, findings }) => ({
    manifest,
    findings: findings.filter(({ type, level, code }) => checked.has(type) && (level === "error" || code === "V01")),
  }));
  const own: Report = { judged, missingPackages: report.missingPackages };
  const document = (): object => {
    const shown = isSet(input, "skipSuccessResults") ? judged.filter((one) => statusOf(one) !== "valid") : judged;
    return {
      ...documentOf(own),
      resources: (documentOf({ ...own, judged: shown }, entryOf) as { resources: object }).resources,
    };
  };
  warnAboutExtensions(
    report.judged.filter((one) => !isResource(one)),
    io,
  );
  if (output === "json") io.stdout.write(`${harmlessJson(printJson(document(), { indent: 2 }))}\n`);
  else if (output === "yaml") io.stdout.write(printYaml(document()));
  else io.stdout.write(harmless(textOf(own, isSet(input, "skipSuccessResults"))));
  const { invalid, missingSchemas } = summaryOf(own);
  return invalid > 0 || (isSet(input, "errorOnMissingSchemas") && missingSchemas > 0) ? 1 : 0;
}

function textOf(report: Report, skipsValid: boolean): string {
  const { total, valid, invalid, missingSchemas } = summaryOf(report);
  const lines = report.judged.flatMap((one) => linesOf(one, skipsValid));
  const last = `Total ${total} resources: ${missingSchemas} missing schemas, ${valid} success cases, ${invalid} failure cases`;
  return `${[...lines, last].join("\n")}\n`;
}

function linesOf(one: Judged, skipsValid: boolean): string[] {
  const { object } = one.manifest;
  const kind = `${object.apiVersion}, Kind=${object.kind}`;
  const name = shownName(object);
  const status = statusOf(one);
  if (status === "missingSchema") return [`[!] could not find CRD/XRD for: ${kind}`];
  if (status === "valid") return skipsValid ? [] : [`[✓] ${kind}, ${name} validated successfully`];
  return one.findings.map((finding) => {
    const what = finding.type === "cel" ? "CEL validation error" : "schema validation error";
    return `[x] ${what} ${kind}, ${name} : ${messageOf(finding)}`;
  });
}

/** An extension that a server refuses gives no schema: without this, its kind would only seem to be missing. */
function warnAboutExtensions(judged: readonly Judged[], io: Io): void {
  for (const { manifest, findings } of judged) {
    const [first] = findings.filter(({ level }) => level === "error");
    if (first === undefined || (!isCrd(manifest.object) && !isDefinition(manifest.object))) continue;
    const { file, line, column } = placeOf(first);
    const { kind, metadata } = manifest.object;
    io.stderr.write(harmless(`warning: ${file}:${line}:${column}: ${kind}/${metadata.name ?? ""}: ${first.text}\n`));
  }
}

/** A finding with the members of Crossplane's command, and ours beside them. */
function entryOf(finding: Finding): object {
  const { type, level, code, text } = finding;
  const field = fieldOf(finding);
  const message = messageOf(finding);
  const value = badValue(finding, message);
  return {
    type,
    ...(field !== "" && { field }),
    message,
    ...(value !== undefined && { value }),
    ...placeOf(finding),
    level,
    code,
    ...(text !== message && { advice: text }),
  };
}

/** The text of Crossplane's command, which reads every number as a floating-point one. */
function messageOf(finding: Finding): string {
  const { text, type } = finding;
  const field = fieldOf(finding);
  if (type === "missingSchema") return text;
  if (type === "unknownField") {
    const name = JSON.stringify(String(finding.path.at(-1) ?? ""));
    return `${field}: Invalid value: ${name}: unknown field: ${name}`;
  }
  const whole = field === "" || text.startsWith(`${field}:`) ? text : `${field}: ${text}`;
  return whole.replace(
    /Invalid value: "integer": (.* must be of type \S+: )"integer"$/s,
    'Invalid value: "number": $1"number"',
  );
}

const literal =
  /^(?:Invalid|Unsupported|Duplicate) value: ("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|true|false|null)(?::|$)/s;

/** The value that a message is about, as Crossplane's command has it: of a rule of CEL it keeps an empty object. */
function badValue(finding: Finding, message: string): unknown {
  if (finding.type === "missingSchema") return undefined;
  const rest = message.slice(message.indexOf(": ") + 2);
  if (/^(?:Required value|Forbidden)/.test(rest)) return "";
  if (rest.startsWith("Too long")) return "<value omitted>";
  const many = /^Too many: (\d+)/.exec(rest)?.[1];
  if (many !== undefined) return Number(many);
  const found = literal.exec(rest)?.[1];
  if (found === undefined) return finding.type === "cel" ? {} : undefined;
  try {
    return parseJson(found);
  } catch {
    // Quoted as Go quotes, with escapes that JSON does not have.
    return found.slice(1, -1);
  }
}
