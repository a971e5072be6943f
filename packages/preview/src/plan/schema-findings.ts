// SPDX-License-Identifier: Apache-2.0
import {
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  ownValue,
  printJson,
} from "@purlin/kube-objects/json";
import type { DefinitionFinding } from "./plan.ts";

/** A change of a schema that may concern stored objects. */
export interface SchemaFinding extends Pick<DefinitionFinding, "path" | "level" | "text"> {
  /** Which objects it concerns: those with a value at the path, those without one, or those that the new schema refuses. */
  readonly concerns: "present" | "absent" | "invalid" | "none";
  /** The path in objects; a list or a map is passed by `*`. */
  readonly fields: readonly string[];
}

interface Pair {
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly fields: readonly string[];
}

/** What changed between two versions of a schema, by path. */
export function compareSchemas(before: JsonObject, after: JsonObject): readonly SchemaFinding[] {
  const findings: SchemaFinding[] = [];
  compareAt({ before, after, fields: [] }, findings);
  return findings;
}

function compareAt(pair: Pair, findings: SchemaFinding[]): void {
  const { before, after, fields } = pair;
  const [was, is] = [typeOf(before), typeOf(after)];
  if (was !== is) {
    findings.push(
      finding(fields, { level: "breaking", text: `type changes from ${was} to ${is}`, concerns: "present" }),
    );
    return;
  }
  findings.push(...narrowed(pair), ...defaults(pair), ...required(pair));
  compareProperties(pair, findings);
  for (const name of ["items", "additionalProperties"]) {
    const [old, next] = [ownValue(before, name), ownValue(after, name)];
    if (isJsonObject(old) && isJsonObject(next))
      compareAt({ before: old, after: next, fields: [...fields, "*"] }, findings);
  }
}

function compareProperties({ before, after, fields }: Pair, findings: SchemaFinding[]): void {
  const [old, next] = [propertiesOf(before), propertiesOf(after)];
  const keeps = after["x-kubernetes-preserve-unknown-fields"] === true;
  for (const [name, schema] of Object.entries(old)) {
    const now = ownValue(next, name);
    if (isJsonObject(schema) && isJsonObject(now))
      compareAt({ before: schema, after: now, fields: [...fields, name] }, findings);
    else if (now === undefined && !keeps) {
      findings.push(
        finding([...fields, name], {
          level: "breaking",
          text: "the field is removed: its data is lost at the next write",
          concerns: "present",
        }),
      );
    }
  }
  for (const name of Object.keys(next)) {
    if (!Object.hasOwn(old, name))
      findings.push(finding([...fields, name], { level: "safe", text: "the field is new", concerns: "none" }));
  }
}

function finding(fields: readonly string[], more: Pick<SchemaFinding, "level" | "text" | "concerns">): SchemaFinding {
  return { path: fields.join(".").replaceAll(".*", "[*]"), fields, ...more };
}

/** Limits that refuse values which were allowed. */
function narrowed({ before, after, fields }: Pair): SchemaFinding[] {
  const texts: string[] = [];
  const [old, next] = [valuesOf(before["enum"]), valuesOf(after["enum"])];
  const gone = old?.filter((value) => next !== undefined && !next.some((one) => jsonEqual(one, value))) ?? [];
  if (gone.length > 0) texts.push(`the enum loses ${gone.map((value) => printJson(value)).join(", ")}`);
  if (old === undefined && next !== undefined) texts.push("an enum is new");
  for (const [name, isNarrower] of Object.entries(limits)) {
    const [was, is] = [before[name], after[name]];
    if (is !== undefined && !jsonEqual(was ?? null, is) && isNarrower(was, is))
      texts.push(`${name} becomes ${printJson(is)}${was === undefined ? "" : ` from ${printJson(was)}`}`);
  }
  return texts.map((text) => finding(fields, { level: "breaking", text, concerns: "invalid" }));
}

type IsNarrower = (was: JsonValue | undefined, is: JsonValue) => boolean;

const isMore: IsNarrower = (was, is) => was === undefined || (isNumber(was) && isNumber(is) && is > was);
const isLess: IsNarrower = (was, is) => was === undefined || (isNumber(was) && isNumber(is) && is < was);
const limits: Readonly<Record<string, IsNarrower>> = {
  minimum: isMore,
  minLength: isMore,
  minItems: isMore,
  minProperties: isMore,
  maximum: isLess,
  maxLength: isLess,
  maxItems: isLess,
  maxProperties: isLess,
  pattern: () => true,
  format: () => true,
  "x-kubernetes-validations": () => true,
};

function defaults({ before, after, fields }: Pair): SchemaFinding[] {
  const [was, is] = [before["default"], after["default"]];
  if (jsonEqual(was ?? null, is ?? null)) return [];
  const text =
    is === undefined
      ? `the default ${printJson(was ?? null)} is removed`
      : `the default becomes ${printJson(is)}${was === undefined ? "" : ` from ${printJson(was)}`}: it acts on stored objects at once`;
  return [finding(fields, { level: "risky", text, concerns: "absent" })];
}

function required({ before, after, fields }: Pair): SchemaFinding[] {
  const [was, is] = [valuesOf(before["required"]) ?? [], valuesOf(after["required"]) ?? []];
  const added = is
    .map(String)
    .filter((name) => !was.includes(name) && ownValue(schemaAt(after, name), "default") === undefined);
  return added.map((name) =>
    finding([...fields, name], {
      level: "breaking",
      text: "the field becomes required and has no default",
      concerns: "absent",
    }),
  );
}

function schemaAt(schema: JsonObject, name: string): JsonObject {
  const found = ownValue(propertiesOf(schema), name);
  return isJsonObject(found) ? found : {};
}

function propertiesOf(schema: JsonObject): JsonObject {
  const properties = ownValue(schema, "properties");
  return isJsonObject(properties) ? properties : {};
}

function typeOf(schema: JsonObject): string {
  if (schema["x-kubernetes-int-or-string"] === true) return "int-or-string";
  return typeof schema["type"] === "string" ? schema["type"] : "any";
}

function valuesOf(value: JsonValue | undefined): readonly JsonValue[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
