// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { printYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { findManifests } from "../manifests/find-manifests.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { harmless, harmlessJson } from "../terminal/harmless.ts";
import { UserError } from "../user-error.ts";
import type { Finding } from "./finding.ts";
import { documentOf, fieldOf, type Report, statusOf, summaryOf } from "./report.ts";
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
      resources: (documentOf({ ...own, judged: shown }) as { resources: object }).resources,
    };
  };
  if (output === "json") io.stdout.write(`${harmlessJson(JSON.stringify(document(), undefined, 2))}\n`);
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
  const name = object.metadata.name ?? object.metadata.annotations?.["crossplane.io/composition-resource-name"] ?? "";
  const status = statusOf(one);
  if (status === "missingSchema") return [`[!] could not find CRD/XRD for: ${kind}`];
  if (status === "valid") return skipsValid ? [] : [`[✓] ${kind}, ${name} validated successfully`];
  return one.findings.map((finding) => {
    const what = finding.type === "cel" ? "CEL validation error" : "schema validation error";
    return `[x] ${what} ${kind}, ${name} : ${messageOf(finding)}`;
  });
}

function messageOf(finding: Finding): string {
  const field = fieldOf(finding);
  if (finding.type === "unknownField") return `unknown field: "${field}"`;
  return field === "" ? finding.text : `${field}: ${finding.text}`;
}
