// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { desiredObjects, lastCall, type Run } from "./run-views.ts";

/** What a step made of a field before the step that is blamed. */
interface EarlierValue {
  readonly step: string;
  /** Undefined when the step removed the field. */
  readonly value: JsonValue | undefined;
}

/** Which step set a field of a desired resource. */
export interface BlamedField {
  readonly resource: string;
  readonly path: string;
  readonly value: JsonValue;
  readonly step: string;
  readonly function: string;
  readonly revision: string;
  /** What earlier steps had set, in order. */
  readonly overwrote: readonly EarlierValue[];
}

/** Which fields to blame. */
interface BlameFilter {
  readonly resource?: string | undefined;
  /** The fields at or below this path. */
  readonly path?: string | undefined;
}

/** One step and the desired resources after it. */
interface Stage {
  readonly step: Pick<BlamedField, "step" | "function" | "revision">;
  readonly objects: ReadonlyMap<string, JsonObject>;
}

/**
 * Names the step that set each field of the desired resources. A subtree whose fields one step set, and no step before, is one entry.
 * A step that returns a field as it was is not blamed.
 */
export function blame(run: Run, filter: BlameFilter = {}): readonly BlamedField[] {
  const stages = stagesOf(run);
  const last = stages.at(-1)?.objects ?? new Map<string, JsonObject>();
  const names = [...last.keys()].filter((name) => filter.resource === undefined || name === filter.resource).sort();
  return names.flatMap((resource) => {
    const leaves = blameLeaves(resource, stages);
    return collapsed({ path: "", value: last.get(resource) ?? {} }, { resource, leaves, from: filter.path ?? "" });
  });
}

function stagesOf({ steps }: Run): readonly Stage[] {
  return steps.flatMap((step) => {
    const response = lastCall(step)?.response;
    if (response === undefined) return [];
    const { name, function: fn, revision } = step;
    return [{ step: { step: name, function: fn, revision }, objects: desiredObjects(response.desired) }];
  });
}

type Blamed = Omit<BlamedField, "resource" | "path" | "value">;

/** The step that set each leaf of the final object, by path. */
function blameLeaves(resource: string, stages: readonly Stage[]): ReadonlyMap<string, Blamed> {
  const histories = new Map<string, { readonly value: string | undefined; readonly set: readonly Change[] }>();
  for (const { step, objects } of stages) {
    const leaves = leavesOf(objects.get(resource));
    for (const path of new Set([...leaves.keys(), ...histories.keys()])) {
      const known = histories.get(path);
      const value = leaves.get(path);
      const text = value === undefined ? undefined : printJson(value);
      if (known?.value === text) continue;
      histories.set(path, { value: text, set: [...(known?.set ?? []), { step, value }] });
    }
  }
  return new Map([...histories].flatMap(([path, { set }]) => blamedIn(path, set)));
}

interface Change {
  readonly step: Stage["step"];
  readonly value: JsonValue | undefined;
}

function blamedIn(path: string, set: readonly Change[]): readonly (readonly [string, Blamed])[] {
  const last = set.at(-1);
  if (last === undefined || last.value === undefined) return [];
  const overwrote = set.slice(0, -1).map(({ step, value }) => ({ step: step.step, value }));
  return [[path, { ...last.step, overwrote }]];
}

interface Collapsing {
  readonly resource: string;
  readonly leaves: ReadonlyMap<string, Blamed>;
  /** Only what is at or below this path. */
  readonly from: string;
}

function collapsed(
  node: { readonly path: string; readonly value: JsonValue },
  all: Collapsing,
): readonly BlamedField[] {
  const { resource, leaves, from } = all;
  const isWithin = from === "" || node.path === from || isBelow(node.path, from);
  if (!isWithin && node.path !== "" && !isBelow(from, node.path)) return [];
  const own = leaves.get(node.path);
  const children = childrenOf(node.value, node.path);
  if (children.length === 0) return own === undefined || !isWithin ? [] : [{ resource, ...node, ...own }];
  const inner = children.flatMap((child) => collapsed(child, all));
  const [first] = inner;
  const isOne =
    isWithin && first !== undefined && inner.every((one) => one.step === first.step && one.overwrote.length === 0);
  return isOne ? [{ ...first, path: node.path, value: node.value }] : inner;
}

function isBelow(path: string, parent: string): boolean {
  return path.startsWith(parent) && /^[.[]/.test(path.slice(parent.length));
}

/** The value at a path of a desired resource, and the step that set it; undefined when the run has no such field. */
export function blameAt(
  run: Run,
  resource: string,
  path: string,
): { readonly step: string; readonly text: string } | undefined {
  const found = blame(run, { resource, path });
  if (found.length === 0) return undefined;
  const steps = [...new Set(found.map(({ step }) => step))].join(",");
  return { step: steps, text: printJson(found.map((one) => [one.path, sorted(one.value)])) };
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key] ?? null)]),
  );
}

/** One level of a field path: a member, or an item of a list by its key or position. */
interface FieldChild {
  readonly path: string;
  readonly value: JsonValue;
}

/** Members that identify the items of a list, where all items have it and no two have the same. */
const keys = ["name", "key", "id", "type"] as const;

/** The members of an object or the items of a list, with their paths. A scalar, and an empty object or list, has none. */
export function childrenOf(value: JsonValue, path: string): readonly FieldChild[] {
  if (Array.isArray(value)) {
    const key = listKey(value);
    return value.map((item, index) => ({
      path: `${path}[${key === undefined ? index : `${key}=${String((item as JsonObject)[key])}`}]`,
      value: item,
    }));
  }
  if (!isJsonObject(value)) return [];
  return Object.keys(value)
    .sort()
    .map((name) => ({ path: memberPath(path, name), value: value[name] ?? null }));
}

/** All fields below a value that have no fields themselves, by path. */
export function leavesOf(value: JsonValue | undefined, path = ""): Map<string, JsonValue> {
  const leaves = new Map<string, JsonValue>();
  const collect = (one: JsonValue, at: string): void => {
    const children = childrenOf(one, at);
    if (children.length === 0) leaves.set(at, one);
    for (const child of children) collect(child.value, child.path);
  };
  if (value !== undefined) collect(value, path);
  return leaves;
}

function memberPath(path: string, name: string): string {
  if (!/^[A-Za-z_$(][\w$()-]*$/.test(name)) return `${path}[${name}]`;
  return path === "" ? name : `${path}.${name}`;
}

function listKey(items: readonly JsonValue[]): string | undefined {
  return keys.find((key) => {
    const values = items.map((item) => (isJsonObject(item) ? item[key] : undefined));
    return values.every((value) => typeof value === "string" && value !== "") && new Set(values).size === values.length;
  });
}

/** A field that differs. */
export interface FieldChange {
  readonly path: string;
  /** Undefined where the field is missing. */
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/** The fields that differ between two values. */
export function changesBetween(before: JsonValue | undefined, after: JsonValue | undefined, path = ""): FieldChange[] {
  const [old, now] = [leavesOf(before, path), leavesOf(after, path)];
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort();
  return paths
    .map((one) => ({ path: one, before: old.get(one), after: now.get(one) }))
    .filter((change) => !isSame(change.before, change.after));
}

function isSame(before: JsonValue | undefined, after: JsonValue | undefined): boolean {
  return before === undefined || after === undefined ? before === after : jsonEqual(before, after);
}
