// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { compareUtf8 } from "@purlin/kube-objects/json";
import {
  annotationOf,
  type ConditionText,
  isDeleted,
  type KubeObject,
  parseApiVersion,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { type CompositeSchema, type ResourceRef, resourceRefsOf } from "../../composite-resource/crossplane-fields.ts";
import { garbageOf, referencesTo } from "../apply/apply-composed.ts";
import type { DesiredResource } from "../apply/desired-resources.ts";
import { kindAndName, type Observed } from "../observe/observe.ts";

/** Annotations of the guard against destructive changes, and of moves. */
export const guardAnnotations = {
  /** On a Composition or an XRD: how many composed resources one reconcile may delete. */
  maxDeletes: "purlin.dev/max-deletes",
  /** On a Composition or an XRD: how many composed resources one reconcile may replace by an object of another kind. */
  maxReplaces: "purlin.dev/max-replaces",
  /** On a Composition or an XRD: kinds that are never deleted or replaced without an approval, as `Kind` or `Kind.group`. */
  protectedKinds: "purlin.dev/protected-kinds",
  /** On a Composition or an XRD: `false` lets an empty desired state delete all composed resources. */
  holdEmpty: "purlin.dev/hold-empty",
  /** On a composite resource: the hash of the plan that may be applied. */
  approvePlan: "purlin.dev/approve-plan",
  /** On a Composition or a composite resource: composed resources that got another name, or another composite resource. */
  moved: "purlin.dev/moved",
} as const;

/** A limit, and the object that sets it. */
interface GuardLimit {
  readonly most: number;
  /** The annotation with its value, for messages. */
  readonly text: string;
  /** Whether the value of the annotation is not a number. */
  readonly isInvalid: boolean;
}

/** How much one reconcile may destroy. */
interface GuardPolicy {
  /** Undefined when there is no limit. */
  readonly deletes: GuardLimit | undefined;
  readonly replaces: GuardLimit | undefined;
  /** As `Kind` or `Kind.group`. */
  readonly protectedKinds: readonly string[];
  readonly holdsEmpty: boolean;
}

/** The policy of the objects that have a say: the lowest limit counts, and every kind that one of them protects. */
export function guardPolicyOf(objects: readonly KubeObject[]): GuardPolicy {
  const values = (name: string): readonly string[] => objects.flatMap((object) => annotationOf(object, name) ?? []);
  return {
    deletes: lowest(guardAnnotations.maxDeletes, values(guardAnnotations.maxDeletes)),
    replaces: lowest(guardAnnotations.maxReplaces, values(guardAnnotations.maxReplaces)),
    protectedKinds: values(guardAnnotations.protectedKinds).flatMap(kindsIn),
    holdsEmpty: !values(guardAnnotations.holdEmpty).includes("false"),
  };
}

/** A value that is not a number allows nothing: a typing error must not delete anything. */
function lowest(name: string, values: readonly string[]): GuardLimit | undefined {
  const limits = values.map((value): GuardLimit => {
    const isInvalid = !/^\d{1,9}$/.test(value.trim());
    return { most: isInvalid ? 0 : Number(value), text: `${name}: "${value}"`, isInvalid };
  });
  return limits.reduce<GuardLimit | undefined>(
    (least, limit) => (least === undefined || limit.most < least.most ? limit : least),
    undefined,
  );
}

function kindsIn(value: string): readonly string[] {
  return value
    .split(/[\s,]+/)
    .map((kind) => kind.trim())
    .filter((kind) => kind !== "");
}

/** Whether a policy protects a kind. A kind without a group protects that kind in every group. */
function isProtected({ apiVersion, kind }: TypeRef, { protectedKinds }: GuardPolicy): boolean {
  const { group } = parseApiVersion(apiVersion);
  return protectedKinds.some((wanted) => wanted === kind || wanted === `${kind}.${group}`);
}

/** The condition type of the guard. */
export const heldType = "Held";

/** Why an XR is held. */
type HoldReason =
  | "EmptyDesiredState"
  | "ProtectedKind"
  | "TooManyDeletes"
  | "TooManyReplaces"
  /** A move is declared that cannot be done. */
  | "MoveImpossible";

/** An XR that must not be applied until its plan is approved. */
export interface Hold {
  readonly reason: HoldReason;
  readonly message: string;
  /** The hash that an approval names; undefined when an approval does not help. */
  readonly hash: string | undefined;
  readonly changes: readonly DestructiveChange[];
}

/** Whether a plan may be applied. */
export interface Verdict {
  /** Undefined when the plan may be applied. */
  readonly hold: Hold | undefined;
  /** Why the plan would be held if it were not approved; undefined when it needs no approval. */
  readonly approved: ConditionText | undefined;
}

/** Judges a plan. An approval counts for exactly the plan whose hash it names. */
export function judge(plan: ChangePlan, policy: GuardPolicy, xr: KubeObject): Verdict {
  const why = reasonOf(plan, policy);
  if (why === undefined) return { hold: undefined, approved: undefined };
  const approval = annotationOf(xr, guardAnnotations.approvePlan);
  const { hash, changes } = plan;
  if (approval === hash) {
    const message = `Applying the approved plan ${hash}: ${why.message}`;
    return { hold: undefined, approved: { type: heldType, status: "True", reason: why.reason, message } };
  }
  return { hold: { ...why, message: heldText(why.message, plan, approval), hash, changes }, approved: undefined };
}

function reasonOf({ changes, isEmpty }: ChangePlan, policy: GuardPolicy): Pick<Hold, "reason" | "message"> | undefined {
  const deletes = changes.filter((change) => change.class === "delete");
  const replaces = changes.filter((change) => change.class === "replace");
  if (isEmpty && policy.holdsEmpty) {
    const message = `the pipeline desires no resources at all, which deletes ${counted(deletes.length)}`;
    return { reason: "EmptyDesiredState", message };
  }
  const guarded = changes.filter(({ object }) => isProtected(object, policy));
  if (guarded.length > 0) {
    const kinds = [...new Set(guarded.map(({ object }) => object.kind))].join(", ");
    const message = `the change deletes or replaces ${counted(guarded.length)} of a protected kind (${kinds})`;
    return { reason: "ProtectedKind", message };
  }
  if (exceeds(deletes, policy.deletes)) {
    const message = `the change deletes ${counted(deletes.length)}, ${allowed(policy.deletes)}`;
    return { reason: "TooManyDeletes", message };
  }
  if (!exceeds(replaces, policy.replaces)) return undefined;
  const message = `the change replaces ${counted(replaces.length)}, ${allowed(policy.replaces)}`;
  return { reason: "TooManyReplaces", message };
}

function exceeds(changes: readonly DestructiveChange[], limit: GuardLimit | undefined): boolean {
  return limit !== undefined && changes.length > limit.most;
}

function allowed(limit: GuardLimit | undefined): string {
  if (limit === undefined) return "";
  return limit.isInvalid ? `and ${limit.text} is not a number` : `and ${limit.text} allows ${limit.most}`;
}

function counted(number: number): string {
  return number === 1 ? "1 composed resource" : `${number} composed resources`;
}

const listedChanges = 10;

/** The text of the condition: why, what, and how to continue. */
function heldText(why: string, { changes, hash }: ChangePlan, approval: string | undefined): string {
  const shown = changes.slice(0, listedChanges).map(changeText);
  const more = changes.length > shown.length ? [`and ${changes.length - shown.length} more`] : [];
  const stale = approval === undefined ? "" : `; the approval ${approval} is stale: it is for another plan`;
  const go = `annotate the composite resource with ${guardAnnotations.approvePlan}=${hash} to apply plan ${hash}`;
  return `Nothing is applied: ${why}: ${[...shown, ...more].join(", ")}${stale}; ${go}`;
}

/** One change as text, such as `delete "bucket" (a Bucket named shop-1)`. */
function changeText({ class: what, resource, object }: DestructiveChange): string {
  return `${what} "${resource}" ${kindAndName(object)}`;
}

/** The conditions of an XR that is held. */
export function heldConditions({ reason, message }: Hold): readonly ConditionText[] {
  return [
    { type: "Synced", status: "False", reason: "Held", message },
    { type: heldType, status: "True", reason, message },
  ];
}

/** The condition of an XR that was held before. */
export const notHeld: ConditionText = { type: heldType, status: "False", reason: "NotHeld" };

/** One composed resource that would be deleted or replaced. */
interface DestructiveChange {
  readonly class: "delete" | "replace";
  /** The name in the pipeline. */
  readonly resource: string;
  readonly object: KubeObject;
}

/** What a reconcile would destroy. */
interface ChangePlan {
  readonly changes: readonly DestructiveChange[];
  /** Whether nothing at all is desired. */
  readonly isEmpty: boolean;
  /** Identifies the plan: an approval names it. */
  readonly hash: string;
}

/** The inputs of a plan. */
interface PlanInput {
  readonly observed: Observed;
  readonly desired: readonly DesiredResource[];
  /** Objects that are not desired and stay referred to. */
  readonly kept: readonly KubeObject[];
  readonly schema: CompositeSchema;
}

/** Whether two types are of one group and kind: another version is another form of the same object. */
export function sameGroupKind(one: TypeRef, other: TypeRef): boolean {
  return one.kind === other.kind && parseApiVersion(one.apiVersion).group === parseApiVersion(other.apiVersion).group;
}

/** The composed resources that would be deleted, or left behind for one of another kind; undefined when there are none. */
export function planChanges(input: PlanInput): ChangePlan | undefined {
  const { observed, desired } = input;
  const wanted = new Map(desired.map(({ name, object }) => [name, object]));
  const deletes = garbageOf(observed, new Set(wanted.keys())).map(
    ({ name, object }): DestructiveChange => ({ class: "delete", resource: name, object }),
  );
  const replaces = [...observed.resources].flatMap(([resource, { object }]): DestructiveChange[] => {
    const next = wanted.get(resource);
    return next === undefined || sameGroupKind(object, next) ? [] : [{ class: "replace", resource, object }];
  });
  // An object that is being deleted already is not destroyed by this plan.
  const changes = [...deletes, ...replaces].filter(({ object }) => !isDeleted(object));
  if (changes.length === 0) return undefined;
  const sorted = changes.toSorted((a, b) => compareUtf8(a.resource, b.resource));
  return { changes: sorted, isEmpty: desired.length === 0, hash: hashOf(input) };
}

const hashDigits = 16;

/**
 * The hash of the references that the plan removes from the XR. References are removed after the objects they name, so the hash stays
 * the same while an approved plan is applied, whatever part of it is done already.
 */
function hashOf({ observed: { composite }, desired, kept: more, schema }: PlanInput): string {
  const xr = composite.object;
  const kept = new Set(
    referencesTo([...desired.map(({ object }) => object), ...more], xr).map((ref) => identityText(ref, xr)),
  );
  const removed = resourceRefsOf(xr, schema)
    .map((ref) => identityText(ref, xr))
    .filter((identity) => !kept.has(identity));
  // Nothing at all instead of something else is another plan.
  const what = desired.length === 0 ? ["empty"] : [];
  const text = JSON.stringify([xr.metadata.uid ?? "", removed.toSorted(compareUtf8), ...what]);
  return createHash("sha256").update(text).digest("hex").slice(0, hashDigits);
}

function identityText({ apiVersion, kind, name = "", namespace }: ResourceRef, xr: KubeObject): string {
  const { group } = parseApiVersion(apiVersion);
  return `${kind}.${group}/${namespace || xr.metadata.namespace || ""}/${name}`;
}
