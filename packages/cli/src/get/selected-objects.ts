// SPDX-License-Identifier: Apache-2.0
import { isNotFound } from "@purlin/kube-objects/errors";
import { isJsonArray, isJsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { createTemplatePrinter, type TemplatePrinter } from "@purlin/kube-objects/json-path";
import type { KubeObject } from "@purlin/kube-objects/object";
import { printYaml } from "@purlin/kube-objects/yaml";
import type { Cluster } from "../cluster/cluster-client.ts";
import { pathOf, type Target, typeText } from "../cluster/find-resource.ts";
import { textOf, UserError } from "../user-error.ts";

/** Which objects of a type are meant. */
export interface Selection {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/** What the API server answers for a target, in one of its forms. */
export interface Fetched {
  readonly target: Target;
  readonly answer: JsonValue;
}

export const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** The query of a selection. An object that is named needs none. */
export function queryOf({ labelSelector, fieldSelector }: Selection): Record<string, string> {
  return { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
}

/** Reads one target. Throws a UserError where it is not found. */
export async function fetchTarget(
  { client }: Cluster,
  target: Target,
  { selection, accept, signal }: { selection: Selection; accept: string; signal: AbortSignal },
): Promise<Fetched> {
  const path = pathOf(target.resource, { namespace: selection.namespace, name: target.name });
  const query = target.name === undefined ? queryOf(selection) : {};
  try {
    return { target, answer: await client.raw({ method: "GET", path, accept, query, signal }) };
  } catch (error) {
    const hint = isNotFound(error) && target.resource.namespaced ? ": check the name and --namespace" : "";
    throw new UserError(`${textOf(error)}${hint}`, { cause: error });
  }
}

/** The objects of an answer. Items of built-in lists carry no type. */
export function objectsOf({ target, answer }: Fetched): KubeObject[] {
  if (target.name !== undefined) return [answer as KubeObject];
  const { items } = answer as { readonly items?: readonly KubeObject[] | null };
  const { apiVersion, kind } = target.resource;
  return (items ?? []).map((item) => (item.kind ? item : { ...item, apiVersion, kind }));
}

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
  if (format.kind === "json") return `${sortedJson(value, "")}\n`;
  if (format.kind === "yaml") return printYaml(value, { wrap: false, quoteMergeKey: true });
  try {
    return format.print(value);
  } catch (error) {
    throw new UserError(`--output jsonpath: ${textOf(error)}`, { cause: error });
  }
}

/** JSON as kubectl has it: members by name, which JavaScript would order with integers first, and `<`, `>` and `&` escaped. */
function sortedJson(value: JsonValue, indent: string): string {
  const inner = `${indent}    `;
  const joined = (lines: readonly string[]): string => `\n${lines.join(",\n")}\n${indent}`;
  if (isJsonArray(value)) {
    const lines = value.map((item) => `${inner}${sortedJson(item, inner)}`);
    return lines.length === 0 ? "[]" : `[${joined(lines)}]`;
  }
  if (!isJsonObject(value)) return printJson(value, { htmlSafe: true });
  const lines = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort()
    .map((name) => `${inner}${printJson(name, { htmlSafe: true })}: ${sortedJson(value[name] ?? null, inner)}`);
  return lines.length === 0 ? "{}" : `{${joined(lines)}}`;
}

/** Field ownership is long, and kubectl leaves it out as well. */
function withoutManagers(object: KubeObject): JsonValue {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
