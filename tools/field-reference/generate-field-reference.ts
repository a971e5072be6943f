// SPDX-License-Identifier: Apache-2.0
// The reference of the fields of every kind of ours: one page a kind, made from the CRDs that the control plane installs.
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type CompositeKind, compositeKinds } from "./composite-kinds.ts";
import { type BorrowedFields, type FieldRow, fieldRows } from "./field-rows.ts";
import { type Kind, type KindVersion, kindsOfOurs } from "./kinds.ts";

const folder = "docs/reference/fields";
const note = "<!-- Generated from the CRDs by `npm run generate`. Do not edit. -->";

/** Fields that another project defines and documents. */
const borrowed: BorrowedFields = new Map([
  [
    "spec.deploymentTemplate.spec",
    "Has the fields of the spec of an `apps/v1` Deployment: `kubectl explain deployment.spec --recursive`.",
  ],
]);

/** The pages, by their path. */
export function generateFieldReference(): ReadonlyMap<string, string> {
  const kinds = kindsOfOurs();
  return new Map([
    [`${folder}/README.md`, indexPage(kinds)],
    ...compositeKinds().map((kind) => [`${folder}/${kind.file}`, compositePage(kind)] as const),
    ...kinds.map((kind) => [`${folder}/${fileOf(kind)}`, kindPage(kind)] as const),
  ]);
}

/** `pkg-function.md`: kinds of different groups can share a name. */
function fileOf({ group, kind }: Kind): string {
  return `${group.split(".")[0]}-${kind.toLowerCase()}.md`;
}

function indexPage(kinds: readonly Kind[]): string {
  const rows = (some: readonly Kind[]): string =>
    some
      .map((kind) => {
        const versions = kind.versions.map(({ name }) => `\`${name}\``).join(", ");
        return `| [${kind.kind}](${fileOf(kind)}) | \`${kind.group}\` | ${versions} | ${kind.scope} |`;
      })
      .join("\n");
  const made = compositeKinds().map(({ title, file, about }) => `- [${title}](${file}): ${about}`);
  const head = "| Kind | Group | Versions | Scope |\n|---|---|---|---|";
  return `${note}

# Kinds and their fields

Every field of every kind, with its type, default and validation: what \`kubectl explain --recursive\` shows, and what the API server checks. In a
path, \`[]\` stands for each item of a list and \`.*\` for each value of a map.

## Kinds of the control plane

${head}
${rows(kinds)}

## Kinds that definitions make

A CompositeResourceDefinition makes a kind of composite resource, and a kind of claim if it offers claims. Their objects have the fields of the definition's schema and
those of the control plane:

${made.join("\n")}
`;
}

function compositePage({ title, about, schema }: CompositeKind): string {
  return `${note}\n\n# ${title}\n\n${about}\n\n## Fields\n\n${fieldTable(schema)}\n`;
}

function kindPage(kind: Kind): string {
  const newest = newestOf(kind.versions);
  const about = String(newest?.schema.openAPIV3Schema["description"] ?? "");
  const parts = [note, `# ${titleOf(kind)}`, about, factTable(kind)];
  return `${[...parts, ...versionParts(kind)].join("\n\n")}\n`;
}

function titleOf({ kind, group }: Kind): string {
  return kind === "Usage" ? `${kind} (${group})` : kind;
}

/** The last version that is not deprecated. */
function newestOf(versions: readonly KindVersion[]): KindVersion | undefined {
  return versions.findLast(({ deprecationWarning }) => deprecationWarning === undefined) ?? versions.at(-1);
}

function factTable({ group, plural, scope, shortNames, categories, versions }: Kind): string {
  const rows: (readonly [string, string])[] = [
    ["Group", `\`${group}\``],
    ["Versions", versions.map(versionText).join("; ")],
    ["Scope", scope],
    ["Names for kubectl", [plural, ...shortNames].map((name) => `\`${name}\``).join(", ")],
  ];
  if (categories.length > 0) rows.push(["Categories", categories.map((name) => `\`${name}\``).join(", ")]);
  return `| | |\n|---|---|\n${rows.map(([name, text]) => `| ${name} | ${cell(text)} |`).join("\n")}`;
}

function versionText({ name, storage, deprecationWarning }: KindVersion): string {
  const notes = [...(storage ? ["stored"] : []), ...(deprecationWarning === undefined ? [] : ["deprecated"])];
  return notes.length === 0 ? `\`${name}\`` : `\`${name}\` (${notes.join(", ")})`;
}

/** A table for each version, newest first; versions with the same fields share one. */
function versionParts({ versions }: Kind): readonly string[] {
  const groups: KindVersion[][] = [];
  for (const version of versions.toReversed()) {
    const same = groups.find(([first]) => isDeepStrictEqual(first?.schema, version.schema));
    if (same === undefined) groups.push([version]);
    else same.push(version);
  }
  return groups.flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const names = group.map(({ name }) => name).join(" and ");
    return [groups.length === 1 ? "## Fields" : `## Fields of ${names}`, fieldTable(first.schema.openAPIV3Schema)];
  });
}

function fieldTable(schema: JsonObject): string {
  const rows = fieldRows(schema, borrowed).filter(({ path }) => path !== "apiVersion" && path !== "kind");
  return `| Field | Type | Required | Default | Validation | Description |\n|---|---|---|---|---|---|\n${rows.map(rowText).join("\n")}`;
}

function rowText({ path, type, isRequired, defaultValue, validations, description }: FieldRow): string {
  const about = path === "metadata" && description === "" ? "Standard object metadata." : description;
  const value = defaultValue === undefined ? "" : `\`${defaultValue}\``;
  const cells = [`\`${path}\``, type, isRequired ? "yes" : "", value, validations.join("; "), about];
  return `| ${cells.map(cell).join(" | ")} |`;
}

/** A text inside a table, where `|` ends a cell even in code. */
function cell(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|");
}
