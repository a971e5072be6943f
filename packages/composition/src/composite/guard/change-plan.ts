// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { compareUtf8 } from "@purlin/kube-objects/json";
import { isDeleted, type KubeObject, parseApiVersion, type TypeRef } from "@purlin/kube-objects/object";
import { type CompositeSchema, type ResourceRef, resourceRefsOf } from "../../composite-resource/crossplane-fields.ts";
import type { DesiredResource } from "../apply/desired-resources.ts";
import { referencesTo } from "../apply/references.ts";
import { garbageOf } from "../collect/collect-garbage.ts";
import type { Observed } from "../observe/observe.ts";

/** One composed resource that would be deleted or replaced. */
export interface DestructiveChange {
  readonly class: "delete" | "replace";
  /** The name in the pipeline. */
  readonly resource: string;
  readonly object: KubeObject;
}

/** What a reconcile would destroy. */
export interface ChangePlan {
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
