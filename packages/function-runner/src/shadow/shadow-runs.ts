// SPDX-License-Identifier: Apache-2.0

import { type Clock, inTurns, type Log, silentLog, systemClock } from "@purlin/base";
import type { RunFunctionRequest, RunFunctionResponse, State } from "@purlin/function-protocol";
import type { createRedactor } from "@purlin/run-store";
import { type FunctionRunner, observing, type RunCall, type ShadowOrder, textOf } from "../function-runner.ts";
import type { RunStep } from "../resolution/function-resolver.ts";
import { compareAnswers, type ShadowDetail, worse } from "./compare-answers.ts";
import type { ShadowStore } from "./shadow-store.ts";

/** A step that was answered, and is to be run once more on another revision. */
export interface ShadowOffer {
  readonly order: ShadowOrder;
  readonly step: string;
  /** As it was sent first, before the function required anything. */
  readonly request: RunFunctionRequest;
  readonly stable: RunFunctionResponse;
  readonly stableMs: number;
  /** Whether a cache answered: its time is not a measure of the function. */
  readonly isCached: boolean;
}

/**
 * The dependencies of shadow runs. The runner reads what functions require, and there is nothing here that could write: neither a client,
 * nor a cache, nor a recorder, nor events.
 */
interface ShadowDeps {
  /** Calls functions without a cache, a recorder or metrics. */
  readonly runner: Pick<FunctionRunner, "run">;
  readonly store: ShadowStore;
  readonly redactor: ReturnType<typeof createRedactor>;
  /** The share of reconciles, in percent, whose composite resource is run again after it was compared once. Default 5. */
  readonly samplePercent?: number | undefined;
  readonly limits?: Partial<ShadowLimits> | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
  /** A random number in [0, 1). */
  readonly random?: (() => number) | undefined;
}

/** How much shadow runs may take. */
export interface ShadowLimits {
  /** Runs at once. */
  readonly concurrency: number;
  /** Offers that wait; the oldest stay, and more are dropped. */
  readonly queued: number;
  /** The bytes of the requests that wait. */
  readonly queuedBytes: number;
  /** How long one run may take. */
  readonly timeoutMs: number;
}

const defaultLimits: ShadowLimits = { concurrency: 2, queued: 500, queuedBytes: 64 * 2 ** 20, timeoutMs: 20_000 };
const defaultSamplePercent = 5;

interface Waiting {
  readonly offer: ShadowOffer;
  readonly bytes: number;
}

/** Runs candidates beside the revisions that serve, and compares the answers. */
export class ShadowRuns {
  readonly #deps: ShadowDeps;
  readonly #limits: ShadowLimits;
  readonly #closing = new AbortController();
  /** One for each step of a composite resource: a newer offer takes the place of one that waits. */
  readonly #queue = new Map<string, Waiting>();
  #bytes = 0;
  #running = 0;
  #idle: (() => void)[] = [];

  constructor(deps: ShadowDeps) {
    this.#deps = deps;
    this.#limits = { ...defaultLimits, ...deps.limits };
  }

  /** Takes a step over, by reference. Never throws, and never waits. */
  offer(offer: ShadowOffer): void {
    const { order, step } = offer;
    if (this.#closing.signal.aborted) return;
    this.#deps.store.expect(order.rollout.uid, order.composite, step);
    if (!this.#isSampled(offer)) return;
    const key = `${order.rollout.uid}/${order.composite.uid}/${step}`;
    const bytes = sizeOf(offer.request);
    this.#take(key);
    if (this.#queue.size >= this.#limits.queued || this.#bytes + bytes > this.#limits.queuedBytes) {
      this.#deps.store.drop(order.rollout.uid);
      return;
    }
    this.#queue.set(key, { offer, bytes });
    this.#bytes += bytes;
    this.#start();
  }

  /** Resolves when nothing waits or runs. */
  idle(): Promise<void> {
    if (this.#queue.size + this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Ends all runs. */
  close(): void {
    this.#closing.abort();
    this.#queue.clear();
    this.#bytes = 0;
    this.#deps.store.close();
  }

  #isSampled({ order, step }: ShadowOffer): boolean {
    const { store, samplePercent = defaultSamplePercent, random = Math.random } = this.#deps;
    if (samplePercent <= 0) return false;
    // Each composite resource is compared once: what a candidate destroys must not depend on luck.
    if (!store.hasStep(order.rollout.uid, order.composite.uid, step)) return true;
    return random() * 100 < samplePercent;
  }

  #take(key: string): Waiting | undefined {
    const waiting = this.#queue.get(key);
    if (waiting === undefined) return undefined;
    this.#queue.delete(key);
    this.#bytes -= waiting.bytes;
    return waiting;
  }

  #start(): void {
    while (this.#running < this.#limits.concurrency) {
      const key = this.#queue.keys().next().value;
      const next = key === undefined ? undefined : this.#take(key);
      if (next === undefined) return;
      this.#running += 1;
      void this.#run(next.offer).finally(() => {
        this.#running -= 1;
        this.#start();
        if (this.#queue.size + this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve();
      });
    }
  }

