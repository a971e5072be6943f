// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";

/** Where a Lease is. */
export interface LeaseKey {
  readonly namespace: string;
  readonly name: string;
}

/** The type of Leases. */
export const leaseType = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" } as const;

/** What a Lease says. */
export type LeaseSpec = {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
};

/** The spec of a Lease; fields that are not set are absent. */
export function leaseSpecOf(lease: KubeObject): LeaseSpec {
  const spec = lease["spec"];
  return typeof spec === "object" && spec !== null ? (spec as LeaseSpec) : {};
}

/** A time with microseconds, as Leases carry it. */
export function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}

/** The spec of a Lease that `identity` takes or keeps. */
export function heldBy(
  identity: string,
  { before, now, durationMs }: { readonly before: LeaseSpec; readonly now: number; readonly durationMs: number },
): LeaseSpec {
  const isOurs = before.holderIdentity === identity;
  return {
    ...before,
    holderIdentity: identity,
    leaseDurationSeconds: Math.max(1, Math.round(durationMs / 1000)),
    acquireTime: (isOurs ? before.acquireTime : undefined) ?? microTime(now),
    renewTime: microTime(now),
    leaseTransitions: (before.leaseTransitions ?? 0) + (isOurs || !before.holderIdentity ? 0 : 1),
  };
}
