// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { createTemplatePrinter, type TemplatePrinter } from "@purlin/kube-objects/json-path";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Target, typeText } from "../cluster/find-resource.ts";
import { printYaml } from "../files/yaml-file.ts";
import { textOf, UserError } from "../user-error.ts";

/** How objects are shown. */
export type OutputFormat =
  | { readonly kind: "table"; readonly isWide: boolean }
  | { readonly kind: "yaml" }
  | { readonly kind: "json" }
  | { readonly kind: "name" }
  | { readonly kind: "jsonpath"; readonly print: TemplatePrinter };

const template = /^jsonpath=(.*)$/s;

/** Reads --output. Throws a UserError that lists what it takes. */
export function readFormat(text: string): OutputFormat {
  if (text === "table" || text === "wide") return { kind: "table", isWide: text === "wide" };
  if (text === "yaml" || text === "json" || text === "name") return { kind: text };
  const [, source] = template.exec(text) ?? [];
  if (source === undefined) {
    const problem = text.startsWith("jsonpath") ? "expected a template: jsonpath='{.metadata.name}'" : expected;
    throw new UserError(`--output ${text}: ${problem}`, { exitCode: 2 });
  }
  try {
    return { kind: "jsonpath", print: createTemplatePrinter(source) };
  } catch (error) {
    throw new UserError(`--output ${text}: ${textOf(error)}`, { exitCode: 2, cause: error });
  }
}

const expected = "expected table, wide, yaml, json, name or jsonpath=TEMPLATE";

/** A format that shows objects, not a Table of them. */
type ObjectFormat = Exclude<OutputFormat, { kind: "table" }>;

type ContentFormat = Exclude<ObjectFormat, { kind: "name" }>;

/** One object as text. */
export function printObject(object: KubeObject, format: ObjectFormat, { resource }: Target): string {
  if (format.kind === "name") return `${typeText(resource)}/${object.metadata.name}\n`;
  return printValue(withoutManagers(object), format);
}

/** Several objects as one List, as kubectl makes it of all that was asked for. */
export function printList(objects: readonly KubeObject[], format: ContentFormat): string {
  const items = objects.map(withoutManagers);
  return printValue({ apiVersion: "v1", items, kind: "List", metadata: { resourceVersion: "" } }, format);
}

function printValue(value: JsonValue, format: ContentFormat): string {
  if (format.kind === "json") return `${printJson(sorted(value), { indent: 4 })}\n`;
  if (format.kind === "yaml") return printYaml(sorted(value));
  try {
    return format.print(value);
  } catch (error) {
    throw new UserError(`--output jsonpath: ${textOf(error)}`, { cause: error });
  }
}

/** By name, as kubectl has it. */
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member as JsonValue)]));
}

/** Field ownership is long, and kubectl leaves it out as well. */
function withoutManagers(object: KubeObject): JsonValue {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