  async #run(offer: ShadowOffer): Promise<void> {
    const { store, clock = systemClock, log = silentLog } = this.#deps;
    const { rollout, composite, candidate } = offer.order;
    try {
      const found = await this.#compare(offer);
      if (this.#closing.signal.aborted) return;
      const { uid, apiVersion, kind, namespace, name } = composite;
      const at = new Date(clock.now()).toISOString();
      const stableMs = Math.round(offer.stableMs);
      store.add(rollout.uid, {
        composite: { apiVersion, kind, ...(namespace && { namespace }), name, uid },
        step: offer.step,
        at,
        stableMs,
        ...found,
      });
    } catch (error) {
      const revision = candidate.revisionName;
      log.info("cannot report a shadow run", { rollout: rollout.name, revision, error: textOf(error) });
    }
  }

  async #compare(offer: ShadowOffer): Promise<Omit<ShadowDetail, "composite" | "step" | "at" | "stableMs">> {
    const { redactor, clock = systemClock } = this.#deps;
    const { request, stable } = offer;
    const began = clock.now();
    const took = (): number => clock.now() - began;
    try {
      const candidate = await this.#call(offer);
      const durationMs = took();
      const { moved } = offer.order.composite;
      const found = await inTurns(compareAnswers({ request, stable, candidate, moved }, redactor));
      const isSlower = !offer.isCached && isMuchSlower(durationMs, offer.stableMs);
      return { durationMs, ...found, class: isSlower ? worse(found.class, "slower") : found.class };
    } catch (error) {
      const durationMs = took();
      const clean = redactor();
      await inTurns(clean.request(request));
      const message = await inTurns(clean.scrubText(textOf(error)));
      return { class: "error", durationMs, resources: [], differing: 0, message };
    }
  }

  async #call({ order, request, step }: ShadowOffer): Promise<RunFunctionResponse> {
    const { runner, clock = systemClock } = this.#deps;
    const { timeoutMs } = this.#limits;
    const release = order.candidate.acquire?.();
    const timeout = new AbortController();
    const abort = (): void => timeout.abort(new Error(`the shadow run took longer than ${timeoutMs} ms`));
    const stop = clock.schedule(timeoutMs, abort);
    this.#closing.signal.addEventListener("abort", abort);
    try {
      const call: RunCall = {
        deadline: clock.now() + timeoutMs,
        signal: timeout.signal,
        step: { name: step, index: 0 },
      };
      return await runner.run(order.candidate, request, call);
    } finally {
      this.#closing.signal.removeEventListener("abort", abort);
      stop();
      release?.();
    }
  }
}

/** Twice as slow counts when a person would notice it. */
function isMuchSlower(candidateMs: number, stableMs: number): boolean {
  return candidateMs > 2 * stableMs && candidateMs - stableMs > 100;
}

/** The bytes of the objects of a request. */
function sizeOf({ observed, desired, requiredResources, extraResources }: RunFunctionRequest): number {
  let bytes = stateSize(observed) + stateSize(desired);
  for (const { items } of [...requiredResources.values(), ...extraResources.values()]) {
    for (const { resource } of items) bytes += resource?.bytes.length ?? 0;
  }
  return bytes;
}

function stateSize(state: State | undefined): number {
  let bytes = state?.composite?.resource?.bytes.length ?? 0;
  for (const { resource } of state?.resources.values() ?? []) bytes += resource?.bytes.length ?? 0;
  return bytes;
}

/** Runs steps, and offers those with an order for a shadow run, after the reconcile has ended. Others cost nothing. */
export function shadowSteps(runStep: RunStep, shadow: Pick<ShadowRuns, "offer">): RunStep {
  return async (reference, request, call) => {
    const began = performance.now();
    let isCached = false;
    const observer = observing(call, () => {
      isCached = true;
    });
    const run = await runStep(reference, request, { ...call, observer });
    const order = run.target.shadow;
    if (order === undefined) return run;
    const stableMs = performance.now() - began;
    const offer = { order, step: reference.step, request, stable: run.response, stableMs, isCached };
    const later = call.afterwards ?? ((work: () => void) => void setImmediate(work));
    later(() => shadow.offer(offer));
    return run;
  };
}
