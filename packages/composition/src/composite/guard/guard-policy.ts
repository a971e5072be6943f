// SPDX-License-Identifier: Apache-2.0

import { annotationOf, type KubeObject, parseApiVersion, type TypeRef } from "@purlin/kube-objects/object";

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
export interface GuardLimit {
  readonly most: number;
  /** The annotation with its value, for messages. */
  readonly text: string;
  /** Whether the value of the annotation is not a number. */
  readonly isInvalid: boolean;
}

/** How much one reconcile may destroy. */
export interface GuardPolicy {
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
export function isProtected({ apiVersion, kind }: TypeRef, { protectedKinds }: GuardPolicy): boolean {
  const { group } = parseApiVersion(apiVersion);
  return protectedKinds.some((wanted) => wanted === kind || wanted === `${kind}.${group}`);
}
