// SPDX-License-Identifier: Apache-2.0

import { type Clock, type Log, silentLog, systemClock } from "@purlin/base";
import type { InformerPool } from "@purlin/kube-client";
import { textOf } from "@purlin/kube-objects/errors";
import type { ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import type { Registry } from "prom-client";
import { Controller } from "../controller/controller.ts";
import { createEngineMetrics, type EngineMetrics, noEngineMetrics } from "../metrics.ts";
import {
  type ControllerEngine,
  type ControllerSpec,
  Watch,
  type WatchId,
  type WatchSpec,
} from "./controller-engine.ts";

/** What {@link createControllerEngine} is given. */
export interface ControllerEngineOptions {
  readonly informers: InformerPool;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
  readonly registry?: Registry | undefined;
  /** How often every object is delivered to every watch again. Default: an hour; 0 for never. */
  readonly resyncMs?: number | undefined;
  /** Reconciles of one controller at the same time, unless it says otherwise. Default: 100. */
  readonly concurrency?: number | undefined;
  /** How long running reconciles may continue when their controller stops. Default: 10 s. */
  readonly stopGraceMs?: number | undefined;
}

const hourMs = 3_600_000;
const defaultBackoff = { baseMs: 1000, maxMs: 60_000 };

/** Makes an engine without controllers. */
export function createControllerEngine(options: ControllerEngineOptions): ControllerEngine {
  return new Engine(options);
}

interface RunningController {
  readonly controller: Controller;
  readonly watches: Map<string, Watch>;
}

class Engine implements ControllerEngine {
  readonly #options: ControllerEngineOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #metrics: EngineMetrics;
  readonly #running = new Map<string, RunningController>();
  // One per name: a controller that is started again waits for the end of the old one.
  readonly #stopping = new Map<string, Promise<void>>();
  #closed = false;

  constructor(options: ControllerEngineOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#metrics = options.registry === undefined ? noEngineMetrics : createEngineMetrics(options.registry);
  }

  start(spec: ControllerSpec): void {
    if (this.#closed) throw new Error(`cannot start controller "${spec.name}": the engine is closed`);
    if (this.#running.has(spec.name)) return;
    const { name } = spec;
    const controller = new Controller({
      name,
      reconcile: this.#afterPredecessor(name, spec.reconcile),
      concurrency: spec.concurrency ?? this.#options.concurrency ?? 100,
      backoff: spec.backoff ?? defaultBackoff,
      retryRate: spec.retryRate,
      clock: this.#clock,
      log: this.#log,
      metrics: this.#metrics.controller(name),
      stopGraceMs: this.#options.stopGraceMs ?? 10_000,
    });
    this.#running.set(name, { controller, watches: new Map() });
    this.#metrics.controllerStarted(name);
    this.#log.info("started controller", { controller: name });
  }

  /** Two controllers of one name must not work on one object at the same time. */
  #afterPredecessor(name: string, reconcile: ControllerSpec["reconcile"]): ControllerSpec["reconcile"] {
    const predecessor = this.#stopping.get(name);
    if (predecessor === undefined) return reconcile;
    return async (key, signal) => {
      await predecessor;
      return reconcile(key, signal);
    };
  }

  async stop(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return this.#stopping.get(name);
    this.#running.delete(name);
    const predecessor = this.#stopping.get(name);
    const stopping = this.#end(name, running).then(() => predecessor);
    this.#stopping.set(name, stopping);
    await stopping.finally(() => this.#stopping.get(name) === stopping && this.#stopping.delete(name));
  }

  async #end(name: string, { controller, watches }: RunningController): Promise<void> {
    const stopped = [...watches.values()].map((watch) => this.#endWatch(name, watch));
    watches.clear();
    await Promise.all([...stopped, controller.stop()]);
    this.#metrics.controllerStopped(name);
    this.#log.info("stopped controller", { controller: name });
  }

  #endWatch(name: string, watch: Watch): Promise<void> {
    this.#metrics.watchStopped(name, watch.spec.type);
    return watch.stop();
  }

  isRunning(name: string): boolean {
    return this.#running.has(name);
  }

  enqueue(name: string, key: ObjectKey, afterMs?: number): void {
    this.#running.get(name)?.controller.enqueue(key, afterMs);
  }

  async startWatches(name: string, specs: readonly WatchSpec[], signal?: AbortSignal): Promise<void> {
    if (this.#isEnding(name)) return;
    const running = this.#of(name);
    // Every reconcile asks.
    if (specs.every((spec) => running.watches.get(idOf(spec))?.isReady)) return;
    const started = specs.map((spec) => this.#startWatch(name, running, spec));
    const results = await unlessAborted(Promise.allSettled(started), signal);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async #startWatch(name: string, { controller, watches }: RunningController, spec: WatchSpec): Promise<void> {
    const id = idOf(spec);
    const known = watches.get(id);
    const watch = known ?? new Watch(spec, this.#surroundings(controller));
    watches.set(id, watch);
    if (known === undefined) this.#metrics.watchStarted(name, spec.type);
    try {
      await watch.ready();
    } catch (error) {
      // A watch that never was ready is stopped: it is started again on demand. A watch that was ready stays, and resumes with its type.
      if (!watch.hasStarted && watches.get(id) === watch) {
        watches.delete(id);
        await this.#endWatch(name, watch);
      }
      throw new Error(`cannot watch ${spec.object.kind} (${spec.object.apiVersion}): ${textOf(error)}`, {
        cause: error,
      });
    }
  }

  #surroundings(controller: Controller) {
    return {
      informers: this.#options.informers,
      clock: this.#clock,
      log: this.#log,
      resyncMs: this.#options.resyncMs ?? hourMs,
      enqueue: (key: ObjectKey) => controller.enqueue(key),
    };
  }

  async stopWatches(name: string, ids: readonly WatchId[]): Promise<void> {
    if (this.#isEnding(name)) return;
    const { watches } = this.#of(name);
    const ended = ids.flatMap((spec) => {
      const watch = watches.get(idOf(spec));
      watches.delete(idOf(spec));
      return watch === undefined ? [] : [this.#endWatch(name, watch)];
    });
    await Promise.all(ended);
  }

  watchesOf(name: string): readonly WatchId[] {
    const watches = this.#running.get(name)?.watches.values() ?? [];
    return [...watches].map(({ spec: { type, object } }) => ({ type, object }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#running.keys(), ...this.#stopping.keys()].map((name) => this.stop(name)));
  }

  /** Running reconciles of a stopping controller may still ask for watches: there is nothing to wake, and that is not an error. */
  #isEnding(name: string): boolean {
    return !this.#running.has(name) && this.#stopping.has(name);
  }

  #of(name: string): RunningController {
    const running = this.#running.get(name);
    if (running === undefined) throw new Error(`controller "${name}" is not running`);
    return running;
  }
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

function idOf({ type, object: { apiVersion, kind } }: { type: string; object: TypeRef }): string {
  return `${type} ${apiVersion}/${kind}`;
}
