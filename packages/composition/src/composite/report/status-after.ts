// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  type Condition,
  type ConditionText,
  conditionsOf,
  type KubeObject,
  objectAt,
  sameCondition,
  setConditions,
  shortened,
  stampCondition,
  textsAt,
  withMember,
} from "@purlin/kube-objects/object";
import { systemConditionTypes } from "../../composite-resource/constants.ts";
import type { CompositeSchema } from "../../composite-resource/crossplane-fields.ts";
import type { OwnStatusField } from "../context.ts";
import type { FunctionRevisionUsed, PipelineCondition } from "../run/step-results.ts";

/** The changes of the status of an XR in one reconcile. */
export interface StatusDraft {
  readonly conditions: ConditionChanges;
  /** The token of a reconcile request that this reconcile answers. */
  readonly handledRequest?: string | undefined;
  /** When this reconcile wrote connection details, if it did. */
  readonly publishedAt?: string | undefined;
  /** Which function revisions ran; undefined when the status has no such field. */
  readonly functionRevisions?: readonly FunctionRevisionUsed[] | undefined;
}

/** Which status fields belong to the control plane on this kind of XR. */
export interface StatusRules {
  readonly schema: CompositeSchema;
  readonly ownFields: ReadonlySet<OwnStatusField>;
}

/** The whole status after a reconcile in which functions set nothing: all other fields stay. */
export function statusAfter(
  xr: KubeObject,
  draft: StatusDraft,
  { rules, stamp }: { readonly rules: StatusRules; readonly stamp: Stamp },
): JsonObject {
  const conditions = conditionsAfter(conditionsOf(xr), draft.conditions, stamp);
  let status = withMember(objectAt(xr, ["status"]), ["conditions"], conditions);
  if (rules.schema === "legacy") status = withClaimConditions(status, draft, rules);
  if (draft.publishedAt !== undefined) {
    status = withMember(status, ["connectionDetails", "lastPublishedTime"], draft.publishedAt);
  }
  if (draft.handledRequest !== undefined && rules.ownFields.has("lastHandledReconcileAt")) {
    status = withMember(status, ["lastHandledReconcileAt"], draft.handledRequest);
  }
  if (draft.functionRevisions !== undefined && rules.ownFields.has("crossplane")) {
    const revisions = draft.functionRevisions;
    status = withMember(status, ["crossplane", "functionRevisions"], revisions);
  }
  return status;
}

/** Condition types for the claim stay in the list for good, in the order of their first appearance. */
function withClaimConditions(status: JsonObject, { conditions }: StatusDraft, { ownFields }: StatusRules): JsonObject {
  const before = textsAt(status, ["claimConditionTypes"]);
  const named = settable(conditions.pipeline).filter(({ forClaim }) => forClaim);
  const types = [...new Set([...before, ...named.map(({ type }) => type)])];
  if (types.length === 0) return status;
  const listed = withMember(status, ["claimConditionTypes"], types);
  return ownFields.has("claimConditions") ? withMember(listed, ["claimConditions"], types) : listed;
}

/** The status to apply: the fields of functions, overlaid with those of the control plane. */
export function appliedStatus(desired: JsonObject, after: JsonObject, rules: StatusRules): JsonObject {
  const reserved = crossplaneStatusFields(rules);
  const fromFunctions = Object.entries(desired).filter(([key]) => !reserved.has(key));
  const ours = Object.entries(after).filter(([key]) => reserved.has(key));
  const applied: JsonObject = Object.fromEntries([...fromFunctions, ...ours]);
  return withMember(applied, ["conditions"], withFunctionConditions(desired, after));
}

function crossplaneStatusFields({ schema, ownFields }: StatusRules): ReadonlySet<string> {
  const always = schema === "legacy" ? ["conditions", "claimConditionTypes", "connectionDetails"] : ["conditions"];
  const given = [...ownFields].filter((field) => schema === "legacy" || field !== "claimConditions");
  return new Set([...always, ...given]);
}

/**
 * Conditions in a desired status come first, in their order, as in Crossplane. They are taken once: a condition of the
 * same type that is stored, or that a function returned as a condition, wins.
 */
function withFunctionConditions(desired: JsonObject, after: JsonObject): JsonValue {
  const stored = new Map(conditionsOf({ status: after }).map((condition) => [condition.type, condition]));
  const conditions = new Map<string, Condition>();
  for (const wanted of conditionsOf({ status: desired })) {
    const condition = stored.get(wanted.type) ?? (systemConditionTypes.has(wanted.type) ? undefined : wanted);
    if (condition !== undefined) conditions.set(wanted.type, condition);
  }
  for (const [type, condition] of stored) conditions.set(type, condition);
  return [...conditions.values()];
}

/** The status of the composite resource that a pipeline desires. Throws when it is not an object. */
export function desiredStatus(composite: JsonObject | undefined): JsonObject {
  const status = composite?.["status"] ?? {};
  if (isJsonObject(status)) return status;
  const shape = Array.isArray(status) ? "list" : typeof status;
  throw new Error(`the desired status is a ${shape}; it must be an object`);
}

/** The changes of the conditions of an XR in one reconcile. */
export interface ConditionChanges {
  /** Set by the controller before those of functions; they carry the generation. */
  readonly before: readonly ConditionText[];
  /** Set by functions, in the order of their responses. */
  readonly pipeline: readonly PipelineCondition[];
  /** Set by the controller after those of functions; they carry the generation. */
  readonly after: readonly ConditionText[];
  /** Whether composing failed, so that the other conditions of functions are unknown. */
  readonly undetermined: boolean;
}

/** When, and for which generation, conditions are set. */
export interface Stamp {
  readonly time: string;
  readonly generation: number | undefined;
}

const fatalError = {
  status: "Unknown",
  reason: "FatalError",
  message: "A fatal error occurred before the status of this condition could be determined.",
} as const;

/** The conditions that functions may set: all but those of the control plane. */
function settable(conditions: readonly PipelineCondition[]): readonly PipelineCondition[] {
  return conditions.filter(({ type }) => !systemConditionTypes.has(type));
}

/** The conditions after a reconcile. New ones are appended in the order of the changes, which is Crossplane's. */
export function conditionsAfter(
  current: readonly Condition[],
  { before, pipeline, after, undetermined }: ConditionChanges,
  stamp: Stamp,
): readonly Condition[] {
  const fromFunctions = settable(pipeline);
  const marked = undetermined ? markOthers(current, new Set(fromFunctions.map(({ type }) => type)), stamp) : current;
  const own = (text: ConditionText): Condition => stampCondition(short(text), stamp.time, stamp.generation);
  const said = fromFunctions.map(({ forClaim: _, ...text }) => timed(text, stamp.time));
  return setConditions(marked, [...before.map(own), ...said, ...after.map(own)]);
}

/** A message of any length must not keep the status from being written. */
function short(text: ConditionText): ConditionText {
  return text.message === undefined ? text : { ...text, message: shortened(text.message) };
}

/** Conditions of functions have no generation: a function does not report which one it saw. */
function timed(text: ConditionText, time: string): Condition {
  return stampCondition(short(text), time, undefined);
}

function markOthers(
  current: readonly Condition[],
  set: ReadonlySet<string>,
  { generation }: Stamp,
): readonly Condition[] {
  return current.map((condition) => {
    if (systemConditionTypes.has(condition.type) || set.has(condition.type)) return condition;
    const { type, lastTransitionTime } = condition;
    const marked = stampCondition({ type, ...fatalError }, lastTransitionTime, generation);
    return sameCondition(condition, marked) ? condition : marked;
  });
}
