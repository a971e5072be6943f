// SPDX-License-Identifier: Apache-2.0

import { annotationOf, type ConditionText, type KubeObject } from "@purlin/kube-objects/object";
import { kindAndName } from "../observe/observe.ts";
import type { ChangePlan, DestructiveChange } from "./change-plan.ts";
import { type GuardLimit, type GuardPolicy, guardAnnotations, isProtected } from "./guard-policy.ts";

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

/** The text of the condition: why, what, and how to go on. */
function heldText(why: string, { changes, hash }: ChangePlan, approval: string | undefined): string {
  const shown = changes.slice(0, listedChanges).map(changeText);
  const more = changes.length > shown.length ? [`and ${changes.length - shown.length} more`] : [];
  const stale = approval === undefined ? "" : `; the approval ${approval} is stale: it is for another plan`;
  const go = `annotate the composite resource with ${guardAnnotations.approvePlan}=${hash} to apply plan ${hash}`;
  return `Nothing is applied: ${why}: ${[...shown, ...more].join(", ")}${stale}; ${go}`;
}

/** One change for a reader, such as `delete "bucket" (a Bucket named shop-1)`. */
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
