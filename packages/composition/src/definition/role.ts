// SPDX-License-Identifier: Apache-2.0
// A definition is reconciled by two controllers of the same shape: one for composite resources, one for claims.

import {
  type ConditionText,
  conditionOf,
  conditionsOf,
  type KubeObject,
  type TypeRef,
} from "@purlin/kube-objects/object";

import { eventSources, finalizers } from "../composite-resource/constants.ts";
import type { DefinitionFacts } from "./definition-facts.ts";
import { claimCrdName, type DeriveOptions, deriveClaimCrd, deriveCompositeCrd } from "./derive-crd.ts";

/** What the two roles differ in. */
export interface DefinitionRole {
  /** The name of the kind in messages. */
  readonly what: "composite resource" | "composite resource claim";
  /** Its name, and the source of its events. */
  readonly controllerName: string;
  /** The prefix of the names of the controllers that it starts. */
  readonly prefix: "composite" | "claim";
  /** The category of the CRDs it makes. */
  readonly category: "composite" | "claim";
  readonly finalizer: string;
  readonly reasons: { readonly apply: string; readonly terminate: string };
  readonly running: ConditionText;
  readonly terminating: ConditionText;
  /** The reason of the Synced condition that reports failures of this role. */
  readonly failure: string;
  /** The field of the definition's status that has the reconciled kind. */
  readonly statusField: "compositeResourceType" | "compositeResourceClaimType";
  readonly timeoutMs: number;
  crdName(xrd: KubeObject): string;
  derive(xrd: KubeObject, options: DeriveOptions): KubeObject;
  typeOf(facts: DefinitionFacts): TypeRef | undefined;
  /** Whether a controller that was made for these facts must be replaced. */
  isOutdated(xrd: KubeObject, made: DefinitionFacts, now: DefinitionFacts): boolean;
}

/** Composite resources. */
export const compositeRole: DefinitionRole = {
  what: "composite resource",
  controllerName: eventSources.composite,
  prefix: "composite",
  category: "composite",
  finalizer: finalizers.defined,
  reasons: { apply: "EstablishComposite", terminate: "TerminateComposite" },
  running: { type: "Established", status: "True", reason: "WatchingCompositeResource" },
  terminating: { type: "Established", status: "False", reason: "TerminatingCompositeResource" },
  failure: "ReconcileError",
  statusField: "compositeResourceType",
  timeoutMs: 120_000,
  crdName: (xrd) => xrd.metadata.name ?? "",
  derive: deriveCompositeCrd,
  typeOf: ({ compositeType }) => compositeType,
  // Scope, schema and version are fixed when the controller starts, so any change of the spec counts. A controller that was started
  // since is not stopped again only because the status could not be written yet; a controller for another version is.
  isOutdated(xrd, made, now) {
    if (made.compositeType.apiVersion !== now.compositeType.apiVersion) return true;
    const { reason, observedGeneration = 0 } = conditionOf(conditionsOf(xrd), "Established");
    const isOld = observedGeneration !== 0 && observedGeneration !== now.generation;
    return reason === "WatchingCompositeResource" && isOld && made.generation !== now.generation;
  },
};

/** Claims. */
export const claimRole: DefinitionRole = {
  what: "composite resource claim",
  controllerName: eventSources.claim,
  prefix: "claim",
  category: "claim",
  finalizer: finalizers.offered,
  reasons: { apply: "OfferClaim", terminate: "RedactClaim" },
  running: { type: "Offered", status: "True", reason: "WatchingCompositeResourceClaim" },
  terminating: { type: "Offered", status: "False", reason: "TerminatingCompositeResourceClaim" },
  failure: "ClaimReconcileError",
  statusField: "compositeResourceClaimType",
  timeoutMs: 60_000,
  crdName: claimCrdName,
  derive: deriveClaimCrd,
  typeOf: ({ claimType }) => claimType,
  isOutdated(_xrd, made, now) {
    return made.claimType?.apiVersion !== now.claimType?.apiVersion || made.claimType?.kind !== now.claimType?.kind;
  },
};
