// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import {
  activationPolicyType,
  type BreakerMetrics,
  type CompositeDeps,
  type CreateInstanceController,
  compositeControllerName,
  createActivationController,
  createBreakerMetrics,
  createClaimController,
  createCompositeController,
  createDefinedController,
  createDisabledUsageControllers,
  createManagedDefinitionController,
  createOfferedController,
  createProtectionControllers,
  createRevisionsController,
  createRevisionValidityController,
  createUsageControllers,
  eventSources,
  noBreakerMetrics,
  UsageIndex,
} from "@purlin/composition";
import type { WatchingController } from "@purlin/kube-controller";
import type { RandomInteger } from "@purlin/kube-objects/metadata";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Registry } from "prom-client";
import type { ControlPlaneDeps } from "./control-plane.ts";
import type { ControlPlaneOptions, ControlPlaneSettings } from "./control-plane-options.ts";
import type { FunctionPlane } from "./function-plane.ts";

/** The dependencies of the controllers of composition. */
interface ControllerDeps extends Pick<ControlPlaneDeps, "client" | "engine" | "events"> {
  readonly functionPlane: Pick<FunctionPlane, "runStep" | "fetchers"> & Partial<Pick<FunctionPlane, "rollouts">>;
  readonly settings: ControlPlaneSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: Registry | undefined;
  /** The source of random names of composite resources; that of the machine unless given. */
  readonly random?: RandomInteger | undefined;
  /** Records reconciles of composite resources. */
  readonly runs?: ControlPlaneOptions["runs"];
  /** Called with what would hold a composite resource, which is applied anyway: for previews. */
  readonly onHeld?: CompositeDeps["onHeld"];
  /** The context with which every pipeline begins: for tests. */
  readonly context?: CompositeDeps["context"];
}

const compositeBackoff = { baseMs: 1000, maxMs: 30_000 };

/** The controllers that run as long as the control plane does. Those of XRs and claims come and go with definitions. */
export function compositionControllers(deps: ControllerDeps): readonly WatchingController[] {
  const { client, engine, events, clock, log, settings } = deps;
  const { functionRevisionSelectors, developmentFunctions, developmentTrust = {} } = settings;
  const { maxConcurrentReconciles: concurrency } = settings;
  const definitions = {
    client,
    engine,
    events,
    clock,
    log,
    functionRevisions: functionRevisionSelectors,
    openDefinitions: settings.openDefinitions,
    concurrency,
  };
  return [
    createDefinedController({
      ...definitions,
      backoff: compositeBackoff,
      compositeController: compositeControllers(deps),
    }),
    createOfferedController({ ...definitions, claimController: claimControllers(deps) }),
    createRevisionsController({ client, events, clock, log }),
    createRevisionValidityController({
      client,
      events,
      clock,
      revisionSelectors: functionRevisionSelectors,
      developmentFunctions,
      developmentTrust,
    }),
    ...(settings.providerDeletionProtection && settings.usages
      ? createProtectionControllers({ client, engine, events, clock, log })
      : []),
    ...(settings.usages
      ? createUsageControllers({ client, engine, events, clock, log, index: new UsageIndex() })
      : createDisabledUsageControllers({ client, events, clock, log })),
  ];
}

/** The dependencies of the controllers of managed resource definitions. */
type ManagedResourceDeps = Pick<ControllerDeps, "client" | "events" | "clock" | "log"> &
  Pick<ControlPlaneDeps, "informers">;

/** The controllers of managed resource definitions and of the policies that activate them. */
export function managedResourceControllers(deps: ManagedResourceDeps): readonly WatchingController[] {
  const cachedPolicies = (): readonly KubeObject[] => deps.informers.peek(activationPolicyType)?.list() ?? [];
  return [createManagedDefinitionController(deps), createActivationController({ ...deps, cachedPolicies })];
}

function compositeControllers(deps: ControllerDeps): CreateInstanceController {
  const { client, engine, events, clock, log, settings, functionPlane, registry, runs, onHeld, context } = deps;
  const breakerMetrics = breakerMetricsOf(registry);
  return ({ name, compositeType, schema }) =>
    createCompositeController({
      kind: { definition: name, type: compositeType, schema },
      client,
      engine,
      events: events.with(eventSources.composite, compositeControllerName(name)),
      runStep: functionPlane.runStep,
      rollouts: functionPlane.rollouts,
      fetchers: functionPlane.fetchers,
      clock,
      log,
      settings: {
        realtime: settings.realtimeCompositions,
        pollIntervalMs: settings.pollIntervalMs,
        minPollIntervalMs: settings.minPollIntervalMs,
        functionRevisions: settings.functionRevisionSelectors,
        ...(settings.compositeDeadlineMs !== undefined && { deadlineMs: settings.compositeDeadlineMs }),
      },
      onHeld,
      context,
      recordRun: runs && ((run) => runs.record(run)),
      breakerLimits: settings.circuitBreaker,
      breakerMetrics,
    });
}

const breakerMetricsByRegistry = new WeakMap<Registry, BreakerMetrics>();

/** Those of all controllers together, and of every time this process leads. */
function breakerMetricsOf(registry: Registry | undefined): BreakerMetrics {
  if (registry === undefined) return noBreakerMetrics;
  const metrics = breakerMetricsByRegistry.get(registry) ?? createBreakerMetrics(registry);
  breakerMetricsByRegistry.set(registry, metrics);
  return metrics;
}

function claimControllers({ client, events, clock, log, settings, random }: ControllerDeps): CreateInstanceController {
  return ({ name, claimType, compositeType }) => {
    if (claimType === undefined) throw new Error(`CompositeResourceDefinition "${name}" offers no claims`);
    return createClaimController({
      kind: { definition: name, claimType, compositeType },
      client,
      events,
      clock,
      log,
      random,
      settings: {
        serverSideApply: settings.serverSideApplyClaims,
        acceptOtherVersions: settings.acceptOtherClaimVersions,
      },
    });
  };
}
