// SPDX-License-Identifier: Apache-2.0
import { createRequire } from "node:module";
import type { Counter, Histogram, Registry } from "prom-client";

// Loading it takes as long as a call of a function, and a command that renders counts nothing.
const loadPrometheus = (): typeof import("prom-client") => createRequire(import.meta.url)("prom-client");

/** Which call of which function a metric is about. */
interface CallLabels {
  readonly function_name: string;
  readonly function_package: string;
  readonly grpc_target: string;
  readonly grpc_method: string;
}

/** How a call ended. */
export interface OutcomeLabels extends CallLabels {
  readonly grpc_code: string;
  readonly result_severity: "Fatal" | "Warning" | "Normal";
}

/** What can be counted about the response cache. */
export type CacheCounter = "hits" | "misses" | "errors" | "writes" | "deletes" | "bytes_written" | "bytes_deleted";

/** Where the layers report what they do. */
export interface RunnerMetrics {
  requestSent(labels: CallLabels): void;
  responseReceived(labels: OutcomeLabels, seconds: number): void;
  cache(counter: CacheCounter, functionName: string, amount?: number): void;
  cacheTime(operation: "read" | "write", functionName: string, seconds: number): void;
  inspectorFailed(functionName: string, type: "request" | "response"): void;
}

/** Counts nothing. */
export const noMetrics: RunnerMetrics = {
  requestSent() {},
  responseReceived() {},
  cache() {},
  cacheTime() {},
  inspectorFailed() {},
};

const prefix = "function_run_function_";
const callLabels = ["function_name", "function_package", "grpc_target", "grpc_method"];
const outcomeLabels = [...callLabels, "grpc_code", "result_severity"];

const cacheHelp: Readonly<Record<CacheCounter, string>> = {
  hits: "Responses served from the response cache.",
  misses: "Response cache misses.",
  errors: "Failures to read, write or delete cached responses.",
  writes: "Responses written to the response cache.",
  deletes: "Responses deleted from the response cache.",
  bytes_written: "Bytes written to the response cache.",
  bytes_deleted: "Bytes deleted from the response cache.",
};

/** Prometheus metrics under the names Crossplane uses. Runners that share a registry share them. */
export function createRunnerMetrics(registry: Registry): RunnerMetrics {
  const make = maker(registry);
  const requests = make.counter("request_total", "Requests sent to functions.", callLabels);
  const responses = make.counter("response_total", "Responses received from functions.", outcomeLabels);
  const seconds = make.histogram("seconds", "Time functions took to respond.", outcomeLabels);
  const cache = Object.fromEntries(
    Object.entries(cacheHelp).map(([name, help]) => [
      name,
      make.counter(`response_cache_${name}_total`, help, ["function_name"]),
    ]),
  ) as Record<CacheCounter, Counter>;
  const cacheTimes = {
    read: make.histogram("response_cache_read_seconds", "Time to read a cached response.", ["function_name"]),
    write: make.histogram("response_cache_write_seconds", "Time to write a cached response.", ["function_name"]),
  };
  const inspector = make.counter(
    "pipeline_inspector_errors_total",
    "Failures to send a step to the pipeline inspector.",
    ["function_name", "type"],
  );
  return {
    requestSent: (labels) => requests.inc({ ...labels }),
    responseReceived(labels, took) {
      responses.inc({ ...labels });
      seconds.observe({ ...labels }, took);
    },
    cache: (counter, functionName, amount = 1) => cache[counter].inc({ function_name: functionName }, amount),
    cacheTime: (operation, functionName, took) => cacheTimes[operation].observe({ function_name: functionName }, took),
    inspectorFailed: (functionName, type) => inspector.inc({ function_name: functionName, type }),
  };
}

type Make<T> = (name: string, help: string, labelNames: readonly string[]) => T;

function maker(registry: Registry): { readonly counter: Make<Counter>; readonly histogram: Make<Histogram> } {
  const { Counter, Histogram } = loadPrometheus();
  const existing = (name: string): unknown => registry.getSingleMetric(prefix + name);
  const config = (name: string, help: string, labelNames: readonly string[]) => ({
    name: prefix + name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
  });
  return {
    counter: (name, help, labels) => (existing(name) ?? new Counter(config(name, help, labels))) as Counter,
    histogram: (name, help, labels) => (existing(name) ?? new Histogram(config(name, help, labels))) as Histogram,
  };
}
