// SPDX-License-Identifier: Apache-2.0

import { aborted, type Clock, type Log } from "@purlin/base";
import { activationPolicyType, compositionCrds, keptCrds } from "@purlin/composition";
import { createInformerPool, isNoMatch } from "@purlin/kube-client";
import {
  createControllerClient,
  createControllerEngine,
  createEventRecorder,
  installCrds,
} from "@purlin/kube-controller";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { operationControllers } from "@purlin/operations";
import { ensureObject, functionCrds, packageCrds } from "@purlin/package-manager";
import { rolloutControllers } from "@purlin/rollout";
import type { ControlPlaneDeps } from "./control-plane.ts";
import type { ControlPlaneOptions, ControlPlaneSettings } from "./control-plane-options.ts";
import { compositionControllers, managedResourceControllers } from "./controllers.ts";
import { followCrds, followSensitiveFields } from "./follow-crds.ts";
import { createFunctionPlane } from "./function-plane.ts";

/** Called whenever the list or watch of a type fails; it is retried either way. */
export type WatchErrorLogger = (error: unknown, type: TypeRef) => void;

/** One run of all controllers, from the installation of CRDs to the last event. */
export interface RunOptions extends ControlPlaneOptions {
  readonly settings: ControlPlaneSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly onReady: (deps: ControlPlaneDeps) => void;
}

/** Runs all controllers until the signal aborts. Rejects when they cannot be started; all is closed either way. */
export async function runControllers(options: RunOptions, signal: AbortSignal): Promise<void> {
  await using closing = new AsyncDisposableStack();
  const { client: kube, settings, clock, log, registry } = options;
  await options.beforeStart?.(signal);
  const packageKinds = (options.packages === undefined ? functionCrds : packageCrds)(settings);
  await installCrds(kube, [...compositionCrds(), ...keptCrds(), ...packageKinds], {
    signal,
    onProgress: options.onInstall,
  });
  if (settings.activations.length > 0) await ensureObject(kube, defaultPolicy(settings.activations), signal);
  // In the order in which they depend on each other; they are closed in the opposite one.
  const onError = createWatchErrorLogger(log, (type) => (informers.peek(type)?.lists ?? 0) > 0);
  const informers = createInformerPool(kube, { onError });
  closing.defer(() => informers.stop());
  const client = createControllerClient({ client: kube, informers, clock });
  closing.defer(() => client.close());
  const events = createEventRecorder({
    client: kube,
    source: "crossplane",
    namespacedOnly: settings.namespacedEventsOnly,
    clock,
    log,
  });
  closing.defer(() => events.close());
  const functionPlane = createFunctionPlane({ ...options, shadows: true }, client);
  closing.defer(() => functionPlane.close());
  const { kindsChanged: onChange } = functionPlane;
  closing.defer(await followCrds({ informers, mapper: kube.mapper, clock, log, onChange }, signal));
  if (options.runs !== undefined) closing.defer(followSensitiveFields(informers, options.runs.sensitive));
  const engine = createControllerEngine({
    informers,
    clock,
    log,
    registry,
    resyncMs: settings.syncIntervalMs,
    stopGraceMs: settings.stopGraceMs,
    concurrency: settings.maxConcurrentReconciles,
  });
  const { runStep } = functionPlane;
  const deps: ControlPlaneDeps = { kube, client, informers, engine, events, runStep };
  const own = [
    ...compositionControllers({ ...deps, functionPlane, settings, clock, log, registry, runs: options.runs }),
    ...managedResourceControllers({ ...deps, clock, log }),
  ];
  const packages = await options.packages?.open(deps, signal);
  if (packages !== undefined) closing.use(packages);
  // Closed before the clients that reconciles use: a watch that a reconcile starts later would never be closed.
  closing.defer(() => engine.close());
  const { samples } = functionPlane;
  const rollouts =
    samples === undefined
      ? []
      : rolloutControllers({ ...deps, samples, shadow: functionPlane.shadow?.reports, clock, log, registry });
  const operations = operationControllers({
    ...{ client, engine, events, clock, log, runStep, enabled: settings.operations },
    fetchers: functionPlane.fetchers,
    developmentFunctions: settings.developmentFunctions ? (settings.developmentTrust ?? {}) : undefined,
    deadlineMs: settings.compositeDeadlineMs,
    breakerLimits: settings.circuitBreaker,
    recordRun: options.runs && ((run) => options.runs?.record(run)),
  });
  const others = [...(packages?.controllers ?? []), ...rollouts, ...operations, ...(options.more?.(deps) ?? [])];
  for (const { spec, watches } of [...own, ...others]) {
    engine.start(spec);
    // A server that does not answer must not keep a control plane running that is stopped, or that lost leadership.
    await engine.startWatches(spec.name, watches, signal);
  }
  signal.throwIfAborted();
  options.onReady(deps);
  log.info("all controllers run");
  await aborted(signal);
}

/** The policy that Crossplane creates when it is installed. It is never changed afterwards. */
function defaultPolicy(activate: readonly string[]): KubeObject {
  return { ...activationPolicyType, metadata: { name: "default" }, spec: { activate } } as KubeObject;
}

/** The number of types of which the last reason is remembered: functions may ask for any number of them. */
const mostLogged = 1000;

/**
 * Logs why a type cannot be listed or watched: once for each reason, not for every attempt. A type that was watched and whose definition
 * is deleted is not logged; its watch ends after a while.
 */
export function createWatchErrorLogger(log: Log, wasWatched: (type: TypeRef) => boolean): WatchErrorLogger {
  const logged = new Map<string, string>();
  return (error, type) => {
    const name = `${type.kind} (${type.apiVersion})`;
    const text = error instanceof Error ? error.message : String(error);
    const isNews = logged.get(name) !== text && !(isNoMatch(error) && wasWatched(type));
    if (isNews && logged.size >= mostLogged) logged.clear();
    if (isNews) logged.set(name, text);
    log[isNews ? "info" : "debug"]("list/watch failed, retrying", { type: name, error: text });
  };
}
