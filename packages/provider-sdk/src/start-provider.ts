// SPDX-License-Identifier: Apache-2.0

import { aborted, type Clock, type Log, silentLog, systemClock } from "@purlin/base";
import { createInformerPool, isNoMatch, type KubeClient } from "@purlin/kube-client";
import {
  type ControllerEngine,
  crdType,
  createControllerClient,
  createControllerEngine,
  createEventRecorder,
  defineController,
  isEstablished,
  runWhileLeading,
  type WatchingController,
} from "@purlin/kube-controller";
import { type KubeObject, keyOf, objectsAt, parseApiVersion } from "@purlin/kube-objects/object";
import type { Registry } from "prom-client";
import type { ManagedResource } from "./managed-resource.ts";
import { type ManagedDeps, managedReconciler } from "./reconcile.ts";

/** The options of {@link startProvider}. */
interface ProviderOptions {
  /** The name of the provider: the source of its events, and the name of its Lease. */
  readonly name: string;
  /** The client of the API server. The caller closes it. */
  readonly client: KubeClient;
  readonly resources: readonly ManagedResource[];
  /** Leader election, for several replicas: only one of them works. None unless given. */
  readonly election?: { readonly namespace: string; readonly identity: string } | undefined;
  /** How many objects of a kind are reconciled at the same time: 10 unless given. */
  readonly maxConcurrentReconciles?: number | undefined;
  readonly registry?: Registry | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
  readonly jitter?: (() => number) | undefined;
}

/** A provider that runs. */
export interface RunningProvider extends AsyncDisposable {
  /** Whether it leads and its controllers run. */
  readonly isRunning: boolean;
  /** Settles when it has ended; rejects when it failed. */
  readonly ended: Promise<void>;
  /** Starts nothing more, waits for running reconciles, and writes pending events. */
  stop(): Promise<void>;
}

const defaultConcurrency = 10;

/**
 * Runs the controllers of managed resources. The controller of a kind starts when the kind is served, so a provider may start before its
 * CRDs are installed: packages of it can have the capability `safe-start`.
 */
export function startProvider(options: ProviderOptions): RunningProvider {
  const stopping = new AbortController();
  const state = { isRunning: false };
  const run = (signal: AbortSignal): Promise<void> => runControllers(options, state, signal);
  const { election, client, name, clock, log } = options;
  const ended =
    election === undefined
      ? run(stopping.signal)
      : runWhileLeading(
          {
            client,
            identity: election.identity,
            lease: { namespace: election.namespace, name },
            clock,
            log,
            signal: stopping.signal,
          },
          run,
        );
  ended.catch(() => {});
  const stop = async (): Promise<void> => {
    stopping.abort(new Error("the provider is stopping"));
    await ended.catch(() => {});
  };
  return {
    get isRunning() {
      return state.isRunning;
    },
    ended,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function runControllers(
  options: ProviderOptions,
  state: { isRunning: boolean },
  signal: AbortSignal,
): Promise<void> {
  await using closing = new AsyncDisposableStack();
  const { client: kube, name, clock = systemClock, log = silentLog, jitter, registry } = options;
  const informers = createInformerPool(kube, {
    onError: (error, { kind }) => log.debug("list/watch failed, retrying", { kind, error: String(error) }),
  });
  closing.defer(() => informers.stop());
  const client = createControllerClient({ client: kube, informers, clock });
  closing.defer(() => client.close());
  const events = createEventRecorder({ client: kube, source: name, namespacedOnly: false, clock, log });
  closing.defer(() => events.close());
  const concurrency = options.maxConcurrentReconciles ?? defaultConcurrency;
  const engine = createControllerEngine({ informers, clock, log, registry, concurrency });
  closing.defer(() => engine.close());
  const deps = { client, events, clock, log, jitter };
  const gate = gateController({ resources: options.resources, engine, deps, signal });
  engine.start(gate.spec);
  await engine.startWatches(gate.spec.name, gate.watches, signal);
  state.isRunning = true;
  log.info("provider runs", { kinds: options.resources.map(({ type }) => type.kind).join(", ") });
  try {
    await aborted(signal);
  } finally {
    state.isRunning = false;
  }
}

interface GateOptions {
  readonly resources: readonly ManagedResource[];
  readonly engine: ControllerEngine;
  readonly deps: ManagedDeps;
  readonly signal: AbortSignal;
}

/** Starts the controller of each kind once its CRD is established and serves the version. It is never stopped. */
function gateController({ resources, engine, deps, signal }: GateOptions): WatchingController {
  const byCrd = new Map(resources.map((resource) => [crdNameOf(resource), resource]));
  return defineController({
    ...deps,
    name: "gate",
    type: crdType,
    timeoutMs: 60_000,
    watches: [
      {
        type: "CustomResourceDefinition",
        object: crdType,
        keys: ({ object }) => (byCrd.has(object.metadata.name ?? "") ? [keyOf(object)] : []),
      },
    ],
    async reconcile({ stored, key }) {
      const resource = byCrd.get(key.name);
      if (resource === undefined || !serves(stored.object, resource)) return {};
      const controller = managedController(resource, deps);
      if (engine.isRunning(controller.spec.name)) return {};
      try {
        deps.client.mapper.forget(resource.type.apiVersion);
        engine.start(controller.spec);
        await engine.startWatches(controller.spec.name, controller.watches, signal);
        deps.log.info("controller runs", { kind: resource.type.kind });
        return {};
      } catch (error) {
        // A controller without its watch would never be woken: the next attempt starts both.
        await engine.stop(controller.spec.name);
        if (!isNoMatch(error)) throw error;
        return { requeueAfterMs: 250 };
      }
    },
  });
}

function crdNameOf({ plural, type }: ManagedResource): string {
  return `${plural}.${parseApiVersion(type.apiVersion).group}`;
}

function serves(crd: KubeObject, { type }: ManagedResource): boolean {
  const { version } = parseApiVersion(type.apiVersion);
  return (
    isEstablished(crd) &&
    objectsAt(crd, ["spec", "versions"]).some((one) => one["name"] === version && one["served"] === true)
  );
}

function managedController(resource: ManagedResource, deps: ManagedDeps): WatchingController {
  const { type } = resource;
  return defineController({
    ...managedReconciler(resource, deps),
    name: `managed/${type.kind.toLowerCase()}.${parseApiVersion(type.apiVersion).group}`,
    watches: [
      { type: "Managed", object: type, keys: (change) => (needsReconcile(change) ? [keyOf(change.object)] : []) },
    ],
  });
}

/** A change of the status alone does not wake: the provider wrote it. */
function needsReconcile(change: {
  readonly type: string;
  readonly object: KubeObject;
  readonly previous?: KubeObject;
}): boolean {
  const { object, previous } = change;
  if (change.type !== "updated" || previous === undefined) return true;
  const { metadata: now } = object;
  const { metadata: then } = previous;
  return (
    now.generation !== then.generation ||
    now.deletionTimestamp !== then.deletionTimestamp ||
    JSON.stringify([now.annotations, now.labels, now.finalizers]) !==
      JSON.stringify([then.annotations, then.labels, then.finalizers])
  );
}
