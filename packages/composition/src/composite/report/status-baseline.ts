// SPDX-License-Identifier: Apache-2.0

import { during } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import {
  annotationOf,
  type ConditionText,
  type KubeObject,
  type ManagedFieldsEntry,
  memberAt,
  objectAt,
  textAt,
  withMember,
} from "@purlin/kube-objects/object";
import { annotations, fieldManagers } from "../../composite-resource/constants.ts";
import { identityOf } from "../apply/apply-composed.ts";
import {
  type CompositeContext,
  type CompositeDefinition,
  type CompositeDeps,
  type OwnStatusField,
  stampFor,
} from "../context.ts";
import type { CircuitState } from "../watch/circuit-breaker.ts";
import { onlyConditions } from "../watch/self-updates.ts";
import { type ConditionChanges, type StatusDraft, type StatusRules, statusAfter } from "./status-after.ts";

/** The part of the status that every reconcile writes, whatever its outcome. */
export interface StatusBaseline {
  readonly responsive: ConditionText;
  /** The token of a reconcile request that this reconcile answers. */
  readonly handledRequest: string | undefined;
  readonly rules: StatusRules;
}

interface BaselineFacts {
  readonly deps: CompositeDeps;
  readonly definition: CompositeDefinition;
  readonly circuit: CircuitState;
}

/** The baseline of a reconcile that starts. Until the definition is known, only the fields that every XR has are ours. */
export function baselineOf(xr: KubeObject, { deps, definition, circuit }: BaselineFacts): StatusBaseline {
  const rules = { schema: deps.kind.schema, ownFields: ownFieldsOf(deps, definition) };
  return { responsive: responsiveCondition(circuit), handledRequest: newRequest(xr, rules), rules };
}

/**
 * Without the feature, the CRD does not declare the function revisions that ran. A cached XR may still have them from before, and
 * the API server would refuse a status with them.
 */
function ownFieldsOf({ settings }: CompositeDeps, { facts }: CompositeDefinition): ReadonlySet<OwnStatusField> {
  const fields = [...(facts?.ownStatusFields ?? [])];
  return new Set(settings?.functionRevisions === true ? fields : fields.filter((field) => field !== "crossplane"));
}

/** Whether watch events reach the XR. */
function responsiveCondition(circuit: CircuitState): ConditionText {
  if (!circuit.open) return { type: "Responsive", status: "True", reason: "WatchCircuitClosed" };
  const message = `Too many watch events from ${circuit.triggeredBy}. Allowing events periodically.`;
  return { type: "Responsive", status: "False", reason: "WatchCircuitOpen", message };
}

/** A token that this XR has not answered yet. Where the author's schema has the field, there is no place for an answer. */
function newRequest(xr: KubeObject, { ownFields }: StatusRules): string | undefined {
  if (!ownFields.has("lastHandledReconcileAt")) return undefined;
  const token = annotationOf(xr, annotations.reconcileRequested);
  return token === textAt(xr, ["status", "lastHandledReconcileAt"]) ? undefined : token;
}

/** What a reconcile adds to its baseline before the status is written. */
export interface Outcome extends Omit<StatusDraft, "conditions" | "handledRequest"> {
  readonly conditions?: readonly ConditionText[];
  readonly pipeline?: ConditionChanges["pipeline"];
  readonly undetermined?: boolean;
}

/** All changes of the status. */
export function draftOf({ responsive, handledRequest }: StatusBaseline, outcome: Outcome): StatusDraft {
  const { conditions = [], pipeline = [], undetermined = false, ...rest } = outcome;
  // A failure is known before functions have set their conditions; whether the XR is synced and ready, only afterwards.
  const order = undetermined
    ? { before: [responsive, ...conditions], after: [] }
    : { before: [responsive], after: conditions };
  return { ...rest, handledRequest, conditions: { ...order, pipeline, undetermined } };
}

/** Writes the status of a reconcile whose functions set no status. */
export async function writeOutcome(context: CompositeContext, outcome: Outcome): Promise<void> {
  const { baseline, deps, stored } = context;
  const xr = stored.object;
  const { rules } = baseline;
  const status = statusAfter(xr, draftOf(baseline, outcome), { rules, stamp: stampFor(xr, deps) });
  await during("cannot update composite resource status", () => storeStatus(context, { ...xr, status }));
}

