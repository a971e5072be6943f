// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import {
  type ControllerClient,
  type ControllerEngine,
  type EventRecorder,
  type Reconcile,
  type ReconcileContext,
  type WatchSpec,
  withConditionTexts,
} from "@purlin/kube-controller";
import {
  type Condition,
  type ConditionText,
  conditionOf,
  conditionsOf,
  type KubeObject,
  memberAt,
  type TypeRef,
  withConditions,
  withMember,
} from "@purlin/kube-objects/object";
import { eventSources, finalizers, reconcileSuccess } from "../composite-resource/constants.ts";
import type { DefinitionFacts } from "./definition-facts.ts";
import { claimCrdName, type DeriveOptions, deriveClaimCrd, deriveCompositeCrd } from "./derive-crd.ts";

/** A controller made for the composite resources, or the claims, of one definition. */
export interface InstanceController {
  readonly reconcile: Reconcile;
  readonly watches: readonly WatchSpec[];
  /** Called when the controller has stopped for good. */
  readonly close?: (() => void) | undefined;
}

/** Makes the controller of a definition's instances. Called once for each time it is started. */
export type CreateInstanceController = (facts: DefinitionFacts) => InstanceController;

/** The dependencies of the controllers of definitions. */
export interface DefinitionDeps {
  readonly client: ControllerClient;
  readonly engine: ControllerEngine;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the status of composite resources has the function revisions that ran. */
  readonly functionRevisions: boolean;
  /** Names of definitions whose kinds accept any field. */
  readonly openDefinitions?: ReadonlySet<string> | undefined;
  /** How many objects each started controller may reconcile at the same time. */
  readonly concurrency?: number | undefined;
  /** How each started controller spaces out its retries. */
  readonly backoff?: { readonly baseMs: number; readonly maxMs: number } | undefined;
}

/** One reconcile of a definition in one role. */
export interface DefinitionContext extends ReconcileContext {
  readonly deps: DefinitionDeps;
  readonly role: DefinitionRole;
  readonly controllers: InstanceControllers;
}

const concurrentReconciles = 100;

/** The controllers that definitions have started in one role, by the name of their definition. */
export interface InstanceControllers {
  /** The facts that the running controller was started with. */
  running(definition: string): DefinitionFacts | undefined;
  /** Does nothing when it runs. */
  start(facts: DefinitionFacts): void;
  /** Starts the watches that do not run yet. */
  startWatches(definition: string, signal: AbortSignal): Promise<void>;
  /** Does nothing when it does not run. */
  stop(definition: string): Promise<void>;
}

/** A controller is created when it is started, not at every reconcile of its definition: its memory ends with it. */
export function createInstanceControllers(
  { engine, concurrency = concurrentReconciles, backoff }: DefinitionDeps,
  role: DefinitionRole,
  create: CreateInstanceController,
): InstanceControllers {
  const made = new Map<string, { readonly facts: DefinitionFacts; readonly controller: InstanceController }>();
  const nameOf = (definition: string): string => `${role.prefix}/${definition}`;
  const forget = (definition: string): void => {
    made.get(definition)?.controller.close?.();
    made.delete(definition);
  };
  const running = (definition: string): DefinitionFacts | undefined =>
    engine.isRunning(nameOf(definition)) ? made.get(definition)?.facts : undefined;
  return {
    running,
    start(facts) {
      if (running(facts.name) !== undefined) return;
      // A controller that ended by itself is created again.
      forget(facts.name);
      const controller = create(facts);
      engine.start({ name: nameOf(facts.name), reconcile: controller.reconcile, concurrency, backoff });
      made.set(facts.name, { facts, controller });
    },
    async startWatches(definition, signal) {
      await engine.startWatches(nameOf(definition), made.get(definition)?.controller.watches ?? [], signal);
    },
    async stop(definition) {
      await engine.stop(nameOf(definition));
      forget(definition);
    },
  };
}

// A definition is reconciled by two controllers of the same shape: one for composite resources, one for claims.

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

/** The role in which a definition is reconciled, and the time of its conditions. */
type StatusContext = Pick<DefinitionContext, "deps" | "role">;

/** The definition with another condition. */
export function withState(xrd: KubeObject, text: ConditionText, { deps }: StatusContext): KubeObject {
  return withConditionTexts(xrd, [text], deps.clock);
}

function syncedOf(xrd: KubeObject): Condition {
  return conditionOf(conditionsOf(xrd), "Synced");
}

/** The definition while the controller of a role runs: the kind that it reconciles, and no failure of the role. */
export function withRunning(xrd: KubeObject, type: TypeRef, context: StatusContext): KubeObject {
  const { role } = context;
  const none = { apiVersion: "", kind: "" };
  const { apiVersion, kind } = type;
  const controllers = {
    compositeResourceType: none,
    compositeResourceClaimType: none,
    ...(memberAt(xrd, ["status", "controllers"]) as object | undefined),
    [role.statusField]: { apiVersion, kind },
  };
  const running = withState(withMember(xrd, ["status", "controllers"], controllers), role.running, context);
  return syncedOf(running).reason === role.failure ? withState(running, reconcileSuccess, context) : running;
}

/** A condition of older versions, whose API server did not call conversion webhooks. */
const conversionCalled = "ConversionWebhookCalled";

/** The definition without the condition that its conversion webhook is not called. */
export function withoutConversionNotice(xrd: KubeObject): KubeObject {
  const others = conditionsOf(xrd).filter(({ type }) => type !== conversionCalled);
  return others.length === conditionsOf(xrd).length ? xrd : withConditions(xrd, others);
}

/**
 * The definition with the failure of a role in its Synced condition, which is absent until a first failure. When both
 * roles fail, the failure of the composite role is shown: without composite resources claims are of no use.
 */
export function withFailure(xrd: KubeObject, message: string, context: StatusContext): KubeObject {
  const { role } = context;
  if (role === claimRole && syncedOf(xrd).reason === compositeRole.failure) return xrd;
  return withState(xrd, { type: "Synced", status: "False", reason: role.failure, message }, context);
}
