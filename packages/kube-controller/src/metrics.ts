// SPDX-License-Identifier: Apache-2.0
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { QueueObserver } from "./queue/work-queue.ts";

/** How a reconcile ended, in the words of controller-runtime's metrics. */
export type ReconcileOutcome = "success" | "error" | "requeue" | "requeue_after";

/** Where one controller reports what it does. */
export interface ControllerMetrics extends QueueObserver {
  started(concurrency: number): void;
  active(reconciles: number): void;
  taken(waitedSeconds: number): void;
  retried(): void;
  reconciled(outcome: ReconcileOutcome, seconds: number): void;
  stopped(): void;
}

/** Where an engine reports what it starts and stops. */
export interface EngineMetrics {
  controllerStarted(controller: string): void;
  controllerStopped(controller: string): void;
  watchStarted(controller: string, type: string): void;
  watchStopped(controller: string, type: string): void;
  controller(name: string): ControllerMetrics;
}

/** Counts nothing. */
export const noEngineMetrics: EngineMetrics = {
  controllerStarted() {},
  controllerStopped() {},
  watchStarted() {},
  watchStopped() {},
  controller: () => ({
    added() {},
    depth() {},
    started() {},
    active() {},
    taken() {},
    retried() {},
    reconciled() {},
    stopped() {},
  }),
};

/** Prometheus metrics under the names Crossplane and controller-runtime use. Engines that share a registry share them. */
export function createEngineMetrics(registry: Registry): EngineMetrics {
  const make = maker(registry);
  const engine = {
    started: make.counter("engine_controllers_started_total", "Controllers started.", ["controller"]),
    stopped: make.counter("engine_controllers_stopped_total", "Controllers stopped.", ["controller"]),
    watched: make.counter("engine_watches_started_total", "Watches started.", ["controller", "type"]),
    unwatched: make.counter("engine_watches_stopped_total", "Watches stopped.", ["controller", "type"]),
  };
  const series = controllerSeries(make);
  return {
    controllerStarted: (controller) => engine.started.inc({ controller }),
    controllerStopped: (controller) => engine.stopped.inc({ controller }),
    watchStarted: (controller, type) => engine.watched.inc({ controller, type }),
    watchStopped: (controller, type) => engine.unwatched.inc({ controller, type }),
    controller: (name) => controllerMetrics(series, name),
  };
}

type Series = ReturnType<typeof controllerSeries>;

function controllerSeries(make: Make) {
  const queue = ["name"];
  const controller = ["controller"];
  return {
    depth: make.gauge("workqueue_depth", "Number of keys ready to be processed.", queue),
    adds: make.counter("workqueue_adds_total", "Number of keys added.", queue),
    retries: make.counter("workqueue_retries_total", "Number of keys requeued for a retry.", queue),
    waited: make.histogram(
      "workqueue_queue_duration_seconds",
      "Time a key waits in the queue before it is processed.",
      queue,
    ),
    worked: make.histogram("workqueue_work_duration_seconds", "Time it takes to process a key.", queue),
    results: make.counter("controller_runtime_reconcile_total", "Number of reconciles by result.", [
      "controller",
      "result",
    ]),
    errors: make.counter("controller_runtime_reconcile_errors_total", "Number of failed reconciles.", controller),
    seconds: make.histogram("controller_runtime_reconcile_time_seconds", "Duration of reconciles.", controller),
    active: make.gauge("controller_runtime_active_workers", "Number of reconciles in progress.", controller),
    limit: make.gauge(
      "controller_runtime_max_concurrent_reconciles",
      "Maximum number of concurrent reconciles.",
      controller,
    ),
  };
}

function controllerMetrics(series: Series, controller: string): ControllerMetrics {
  const queue = { name: controller };
  const labels = { controller };
  return {
    added: () => series.adds.inc(queue),
    depth: (ready) => series.depth.set(queue, ready),
    started: (concurrency) => series.limit.set(labels, concurrency),
    active: (reconciles) => series.active.set(labels, reconciles),
    taken: (waited) => series.waited.observe(queue, waited),
    retried: () => series.retries.inc(queue),
    reconciled(result, seconds) {
      series.results.inc({ controller, result });
      if (result === "error") series.errors.inc(labels);
      series.seconds.observe(labels, seconds);
      series.worked.observe(queue, seconds);
    },
    // Counters stay, as counters must; what a controller that is gone does now is nothing.
    stopped() {
      series.depth.remove(queue);
      series.active.remove(labels);
      series.limit.remove(labels);
    },
  };
}

type MakeOne<T> = (name: string, help: string, labelNames: readonly string[]) => T;

interface Make {
  readonly counter: MakeOne<Counter>;
  readonly gauge: MakeOne<Gauge>;
  readonly histogram: MakeOne<Histogram>;
}

function maker(registry: Registry): Make {
  const existing = (name: string): unknown => registry.getSingleMetric(name);
  const config = (name: string, help: string, labelNames: readonly string[]) => ({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
  });
  return {
    counter: (name, help, labels) => (existing(name) ?? new Counter(config(name, help, labels))) as Counter,
    gauge: (name, help, labels) => (existing(name) ?? new Gauge(config(name, help, labels))) as Gauge,
    histogram: (name, help, labels) => (existing(name) ?? new Histogram(config(name, help, labels))) as Histogram,
  };
}
