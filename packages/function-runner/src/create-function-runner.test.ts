// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLog } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import {
  create,
  Duration,
  Requirements,
  ResourceSelector,
  ResponseMeta,
  type RunFunctionRequest,
  type RunFunctionResponse,
  Schema,
  SchemaSelector,
  Struct,
} from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import { Registry } from "prom-client";
import {
  answer,
  type FunctionServer,
  type Handler,
  serveFunction,
  temporaryDirectory,
} from "../test/function-server.ts";
import { call, patience, targetAt } from "../test/runs.ts";
import {
  type ClosableFunctionRunner,
  collectEveryMs,
  createFunctionRunner,
  evictEveryMs,
  type FunctionRunnerOptions,
} from "./create-function-runner.ts";
import type { RequestRecord, ResponseRecord } from "./record/record-runs.ts";
import { buildRequest, firstState } from "./request/build-request.ts";
import { objectsReader, secretsFrom } from "./requirements/objects-reader.ts";
import { createResourceFetcher } from "./requirements/settle-requirements.ts";
import { createSchemaFetcher, openAPIDocuments } from "./schemas/schema-fetcher.ts";

const configMap: JsonObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "ns", name: "a" } };
const reader = objectsReader([configMap]);
const fetchers = {
  resources: createResourceFetcher(reader),
  schema: createSchemaFetcher(openAPIDocuments()).schema,
};

const wanted = create(ResourceSelector, {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: "ns",
  match: { case: "matchName", value: "a" },
});

/** A function that asks for a ConfigMap and allows its answer to be kept for a minute. */
const asking: Handler = (incoming) =>
  answer(incoming, {
    meta: create(ResponseMeta, { tag: incoming.meta?.tag ?? "", ttl: create(Duration, { seconds: 60n }) }),
    requirements: create(Requirements, { resources: new Map([["cfg", wanted]]) }),
    output: Struct.from({ found: incoming.requiredResources.get("cfg")?.items.length ?? -1 }),
  });

function makeRunner(t: TestContext, options: Partial<FunctionRunnerOptions>): ClosableFunctionRunner {
  const runner = createFunctionRunner({ security: "plaintext", fetchers, ...options });
  t.after(() => runner.close());
  return runner;
}

const build = (): Promise<RunFunctionRequest> =>
  buildRequest({ step: "compose", input: { a: 1 } }, firstState(), { ...fetchers, secrets: secretsFrom(reader) });

async function run(
  runner: ClosableFunctionRunner,
  fn: FunctionServer,
  revisionName = "fn-1",
): Promise<RunFunctionResponse> {
  const target = targetAt(fn.endpoint, { revisionName });
  return runner.run(target, await build(), call({ trace: { traceId: "t" } }));
}

test("the layers stand in their order: each step is recorded once, only settled responses are kept", async (t) => {
  await using fn = await serveFunction({ handler: asking });
  const requests: RequestRecord[] = [];
  const responses: ResponseRecord[] = [];
  const registry = new Registry();
  const runner = makeRunner(t, {
    registry,
    cache: { directory: temporaryDirectory(t) },
    sink: { request: (record) => void requests.push(record), response: (record) => void responses.push(record) },
  });
  const first = await run(runner, fn);
  assert.deepEqual(first.output?.value, { found: 1 });
  assert.equal(fn.calls.length, 2, "the requirements loop is inside the cache and the recorder");
  const second = await run(runner, fn);
  assert.deepEqual(second.output?.value, { found: 1 }, "the settled response was kept, not the first one");
  assert.equal(fn.calls.length, 2);
  await t.waitFor(() => assert.deepEqual([requests.length, responses.length], [2, 2]), {
    interval: 1,
    timeout: patience,
  });
  assert.deepEqual(
    requests.map(({ meta }) => meta.iteration),
    [0, 0],
  );
  const text = await registry.metrics();
  assert.match(text, /function_run_function_response_cache_hits_total\{function_name="fn"\} 1/);
  assert.match(text, /function_run_function_request_total\{.*\} 2/);
});

/** A function that asks for the schema of a kind and allows its answer to be kept for a day. */
const askingForSchema: Handler = (incoming) => {
  const properties = incoming.requiredSchemas.get("it")?.openapiV3?.value["properties"] ?? null;
  const selector = create(SchemaSelector, { apiVersion: "example.org/v1", kind: "App" });
  return answer(incoming, {
    meta: create(ResponseMeta, { tag: incoming.meta?.tag ?? "", ttl: create(Duration, { seconds: 86_400n }) }),
    requirements: create(Requirements, { schemas: new Map([["it", selector]]) }),
    output: Struct.from({ properties }),
  });
};

