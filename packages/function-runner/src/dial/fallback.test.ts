// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { create, type ProtocolVersion, Result, runFunctionPaths, Severity } from "@purlin/function-protocol";
import { Registry } from "prom-client";
import { answer, type FunctionServer, serveFunction, statusError } from "../../test/function-server.ts";
import { call, dial, request, targetAt } from "../../test/runs.ts";
import { createRunnerMetrics } from "../metrics.ts";

const versionsOf = (fn: FunctionServer): ProtocolVersion[] => fn.calls.map(({ version }) => version);

/** All samples of a counter, as `labels → value`. */
async function samples(registry: Registry, name: string): Promise<{ labels: object; value: number }[]> {
  const metric = await registry.getSingleMetric(name)?.get();
  return (metric?.values ?? []).map(({ labels, value }) => ({ labels: { ...labels }, value }));
}

test("a function that serves only v1beta1 succeeds, and both attempts are counted", async (t) => {
  await using fn = await serveFunction({
    versions: ["v1beta1"],
    handler: (incoming) =>
      answer(incoming, { results: [create(Result, { severity: Severity.SEVERITY_WARNING, message: "careful" })] }),
  });
  const registry = new Registry();
  const runner = dial(t, { metrics: createRunnerMetrics(registry) });
  const response = await runner.run(targetAt(fn.endpoint), request(), call());
  assert.equal(response.results[0]?.message, "careful");

  const base = {
    function_name: "fn",
    function_package: "registry.example.org/fn:v1",
    grpc_target: fn.endpoint,
  };
  const v1 = { ...base, grpc_method: runFunctionPaths.v1 };
  const v1beta1 = { ...base, grpc_method: runFunctionPaths.v1beta1 };
  assert.deepEqual(await samples(registry, "function_run_function_request_total"), [
    { labels: v1, value: 1 },
    { labels: v1beta1, value: 1 },
  ]);
  assert.deepEqual(await samples(registry, "function_run_function_response_total"), [
    { labels: { ...v1, grpc_code: "Unimplemented", result_severity: "Normal" }, value: 1 },
    { labels: { ...v1beta1, grpc_code: "OK", result_severity: "Warning" }, value: 1 },
  ]);
  const seconds = (await samples(registry, "function_run_function_seconds")).filter(({ labels }) => !("le" in labels));
  assert.equal(seconds.length, 4, "a sum and a count for each attempt");
});

test("that v1 is not implemented is remembered for the connection and forgotten with it", async (t) => {
  await using fn = await serveFunction({ versions: ["v1beta1"] });
  const registry = new Registry();
  const runner = dial(t, { metrics: createRunnerMetrics(registry) });
  const run = (): Promise<unknown> => runner.run(targetAt(fn.endpoint), request(), call());
  const v1Calls = async (): Promise<number | undefined> => {
    const all = await samples(registry, "function_run_function_request_total");
    return all.find(({ labels }) => "grpc_method" in labels && labels.grpc_method === runFunctionPaths.v1)?.value;
  };
  await run();
  await run();
  assert.equal(await v1Calls(), 1, "the second call goes to v1beta1 right away");

  fn.cut();
  // A call on a connection whose end is not noticed yet fails once; the next one opens another.
  await run().catch(run);
  assert.equal(await v1Calls(), 2, "a new connection may lead to a newer function");
  assert.deepEqual(versionsOf(fn), ["v1beta1", "v1beta1", "v1beta1"]);
});

test("a v1 function that answers UNIMPLEMENTED itself is called as v1beta1, whose answer is final", async (t) => {
  await using fn = await serveFunction({
    handler: (incoming, { version }) => {
      if (version === "v1") throw statusError(status.UNIMPLEMENTED, "not this one");
      return answer(incoming);
    },
  });
  await dial(t).run(targetAt(fn.endpoint), request(), call());
  assert.deepEqual(versionsOf(fn), ["v1", "v1beta1"]);
});

test("a function that stops serving v1beta1 on the same connection is found again under v1", async (t) => {
  let served: ProtocolVersion = "v1beta1";
  await using fn = await serveFunction({
    handler: (incoming, { version }) => {
      if (version !== served) throw statusError(status.UNIMPLEMENTED, "not this one");
      return answer(incoming);
    },
  });
  const runner = dial(t);
  await runner.run(targetAt(fn.endpoint), request(), call());
  served = "v1";
  await runner.run(targetAt(fn.endpoint), request(), call());
  await runner.run(targetAt(fn.endpoint), request(), call());
  assert.deepEqual(versionsOf(fn), ["v1", "v1beta1", "v1beta1", "v1", "v1"]);
});

test("a call restricted to v1beta1 never tries v1", async (t) => {
  await using fn = await serveFunction();
  await dial(t).run(targetAt(fn.endpoint), request(), call({ protocol: "v1beta1" }));
  assert.deepEqual(versionsOf(fn), ["v1beta1"]);
});

const severities: Readonly<Record<string, { severities: number[]; want: string }>> = {
  None: { severities: [], want: "Normal" },
  Normal: { severities: [Severity.SEVERITY_NORMAL], want: "Normal" },
  WarningAmongNormal: { severities: [Severity.SEVERITY_NORMAL, Severity.SEVERITY_WARNING], want: "Warning" },
  FatalAfterWarning: { severities: [Severity.SEVERITY_WARNING, Severity.SEVERITY_FATAL], want: "Fatal" },
  Unknown: { severities: [99], want: "Normal" },
};

for (const [name, row] of Object.entries(severities)) {
  test(`the severity of a response is the worst of its results: ${name}`, async (t) => {
    const results = row.severities.map((severity) => create(Result, { severity }));
    await using fn = await serveFunction({ handler: (incoming) => answer(incoming, { results }) });
    const registry = new Registry();
    const runner = dial(t, { metrics: createRunnerMetrics(registry) });
    for (const protocol of [undefined, "v1beta1"] as const) {
      await runner.run(targetAt(fn.endpoint), request(), call({ protocol }));
    }
    const found = await samples(registry, "function_run_function_response_total");
    assert.deepEqual(
      found.map(({ labels }) => "result_severity" in labels && labels.result_severity),
      [row.want, row.want],
      "computed alike for both versions of the protocol",
    );
  });
}