/** Stores the status of the XR as a whole, unless it equals the stored one. */
export async function storeStatus(context: CompositeContext, xr: KubeObject): Promise<void> {
  const before = context.stored.object;
  await context.writeStatus(xr);
  expectSelfUpdate(before, context);
}

/** Records that the watch event of the newest version holds nothing new, if only conditions changed. */
export function expectSelfUpdate(before: KubeObject, { state, deps, stored }: CompositeContext): void {
  const isWritten = stored.object.metadata.resourceVersion !== before.metadata.resourceVersion;
  if (isWritten && onlyConditions(before, stored.object, deps.kind.schema)) state.selfUpdates.expect(stored.object);
}

/** Rejects when the API server would refuse a status that is about to be applied. Nothing is stored. */
export async function checkStatus(status: JsonObject, context: CompositeContext): Promise<void> {
  const { deps, stored } = context;
  await deps.client.apply({ ...identityOf(stored.object), status }, { ...optionsOf(context), dryRun: true });
}

/**
 * Applies a status: fields applied before and not now are removed. It holds what functions want and what the control plane reports,
 * so that a reconcile needs one write and not two.
 */
export async function applyStatus(status: JsonObject, context: CompositeContext): Promise<void> {
  const { deps, stored } = context;
  const options = { ...optionsOf(context), observed: stored.object };
  stored.object = (await deps.client.applyIfChanged({ ...identityOf(stored.object), status }, options)).object;
}

function optionsOf({ statusSignal: signal }: CompositeContext) {
  return { subresource: "status", fieldManager: fieldManagers.composite, force: true, signal };
}

/** The lists of a status that are merged item by item, and the keys of their items. */
const keyedLists: readonly { readonly path: readonly string[]; readonly key: string }[] = [
  { path: ["conditions"], key: "type" },
  { path: ["crossplane", "functionRevisions"], key: "step" },
];

/**
 * Whether an apply would leave an outdated part of an item in a status, such as the message of a condition, that a failed reconcile or
 * another control plane wrote by update. Fields without an owner count as well: a controller that takes over an XR, as the claim
 * controller does, clears the field ownership.
 */
export function isLeftBehind(xr: KubeObject, applied: JsonObject): boolean {
  const stored = objectAt(xr, ["status"]);
  const { ours = [], others = [] } = Object.groupBy(xr.metadata.managedFields ?? [], (entry) =>
    isOurs(entry) ? "ours" : "others",
  );
  return keyedLists.some(({ path, key }) => {
    const want = new Map((itemsAt(applied, path) ?? []).map((item) => [item[key], item]));
    return (itemsAt(stored, path) ?? []).some((item) => {
      const wanted = want.get(item[key]);
      // Other writers may add conditions; nested lists are ours alone.
      if (wanted === undefined && path.length === 1) return false;
      const surplus = Object.keys(item).filter((field) => wanted === undefined || !Object.hasOwn(wanted, field));
      const name = `k:{"${key}":${printJson(item[key] ?? null)}}`;
      const owned = ["f:status", ...path.map((part) => `f:${part}`), name];
      const has = (entries: readonly ManagedFieldsEntry[], field: string): boolean =>
        entries.some(({ fieldsV1 = {} }) => objectHas(fieldsV1, owned, `f:${field}`));
      return surplus.some((field) => has(others, field) || !has(ours, field));
    });
  });
}

function isOurs({ manager, operation, subresource }: ManagedFieldsEntry): boolean {
  return manager === fieldManagers.composite && operation === "Apply" && subresource === "status";
}

function objectHas(fields: JsonObject, path: readonly string[], member: string): boolean {
  return Object.hasOwn(objectAt(fields, path), member);
}

/** The stored status with the items that are about to be applied. The order and items of other writers stay. */
export function correctedStatus(stored: JsonObject, applied: JsonObject): JsonObject {
  return keyedLists.reduce((status, { path, key }) => {
    const [have, want] = [itemsAt(status, path), itemsAt(applied, path)];
    if (have === undefined || want === undefined) return status;
    const wanted = new Map(want.map((item) => [item[key], item]));
    const kept = path.length > 1 ? have.filter((item) => wanted.has(item[key])) : have;
    return withMember(status, path, kept.map((item) => wanted.get(item[key]) ?? item) as JsonValue);
  }, stored);
}

function itemsAt(status: JsonObject, path: readonly string[]): readonly JsonObject[] | undefined {
  const value = memberAt(status, path);
  return Array.isArray(value) ? value.filter(isJsonObject) : undefined;
}
