// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand, silentLog, systemClock } from "@purlin/base";
import { isNoMatch, type KubeReader } from "@purlin/kube-client";
import { runWhileLeading } from "@purlin/kube-controller";
import { isJsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { ControlPlane, ControlPlaneDeps, ControlPlaneState } from "./control-plane.ts";
import { type ControlPlaneOptions, defaultControlPlaneSettings } from "./control-plane-options.ts";
import { type RunOptions, runControllers } from "./run-controllers.ts";

/** The Lease that Crossplane's core elects its leader on: only its holder runs, Crossplane or this control plane. */
export const leaderLeaseName = "crossplane-leader-election-core";

/**
 * Starts all controllers on an API server, whichever it is: installs the CRDs of our kinds, then composes what users ask
 * for, until it is stopped. With an election it works only while it leads.
 */
export function startControlPlane(options: ControlPlaneOptions): ControlPlane {
  return new RunningControlPlane(options);
}

class RunningControlPlane implements ControlPlane {
  readonly ready: Promise<ControlPlaneDeps>;
  readonly ended: Promise<void>;
  readonly #stopping = new AbortController();
  #state: ControlPlaneState = "starting";

  constructor(options: ControlPlaneOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<ControlPlaneDeps>();
    this.ready = promise;
    this.ended = this.#run({
      ...options,
      settings: { ...defaultControlPlaneSettings, ...options.settings },
      clock: options.clock ?? systemClock,
      log: options.log ?? silentLog,
      onReady: (parts) => {
        this.#state = "running";
        resolve(parts);
      },
    });
    this.ended.then(() => reject(new Error("the control plane was stopped before it was ready")), reject);
    // A caller that waits for one of them need not handle the rejection of the other.
    this.ready.catch(() => {});
    this.ended.catch(() => {});
  }

  get state(): ControlPlaneState {
    return this.#state;
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the control plane is stopping"));
    // `ended` reports failures; a stop only waits for the end.
    await this.ended.catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(options: RunOptions): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await this.#lead(options);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#state = "stopped";
    }
  }

  async #lead(options: RunOptions): Promise<void> {
    const { election, client, clock, log } = options;
    const { signal } = this.#stopping;
    if (election === undefined) return runControllers(options, signal);
    this.#state = "waiting";
    const { namespace, name = leaderLeaseName, ...rest } = election;
    await runWhileLeading({ ...rest, client, clock, log, signal, lease: { namespace, name } }, async (term) => {
      this.#state = "starting";
      await runControllers(options, term).finally(() => {
        this.#state = "waiting";
      });
    });
  }
}

const deployment = { apiVersion: "apps/v1", kind: "Deployment" };
const brand = createErrorBrand<LiveCrossplaneError>("purlin.dev/control-plane/live-crossplane");

/** A Crossplane runs on the same API server: two control planes would write the same fields with the same managers. */
class LiveCrossplaneError extends Error {
  constructor(namespace: string, name: string) {
    const takeOver = `kubectl --namespace ${namespace} scale deployment ${name} --replicas=0`;
    super(
      `Deployment "${name}" in namespace "${namespace}" runs Crossplane, and two control planes must not share an API ` +
        `server: to take over from it, run "${takeOver}" and start again; nothing it made is deleted`,
    );
    this.name = "LiveCrossplaneError";
    brand.mark(this);
  }
}

/** Whether a value is a {@link LiveCrossplaneError}. */
export function isLiveCrossplane(error: unknown): error is LiveCrossplaneError {
  return brand.has(error);
}

/**
 * Rejects with a {@link LiveCrossplaneError} when a Deployment of Crossplane's core has ready replicas. The leader's Lease
 * is not enough: Crossplane holds it only with leader election.
 */
export async function refuseBesideCrossplane(
  client: Pick<KubeReader, "list">,
  namespace: string,
  signal?: AbortSignal,
): Promise<void> {
  const live = (await deploymentsOf(client, namespace, signal)).find(hasReadyReplicas);
  if (live !== undefined) throw new LiveCrossplaneError(namespace, live.metadata.name ?? "");
}

async function deploymentsOf(
  client: Pick<KubeReader, "list">,
  namespace: string,
  signal: AbortSignal | undefined,
): Promise<readonly KubeObject[]> {
  try {
    const { items } = await client.list(deployment, { namespace, labelSelector: "app=crossplane", signal });
    return items;
  } catch (error) {
    // An API server without Deployments runs no Crossplane.
    if (isNoMatch(error)) return [];
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot determine whether Crossplane runs in namespace "${namespace}": ${text}`, { cause: error });
  }
}

function hasReadyReplicas(object: KubeObject): boolean {
  const status = object["status"];
  const ready = isJsonObject(status) ? status["readyReplicas"] : undefined;
  return typeof ready === "number" && ready > 0;
}
