// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { type CacheCounter, createRunnerMetrics, noMetrics } from "./metrics.ts";

const call = ["function_name", "function_package", "grpc_target", "grpc_method"];
const outcome = [...call, "grpc_code", "result_severity"];
const cache = "function_run_function_response_cache_";

// The names and labels are Crossplane's: dashboards made for it must work here.
const wanted: Readonly<Record<string, { type: string; labels: string[] }>> = {
  function_run_function_request_total: { type: "counter", labels: call },
  function_run_function_response_total: { type: "counter", labels: outcome },
  function_run_function_seconds: { type: "histogram", labels: outcome },
  [`${cache}hits_total`]: { type: "counter", labels: ["function_name"] },
  [`${cache}misses_total`]: { type: "counter", labels: ["function_name"] },
  [`${cache}errors_total`]: { type: "counter", labels: ["function_name"] },
  [`${cache}writes_total`]: { type: "counter", labels: ["function_name"] },
  [`${cache}deletes_total`]: { type: "counter", labels: ["function_name"] },
  [`${cache}bytes_written_total`]: { type: "counter", labels: ["function_name"] },
  [`${cache}bytes_deleted_total`]: { type: "counter", labels: ["function_name"] },
  [`${cache}read_seconds`]: { type: "histogram", labels: ["function_name"] },
  [`${cache}write_seconds`]: { type: "histogram", labels: ["function_name"] },
  function_run_function_pipeline_inspector_errors_total: { type: "counter", labels: ["function_name", "type"] },
};

const callLabels = { function_name: "f", function_package: "p", grpc_target: "t", grpc_method: "m" };
const outcomeLabels = { ...callLabels, grpc_code: "OK", result_severity: "Normal" } as const;
const counters: readonly CacheCounter[] = [
  "hits",
  "misses",
  "errors",
  "writes",
  "deletes",
  "bytes_written",
  "bytes_deleted",
];

function recordEverything(metrics: typeof noMetrics): void {
  metrics.requestSent(callLabels);
  metrics.responseReceived(outcomeLabels, 0.02);
  for (const counter of counters) metrics.cache(counter, "f", 3);
  metrics.cacheTime("read", "f", 0.001);
  metrics.cacheTime("write", "f", 0.001);
  metrics.inspectorFailed("f", "request");
}

test("metrics have Crossplane's names, types and labels, and no others", async () => {
  const registry = new Registry();
  recordEverything(createRunnerMetrics(registry));
  const metrics = await registry.getMetricsAsJSON();
  const found = metrics.map(({ name, type, values }) => {
    const labels = Object.keys(values.at(-1)?.labels ?? {}).filter((label) => label !== "le");
    return [name, { type: String(type), labels }];
  });
  assert.deepEqual(Object.fromEntries(found), wanted);
});

test("the time of a call falls into the default buckets, .005 to 10 seconds", async () => {
  const registry = new Registry();
  createRunnerMetrics(registry).responseReceived(outcomeLabels, 0.02);
  const text = await registry.getSingleMetricAsString("function_run_function_seconds");
  const bounds = [...text.matchAll(/le="([^"]+)"/g)].map(([, bound]) => bound);
  assert.deepEqual(bounds, ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"]);
});

test("runners that share a registry share their metrics", async () => {
  const registry = new Registry();
  for (let i = 0; i < 2; i++) createRunnerMetrics(registry).cache("hits", "f");
  const text = await registry.getSingleMetricAsString(`${cache}hits_total`);
  assert.match(text, /\{function_name="f"\} 2/);
});

test("without a registry nothing is counted", () => {
  recordEverything(noMetrics);
});
