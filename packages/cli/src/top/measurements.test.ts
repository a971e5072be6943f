// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunSummary } from "@purlin/run-store";
import { compositeRates } from "./top-command.ts";
import { type PlaneUsage, processesDocument, processesPath, quantile, readFunctionCalls } from "./usage.ts";

const labels = (code: string, severity: string): string =>
  `function_name="fn",function_package="r/fn:v1",grpc_target="x",grpc_method="RunFunction",grpc_code="${code}",result_severity="${severity}"`;

test("calls, errors and durations of functions are read from metrics", () => {
  const metrics = `# HELP function_run_function_response_total Responses received from functions.
function_run_function_response_total{${labels("OK", "Normal")}} 8
function_run_function_response_total{${labels("OK", "Fatal")}} 1
function_run_function_response_total{${labels("Unavailable", "Normal")}} 1
function_run_function_seconds_bucket{le="0.1",${labels("OK", "Normal")}} 5
function_run_function_seconds_bucket{le="1",${labels("OK", "Normal")}} 10
function_run_function_seconds_bucket{le="+Inf",${labels("OK", "Normal")}} 10
function_run_function_response_cache_hits_total{function_name="fn"} 7
controller_runtime_reconcile_total{controller="x"} 3
`;
  const found = readFunctionCalls(metrics);
  assert.deepEqual([...found.keys()], ["fn"]);
  const calls = found.get("fn");
  assert.deepEqual([calls?.calls, calls?.errors], [10, 2]);
  assert.equal(quantile({ buckets: calls?.buckets ?? new Map() }, 0.5), 0.1);
  assert.equal(quantile({ buckets: calls?.buckets ?? new Map() }, 0.95)?.toFixed(2), "0.91");
  assert.equal(quantile({ buckets: new Map() }, 0.5), undefined);
  assert.equal(
    quantile(
      {
        buckets: new Map([
          [1, 0],
          [Number.POSITIVE_INFINITY, 4],
        ]),
      },
      0.5,
    ),
    1,
    "all are longer",
  );
});

test("escapes in labels are those of the text format: quotation marks, backslashes and ends of lines", () => {
  const metrics = String.raw`function_run_function_response_total{function_name="a\\n\"b\nc",grpc_code="OK"} 1`;
  assert.deepEqual([...readFunctionCalls(metrics).keys()], ['a\\n"b\nc']);
});

const now = Date.parse("2026-01-01T12:00:00Z");
const at = (minutesAgo: number): string => new Date(now - minutesAgo * 60_000).toISOString();
function summary(name: string, more: Partial<RunSummary>): RunSummary {
  return {
    ...{ id: name, xr: { apiVersion: "e.org/v1", kind: "App", name }, uid: name, generation: 1, resourceVersion: "1" },
    ...{
      composition: "c",
      compositionRevision: "c-1",
      cause: "spec",
      began: at(10),
      durationMs: 10,
      outcome: "composed",
    },
    ...{ steps: [], writes: 0, repeats: 0, last: at(10) },
    ...more,
  };
}

test("composite resources are listed by how often they were reconciled, repeats included", () => {
  const runs = [
    summary("calm", {}),
    summary("busy", { repeats: 99, began: at(10), last: at(0), durationMs: 4 }),
    summary("busy", { outcome: "failed", durationMs: 40 }),
    summary("old", { began: at(300), last: at(200) }),
    summary("half", { began: at(120), last: at(0), repeats: 120 }),
  ];
  const rates = compositeRates(runs, { now, sinceMs: 60 * 60_000 });
  assert.deepEqual(
    rates.map(({ composite, reconciles, failed, perMinute, p95Ms }) => [
      composite,
      reconciles,
      failed,
      perMinute,
      p95Ms,
    ]),
    [
      ["App/busy", 101, 1, 10.1, 40],
      ["App/half", 60, 0, 1, 10],
      ["App/calm", 1, 0, 0.1, 10],
    ],
  );
});

test("the document of processes has what was measured, at its path only", () => {
  const usage = { cpus: 0.5, memoryBytes: 1024, processes: 2 };
  const process = { name: "fn", state: { phase: "starting" as const }, usage };
  const { items, plane } = processesDocument([process], processesPath) as unknown as {
    readonly items: readonly object[];
    readonly plane: PlaneUsage;
  };
  assert.deepEqual(items, [{ name: "fn", phase: "starting", ...usage }]);
  assert.ok(plane.cpuSeconds > 0 && plane.memoryBytes > 2 ** 20, JSON.stringify(plane));
  assert.equal(processesDocument([process], "/purlin/v1/runs"), undefined);
});
