// SPDX-License-Identifier: Apache-2.0
import { silentLog, systemClock } from "@purlin/base";
import { runWhileLeading } from "@purlin/kube-controller";
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
