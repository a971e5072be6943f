// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { isPartDone, type Work } from "@purlin/base";
import {
  type Resource,
  type RunFunctionRequest,
  type RunFunctionResponse,
  Severity,
  type Struct,
} from "@purlin/function-protocol";
import { compareValues, type FieldChange } from "@purlin/kube-objects/difference";
import { compareUtf8, type JsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import type { createRedactor } from "@purlin/run-store";
import type { MovedNames } from "../function-runner.ts";

/** Two answers to one request. */
interface AnswerPair {
  readonly request: RunFunctionRequest;
  readonly stable: RunFunctionResponse;
  readonly candidate: RunFunctionResponse;
  /** Resources whose absence is not a deletion. */
  readonly moved?: MovedNames | undefined;
}

export type Comparison = Pick<ShadowDetail, "class" | "resources" | "differing" | "message">;

const listedResources = 20;
const listedFields = 20;
const listedBytes = 400;
/** The characters of all fields of a report; resources are named beyond that. */
const reportBytes = 16 * 1024;

/** Compares the desired states of two answers, by resource and field. Sensitive values are marks in the result. */
export function* compareAnswers(pair: AnswerPair, redactorFor: ReturnType<typeof createRedactor>): Work<Comparison> {
  const { stable, candidate } = pair;
  const fatal = fatalIn(candidate);
  if (fatal !== undefined && fatalIn(stable) === undefined) {
    const redactor = redactorFor();
    yield* redactor.request(pair.request);
    for (const one of [stable, candidate]) yield* redactor.response(one);
    return { class: "fatal", resources: [], differing: 0, message: yield* redactor.scrubText(fatal) };
  }
  if (isSameState(stable, candidate)) {
    return { class: isSameText(stable, candidate) ? "none" : "cosmetic", resources: [], differing: 0 };
  }
  const differences = yield* differencesOf(yield* redacted(pair, redactorFor), pair.moved);
  const texts: ShadowClass = isSameText(stable, candidate) ? "none" : "cosmetic";
  const worst = differences.reduce<ShadowClass>((found, one) => worse(found, one.class), texts);
  const shown = differences
    .filter((one) => one.class !== "cosmetic")
    .toSorted((a, b) => compareUtf8(a.resource, b.resource))
    .slice(0, listedResources);
  return { class: worst, resources: withinLimit(shown), differing: differences.length };
}

function withinLimit(resources: readonly ShadowResource[]): readonly ShadowResource[] {
  let left = reportBytes;
  return resources.map(({ fields, ...rest }) => {
    const kept = fields.filter((field) => {
      left -= printJson(field).length;
      return left >= 0;
    });
    return { ...rest, fields: kept };
  });
}

function fatalIn({ results }: RunFunctionResponse): string | undefined {
  return results.find(({ severity }) => severity === Severity.SEVERITY_FATAL)?.message;
}

/** Both answers with marks in the place of sensitive values; equal values have equal marks. */
function* redacted(
  { request, stable, candidate }: AnswerPair,
  redactorFor: ReturnType<typeof createRedactor>,
): Work<Pair> {
  const redactor = redactorFor();
  yield* redactor.request(request);
  const [one, other] = [yield* redactor.response(stable), yield* redactor.response(candidate)];
  return { before: yield* redactor.scrubResponse(one), after: yield* redactor.scrubResponse(other) };
}

interface Pair {
  readonly before: RunFunctionResponse;
  readonly after: RunFunctionResponse;
}

/** Whether the encoded states are the same, which they are for almost all requests: nothing is decoded then. */
function isSameState(one: RunFunctionResponse, other: RunFunctionResponse): boolean {
  const [before, after] = [one.desired?.resources ?? new Map(), other.desired?.resources ?? new Map()];
  if (before.size !== after.size || !isSameStruct(one.context, other.context)) return false;
  if (!isSameResource(one.desired?.composite, other.desired?.composite)) return false;
  if (!isSameList(one.conditions, other.conditions)) return false;
  return [...before].every(([name, resource]) => after.has(name) && isSameResource(resource, after.get(name)));
}

function isSameResource(one: Resource | undefined, other: Resource | undefined): boolean {
  if ((one?.ready ?? 0) !== (other?.ready ?? 0)) return false;
  return isSameStruct(one?.resource, other?.resource) && isSameDetails(one, other);
}

function isSameStruct(one: Struct | undefined, other: Struct | undefined): boolean {
  if (one === undefined || other === undefined) return (one ?? other)?.bytes.length === 0 || one === other;
  return one === other || Buffer.compare(one.bytes, other.bytes) === 0;
}

function isSameDetails(one: Resource | undefined, other: Resource | undefined): boolean {
  const [before, after] = [one?.connectionDetails ?? new Map(), other?.connectionDetails ?? new Map()];
  if (before.size !== after.size) return false;
  return [...before].every(([key, value]) => after.has(key) && Buffer.compare(value, after.get(key)) === 0);
}

function isSameList(one: readonly object[], other: readonly object[]): boolean {
  return one.length === other.length && one.every((item, at) => isSameMessage(item, other[at]));
}

function isSameMessage(one: object, other: object | undefined): boolean {
  const text = (value: object | undefined): string =>
    JSON.stringify(value, (_, member) => (typeof member === "bigint" ? String(member) : member));
  return text(one) === text(other);
}

/** Whether results and time to live are the same: they are shown, and change no state. */
function isSameText(one: RunFunctionResponse, other: RunFunctionResponse): boolean {
  return isSameList(one.results, other.results) && isSameMessage(one.meta?.ttl ?? {}, other.meta?.ttl ?? {});
}

/** The differences, one resource after the other. Equal objects are not decoded. */
function* differencesOf({ before, after }: Pair, moved: MovedNames | undefined): Work<ShadowResource[]> {
  const old: Resources = before.desired?.resources ?? new Map();
  const now: Resources = after.desired?.resources ?? new Map();
  const { moves, rest } = yield* movesBetween(old, now, moved);
  const differing: ShadowResource[] = [];
  for (const name of rest) {
    if (isPartDone()) yield;
    const [one, other] = [old.get(name), now.get(name)];
    if (one !== undefined && other !== undefined && isSameResource(one, other)) continue;
    yield* decode(one?.resource, other?.resource);
    const difference = resourceDifference(name, one, other);
    if (difference !== undefined) differing.push(difference);
  }
  return [...moves, ...differing, ...(yield* ownDifferences({ before, after }))];
}

/** Of the composite resource, the context and the conditions. */
function* ownDifferences({ before, after }: Pair): Work<ShadowResource[]> {
  yield* decode(before.desired?.composite?.resource, after.desired?.composite?.resource);
  const composite = fieldsOf(before.desired?.composite, after.desired?.composite);
  yield* decode(before.context, after.context);
  const context = compareValues(before.context?.value ?? {}, after.context?.value ?? {}, undefined);
  const conditions = isSameList(before.conditions, after.conditions) ? [] : [conditionChange(before, after)];
  const own = [...composite.fields, ...context.map((field) => under("context", field)), ...conditions];
  if (own.length > 0) return [entry({ resource: "", class: "change", object: {}, fields: own })];
  return composite.isSame ? [] : [entry({ resource: "", class: "cosmetic", object: {}, fields: [] })];
}

/** Decodes objects one by one. They remember it. */
function* decode(...structs: readonly (Struct | undefined)[]): Work<void> {
  for (const struct of structs) {
    void struct?.value;
    yield;
  }
}

type Resources = ReadonlyMap<string, Resource>;

/** The declared moves between two desired states as changes, and the names that are compared as usual. */
function* movesBetween(
  old: Resources,
  now: Resources,
  { renames, leaving }: MovedNames = { renames: [], leaving: [] },
): Work<{ readonly moves: readonly ShadowResource[]; readonly rest: ReadonlySet<string> }> {
  const rest = new Set([...old.keys(), ...now.keys()]);
  const moves: ShadowResource[] = [];
  for (const names of renames) {
    yield;
    const [from, ...moreBefore] = names.filter((name) => old.has(name) && !now.has(name));
    const [to, ...moreAfter] = names.filter((name) => now.has(name) && !old.has(name));
    if (from === undefined || to === undefined || moreBefore.length + moreAfter.length > 0) continue;
    const [before, after] = [old.get(from), now.get(to)];
    if (kindOf(before?.resource?.value ?? {}) !== kindOf(after?.resource?.value ?? {})) continue;
    const name: FieldChange = { path: "resource", op: "replace", old: from, new: to };
    const fields = [name, ...fieldsOf(before, after).fields];
    moves.push(entry({ resource: to, class: "change", object: after?.resource?.value ?? {}, fields }));
    for (const one of [from, to]) rest.delete(one);
  }
  for (const name of leaving) {
    if (!rest.has(name) || !old.has(name) || now.has(name)) continue;
    const fields: FieldChange[] = [{ path: "resource", op: "remove", old: name }];
    moves.push(entry({ resource: name, class: "change", object: old.get(name)?.resource?.value ?? {}, fields }));
    rest.delete(name);
  }
  return { moves, rest };
}

function conditionChange(
  { conditions: old }: RunFunctionResponse,
  { conditions: now }: RunFunctionResponse,
): FieldChange {
  const shown = (list: RunFunctionResponse["conditions"]): JsonValue =>
    list.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
  return { path: "conditions", op: "replace", old: shown(old), new: shown(now) };
}

function under(prefix: string, { path, ...rest }: FieldChange): FieldChange {
  return { path: path.startsWith("[") ? `${prefix}${path}` : `${prefix}.${path}`, ...rest };
}

function resourceDifference(
  resource: string,
  old: Resource | undefined,
  now: Resource | undefined,
): ShadowResource | undefined {
  const [before, after] = [old?.resource?.value ?? {}, now?.resource?.value ?? {}];
  if (now === undefined) return entry({ resource, class: "delete", object: before, fields: [] });
  if (old === undefined) {
    const fields: FieldChange[] = [{ path: "", op: "add" }];
    return entry({ resource, class: "change", object: after, fields });
  }
  if (kindOf(before) !== kindOf(after)) {
    const fields: FieldChange[] = [{ path: "kind", op: "replace", old: kindOf(before), new: kindOf(after) }];
    return entry({ resource, class: "replace", object: before, fields });
  }
  const { fields, isSame } = fieldsOf(old, now);
  if (fields.length > 0) return entry({ resource, class: "change", object: after, fields });
  return isSame ? undefined : entry({ resource, class: "cosmetic", object: after, fields });
}

/** The fields that differ, and whether the forms are the same. */
function fieldsOf(old: Resource | undefined, now: Resource | undefined): { fields: FieldChange[]; isSame: boolean } {
  const [before, after] = [old?.resource?.value ?? {}, now?.resource?.value ?? {}];
  const fields = compareValues(before, after, undefined);
  if ((old?.ready ?? 0) !== (now?.ready ?? 0)) {
    fields.push({ path: "ready", op: "replace", old: old?.ready ?? 0, new: now?.ready ?? 0 });
  }
  if (!isSameDetails(old, now)) fields.push({ path: "connectionDetails", op: "replace", sensitive: true });
  return { fields, isSame: jsonEqual(before, after) };
}

function kindOf({ apiVersion, kind }: JsonObject): string {
  return `${String(kind)}.${parseApiVersion(String(apiVersion)).group}`;
}

interface Entry extends Pick<ShadowResource, "resource" | "class" | "fields"> {
  readonly object: JsonObject;
}

function entry({ resource, class: what, object, fields }: Entry): ShadowResource {
  const { apiVersion = "", kind = "" } = object;
  const shown = fields.slice(0, listedFields).map(shortField);
  return { resource, apiVersion: String(apiVersion), kind: String(kind), class: what, fields: shown };
}

/** A report holds no large values. */
function shortField({ old, new: next, ...rest }: FieldChange): FieldChange {
  return {
    ...rest,
    ...(old !== undefined && { old: shortValue(old) }),
    ...(next !== undefined && { new: shortValue(next) }),
  };
}

function shortValue(value: JsonValue): JsonValue {
  const text = printJson(value);
  return text.length <= listedBytes ? value : `${text.slice(0, listedBytes)}…`;
}

/** How a shadow answer differs, from harmless to worst. */
export const shadowClasses = [
  "none",
  /** Another form of the same state, other texts, or another time to live. */
  "cosmetic",
  /** The same state, much later. */
  "slower",
  "change",
  /** Another kind under the same resource name. */
  "replace",
  /** A resource is no longer desired. */
  "delete",
  /** The function returned a fatal result. */
  "fatal",
  /** The function could not be run. */
  "error",
] as const;

/** The worst difference between the answers of two revisions to one request. */
export type ShadowClass = (typeof shadowClasses)[number];

/** How one resource differs. */
interface ShadowResource {
  /** The name in the pipeline; empty for the composite resource itself and the context of the pipeline. */
  readonly resource: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly class: ShadowClass;
  readonly fields: readonly FieldChange[];
}

/** A composite resource in a report. */
interface ShadowedComposite {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
}

/** What a shadow run of one step of one composite resource found. */
export interface ShadowDetail {
  readonly composite: ShadowedComposite;
  readonly step: string;
  readonly class: ShadowClass;
  /** When it ran, as an RFC 3339 time. */
  readonly at: string;
  readonly durationMs: number;
  /** How long the serving revision took. */
  readonly stableMs: number;
  readonly resources: readonly ShadowResource[];
  /** Resources that differ, also those that are not listed. */
  readonly differing: number;
  /** Of a fatal result or a failure. */
  readonly message?: string | undefined;
}

/** The worse of two classes. */
export function worse(one: ShadowClass, other: ShadowClass): ShadowClass {
  return rank(one) >= rank(other) ? one : other;
}

/** The position of a class from harmless to worst. */
export function rank(one: ShadowClass): number {
  return shadowClasses.indexOf(one);
}
