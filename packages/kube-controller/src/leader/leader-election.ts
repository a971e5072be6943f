// SPDX-License-Identifier: Apache-2.0
import { type Clock, type Log, silentLog, systemClock } from "@purlin/base";
import type { KubeClient } from "@purlin/kube-client";
import { isAlreadyExists, isConflict, isNotFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";

/** Where a Lease is. */
interface LeaseKey {
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

/** How to elect a leader. */
export interface LeaderElectionOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "update">;
  readonly lease: LeaseKey;
  /** Our identity; no two processes may have the same. */
  readonly identity: string;
  /** Others take over when the Lease was not renewed for this long. Default: 60 s. */
  readonly leaseDurationMs?: number | undefined;
  /** We stop when we could not renew for this long; less than the Lease's duration. Default: 50 s. */
  readonly renewDeadlineMs?: number | undefined;
  /** How often to try to win, and to renew after a failure. A leader renews five times a deadline. Default: 2 s. */
  readonly retryPeriodMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
  /** Called with the holder of the Lease whenever it changes, this process included; undefined when the Lease has no holder. */
  readonly onHolder?: ((holder: string | undefined) => void) | undefined;
  /** Ends the election; the Lease is given back. */
  readonly signal: AbortSignal;
}

/**
 * Runs `run` whenever this process is the leader, and only then: its signal aborts when the Lease could not be renewed in
 * time, and it runs again when the Lease is won again. Resolves when the signal aborts; ends with `run` when that ends by
 * itself. The Lease is given back at the end, after `run` has settled, so that another process can take over at once.
 */
export async function runWhileLeading(
  options: LeaderElectionOptions,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const election = new Election(options);
  const { signal } = options;
  while (!signal.aborted) {
    if (!(await election.win())) return;
    const term = new AbortController();
    const renewing = election.keep(term);
    try {
      await run(AbortSignal.any([signal, term.signal]));
      if (!term.signal.aborted) return;
    } catch (error) {
      // What fails because the term was over is tried again in the next one.
      if (!term.signal.aborted) throw error;
    } finally {
      const wasLost = term.signal.aborted;
      term.abort();
      await renewing;
      if (!wasLost) await election.giveBack();
    }
  }
}

class Election {
  readonly #options: LeaderElectionOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #durationMs: number;
  readonly #retryMs: number;
  // Clocks of machines differ: what counts is when we saw the Lease change, not the times in it.
  #seen: { readonly version: string; readonly at: number } | undefined;
  #lease: KubeObject | undefined;
  // When we asked for what we hold: others count from when it was stored, which was not before that.
  #askedAt = 0;
  #holder: string | undefined | null = null;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#durationMs = options.leaseDurationMs ?? 60_000;
    this.#retryMs = options.retryPeriodMs ?? 2000;
  }

  /** Resolves with true when the Lease is ours, with false when the signal aborts first. */
  async win(): Promise<boolean> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      this.#askedAt = this.#clock.now();
      if (await this.#try(signal)) return true;
      await this.#sleep(this.#retryMs, signal);
    }
    return false;
  }

  /** Renews until the term ends; ends the term when that was not possible for too long. */
  async keep(term: AbortController): Promise<void> {
    const deadlineMs = this.#options.renewDeadlineMs ?? 50_000;
    // Each renewal is a write: no more of them than it takes to be sure.
    const renewMs = Math.max(this.#retryMs, deadlineMs / 5);
    let renewedAt = this.#askedAt;
    let pauseMs = renewMs;
    // A server that does not answer must not keep us from noticing that time is up.
    const cancelled = new AbortController();
    const check = (): (() => void) =>
      this.#clock.schedule(Math.max(0, renewedAt + deadlineMs - this.#clock.now()), () => {
        this.#log.error("lost the leader election: the Lease could not be renewed in time", this.#fields());
        term.abort(new Error("this process is no longer the leader"));
        cancelled.abort();
      });
    let cancel = check();
    const stop = AbortSignal.any([term.signal, cancelled.signal]);
    while (!stop.aborted) {
      await this.#sleep(pauseMs, stop);
      if (stop.aborted) break;
      const began = this.#clock.now();
      const isRenewed = await this.#try(stop);
      pauseMs = isRenewed ? renewMs : this.#retryMs;
      if (isRenewed) {
        renewedAt = began;
        cancel();
        cancel = check();
      } else if (this.#isTakenByAnother()) {
        this.#log.error("lost the leader election: another process holds the Lease", this.#fields());
        term.abort(new Error("this process is no longer the leader"));
      }
    }
    cancel();
  }

  /** Others need not wait for the Lease to run out. */
  async giveBack(): Promise<void> {
    const lease = this.#lease;
    if (lease === undefined || leaseSpecOf(lease).holderIdentity !== this.#options.identity) return;
    const spec: LeaseSpec = { ...leaseSpecOf(lease), holderIdentity: "", leaseDurationSeconds: 1 };
    const signal = AbortSignal.timeout(giveBackMs);
    await this.#options.client.update({ ...lease, spec }, { signal }).then(
      () => this.#log.info("gave the leader's Lease back", this.#fields()),
      (error: unknown) => this.#log.debug("cannot give the leader's Lease back", this.#fields(error)),
    );
  }

  /** Takes or renews the Lease. Whatever fails is tried again. */
  async #try(signal: AbortSignal): Promise<boolean> {
    try {
      const current = await this.#read(signal);
      if (current === undefined) return await this.#write(undefined, signal);
      this.#note(current);
      return this.#isFree(current) && (await this.#write(current, signal));
    } catch (error) {
      if (signal.aborted) return false;
      // A conflict means that another candidate was faster; the next read has its name.
      if (!isConflict(error) && !isAlreadyExists(error)) {
        this.#log.error("cannot reach the leader's Lease", this.#fields(error));
      }
      return false;
    }
  }

  async #read(signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.#options.client.get(leaseType, this.#options.lease, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #write(current: KubeObject | undefined, signal: AbortSignal): Promise<boolean> {
    const { client, lease, identity } = this.#options;
    const before = current === undefined ? {} : leaseSpecOf(current);
    const spec = heldBy(identity, { before, now: this.#clock.now(), durationMs: this.#durationMs });
    const stored =
      current === undefined
        ? await client.create({ ...leaseType, metadata: { ...lease }, spec }, { signal })
        : await client.update({ ...current, spec }, { signal });
    this.#note(stored);
    return true;
  }

  #note(lease: KubeObject): void {
    this.#lease = lease;
    const version = lease.metadata.resourceVersion ?? "";
    if (this.#seen?.version !== version) this.#seen = { version, at: this.#clock.now() };
    const holder = leaseSpecOf(lease).holderIdentity || undefined;
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#options.onHolder?.(holder);
    if (holder === this.#options.identity) this.#log.info("became the leader", this.#fields());
    else this.#log.info("waiting for the leader's Lease", { ...this.#fields(), holder });
  }

  #isFree(lease: KubeObject): boolean {
    const { holderIdentity, leaseDurationSeconds } = leaseSpecOf(lease);
    if (!holderIdentity || holderIdentity === this.#options.identity) return true;
    const durationMs = leaseDurationSeconds === undefined ? this.#durationMs : leaseDurationSeconds * 1000;
    return this.#seen !== undefined && this.#clock.now() >= this.#seen.at + durationMs;
  }

  #isTakenByAnother(): boolean {
    const holder = this.#lease && leaseSpecOf(this.#lease).holderIdentity;
    return Boolean(holder) && holder !== this.#options.identity;
  }

  #sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.schedule(milliseconds, resolve);
    const abort = (): void => {
      cancel();
      resolve();
    };
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", abort));
  }

  #fields(error?: unknown): Record<string, unknown> {
    const { namespace, name } = this.#options.lease;
    const text = error instanceof Error ? error.message : String(error);
    return {
      lease: `${namespace}/${name}`,
      identity: this.#options.identity,
      ...(error !== undefined && { error: text }),
    };
  }
}

const giveBackMs = 5000;