test("a cached response lasts only as long as the schemas that the function required", async (t) => {
  await using fn = await serveFunction({ handler: askingForSchema });
  const directory = temporaryDirectory(t);
  let schema = create(Schema);
  const open = (): ClosableFunctionRunner =>
    makeRunner(t, { cache: { directory }, fetchers: { ...fetchers, schema: async () => schema } });
  let runner = open();
  const look = async (want: unknown, calls: number): Promise<void> => {
    assert.deepEqual((await run(runner, fn)).output?.value, { properties: want });
    assert.equal(fn.calls.length, calls);
  };
  const publish = (properties: JsonObject | undefined): void => {
    schema = create(Schema, { openapiV3: properties && Struct.from({ properties }) });
  };
  await look(null, 2);
  await look(null, 2);
  publish({ a: {} });
  await look({ a: {} }, 4);
  publish({ a: {} });
  await look({ a: {} }, 4);
  publish({ b: {} });
  runner = open();
  await look({ b: {} }, 6);
  publish(undefined);
  await look(null, 8);
});

test("a cached response whose schema cannot be read in time does not hold the run", async (t) => {
  await using fn = await serveFunction({ handler: askingForSchema });
  const directory = temporaryDirectory(t);
  const never = Promise.withResolvers<Schema>().promise;
  const open = (schema: () => Promise<Schema>): ClosableFunctionRunner =>
    makeRunner(t, { cache: { directory }, fetchers: { ...fetchers, schema } });
  await run(
    open(async () => create(Schema)),
    fn,
  );
  const stopping = new AbortController();
  const waiting = open(() => {
    setImmediate(() => stopping.abort(new Error("out of time")));
    return never;
  });
  const ended = waiting.run(
    targetAt(fn.endpoint, { revisionName: "fn-1" }),
    await build(),
    call({ signal: stopping.signal }),
  );
  await assert.rejects(ended, /the run was cancelled/);
  assert.equal(fn.calls.length, 2, "the function is not called again");
});

test("without cache, recorder and registry the runner just runs", async (t) => {
  await using fn = await serveFunction({ handler: asking });
  const runner = makeRunner(t, {});
  await run(runner, fn);
  await run(runner, fn);
  assert.equal(fn.calls.length, 4);
});

test("an older Crossplane is imitated inside the requirements loop", async (t) => {
  await using fn = await serveFunction({ handler: asking });
  const runner = makeRunner(t, { asCrossplane: "v1.17" });
  assert.equal((await run(runner, fn)).output, undefined);
  assert.equal(fn.calls.length, 1, "that line did not know required resources");
  assert.deepEqual(fn.calls[0]?.request.meta?.capabilities, []);
});

test("an unknown release line is refused before anything runs", () => {
  assert.throws(() => createFunctionRunner({ security: "plaintext", fetchers, asCrossplane: "v9" }), {
    code: "UNKNOWN_LINE",
  });
});

test("every ten minutes connections to revisions that are gone are closed; a list that fails is tried again", async (t) => {
  await using fn = await serveFunction();
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const logged: string[] = [];
  const answers = [() => Promise.reject(new Error("boom")), async () => ["fn-1"], async () => []];
  const runner = makeRunner(t, {
    clock,
    live: { list: () => answers.shift()?.() ?? assert.fail("listed too often") },
    log: { ...silentLog, debug: (message) => logged.push(message), info: (message) => logged.push(message) },
  });
  clock.advance(collectEveryMs);
  await run(runner, fn);
  for (const [want, message] of [
    [1, "cannot collect function connections"],
    [1, "collected function connections"],
    [0, "collected function connections"],
  ] as const) {
    logged.length = 0;
    clock.advance(collectEveryMs);
    await t.waitFor(() => assert.deepEqual(logged, [message]), { interval: 1, timeout: patience });
    assert.equal(runner.stats().connections, want);
  }
  await fn.drained();
  clock.advance(collectEveryMs);
  assert.deepEqual(answers, [], "an empty pool lists nothing");
});

test("every minute expired responses are deleted", async (t) => {
  await using fn = await serveFunction({ handler: asking });
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const directory = temporaryDirectory(t);
  const runner = makeRunner(t, { clock, cache: { directory } });
  await run(runner, fn);
  assert.equal(readdirSync(join(directory, "fn-1")).length, 1);
  await t.waitFor(
    () => {
      clock.advance(evictEveryMs);
      assert.equal(existsSync(join(directory, "fn-1")), false, "the response first, then its empty directory");
    },
    { interval: 5, timeout: patience },
  );
});

test("closing stops all timers and connections", async (t) => {
  await using fn = await serveFunction();
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const runner = makeRunner(t, { clock, cache: { directory: temporaryDirectory(t) }, live: { list: async () => [] } });
  await run(runner, fn);
  runner.close();
  await fn.drained();
  await t.waitFor(() => assert.equal(clock.waiting, 0), { interval: 1, timeout: patience });
  assert.deepEqual(runner.stats(), { connections: 0, draining: 0, openSockets: 0, callsInFlight: 0 });
  await assert.rejects(run(runner, fn), { code: "CLOSED" });
});
