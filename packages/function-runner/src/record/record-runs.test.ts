// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import { silentLog } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import {
  CredentialData,
  Credentials,
  create,
  decode,
  inspector,
  type MessageType,
  RequestMeta,
  type RunFunctionRequest,
  type RunFunctionResponse,
  Struct,
} from "@purlin/function-protocol";
import { Registry } from "prom-client";
import { answer, temporaryDirectory } from "../../test/function-server.ts";
import { call, gate, patience, request, targetAt } from "../../test/runs.ts";
import { cacheResponses } from "../cache/cache-responses.ts";
import type { FunctionRunner, RunCall } from "../function-runner.ts";
import { createRunnerMetrics } from "../metrics.ts";
import { noSchemas } from "../schemas/schema-fetcher.ts";
import { createInspectorSink, type InspectorSink } from "./inspector.ts";
import { type RequestRecord, type ResponseRecord, type RunSink, recordRuns } from "./record-runs.ts";

const target = targetAt("fn.ns:9443");
const composition = create(inspector.CompositionMeta, { compositionName: "buckets", compositeResourceName: "x" });
const traced = (overrides: Partial<RunCall> = {}): RunCall =>
  call({
    trace: { traceId: "trace", context: { case: "compositionMeta", value: composition } },
    step: { name: "compose", index: 2 },
    ...overrides,
  });

const echo: FunctionRunner = {
  run: async (_target, incoming) => answer(incoming, { output: Struct.from({ ok: true }) }),
};

function remember(): RunSink & { readonly requests: RequestRecord[]; readonly responses: ResponseRecord[] } {
  const requests: RequestRecord[] = [];
  const responses: ResponseRecord[] = [];
  return {
    requests,
    responses,
    request: (record) => void requests.push(record),
    response: (record) => void responses.push(record),
  };
}

async function inspectorErrors(registry: Registry): Promise<Record<string, number>> {
  const metric = await registry.getSingleMetric("function_run_function_pipeline_inspector_errors_total")?.get();
  return Object.fromEntries(
    (metric?.values ?? []).map(({ labels, value }) => [`${labels["function_name"]}/${labels["type"]}`, value]),
  );
}

/** Records are made in parts, beside the run. */
async function recorded(sink: { readonly responses: readonly unknown[] }, count: number): Promise<void> {
  while (sink.responses.length < count) await setImmediate();
}

test("a run is recorded before and after it, with the same meta", async () => {
  const sink = remember();
  const clock = manualClock(1_767_225_600_500);
  const response = await recordRuns(echo, sink, { clock }).run(target, request(), traced());
  await recorded(sink, 1);
  assert.equal(sink.requests.length, 1);
  assert.deepEqual(sink.responses[0]?.response, response);
  assert.equal(sink.responses[0]?.meta, sink.requests[0]?.meta);
  const { meta } = sink.requests[0] as RequestRecord;
  assert.deepEqual(
    { ...meta, spanId: "", context: meta.context?.case },
    {
      timestamp: { seconds: 1_767_225_600n, nanos: 500_000_000, $unknown: undefined },
      traceId: "trace",
      spanId: "",
      stepIndex: 2,
      stepName: "compose",
      iteration: 0,
      functionName: "fn",
      context: "compositionMeta",
      $unknown: undefined,
    },
  );
  assert.match(meta.spanId, /^[0-9a-f-]{36}$/);
});

test("a run that fails is recorded with its error, which is also thrown to the caller", async () => {
  const sink = remember();
  const boom = new Error("boom");
  const failing: FunctionRunner = { run: () => Promise.reject(boom) };
  await assert.rejects(recordRuns(failing, sink).run(target, request(), traced()), boom);
  await recorded(sink, 1);
  assert.equal(sink.responses[0]?.error, "boom");
  assert.equal(sink.responses[0]?.response, undefined);
});

test("a run without a trace or a step is not recorded", async () => {
  const sink = remember();
  const runner = recordRuns(echo, sink);
  await runner.run(target, request(), traced({ trace: undefined }));
  await runner.run(target, request(), traced({ step: undefined }));
  assert.deepEqual([sink.requests.length, sink.responses.length], [0, 0]);
});

const secretValue = "hunter2hunter2";

function withSecret(): RunFunctionRequest {
  const value = create(CredentialData, { data: new Map([["password", Buffer.from(secretValue)]]) });
  return request({
    meta: create(RequestMeta, { tag: "tag" }),
    credentials: new Map([["db", create(Credentials, { source: { case: "credentialData", value } })]]),
  });
}

test("the record has no secret, the function still gets it", async () => {
  const sink = remember();
  let received: RunFunctionRequest | undefined;
  const next: FunctionRunner = {
    async run(_target, incoming) {
      received = incoming;
      return answer(incoming);
    },
  };
  const sent = withSecret();
  await recordRuns(next, sink).run(target, sent, traced());
  assert.equal(received, sent, "the very request, not a copy");
  await recorded(sink, 1);
  const shown = sink.requests[0]?.request.credentials.get("db")?.source?.value.data;
  assert.equal(Buffer.from(shown?.get("password") ?? []).toString(), "**REDACTED**");
});

test("a run that the cache answers is recorded as well", async (t) => {
  const sink = remember();
  let calls = 0;
  const next: FunctionRunner = {
    async run(_target, incoming) {
      calls++;
      const response = answer(incoming);
      const ttl = { seconds: 60n, nanos: 0 };
      return { ...response, meta: { tag: "tag", ttl } };
    },
  };
  const runner = recordRuns(cacheResponses(next, { schema: noSchemas, directory: temporaryDirectory(t) }), sink);
  for (let i = 0; i < 2; i++) await runner.run(target, withSecret(), traced());
  assert.equal(calls, 1);
  await recorded(sink, 2);
  assert.deepEqual([sink.requests.length, sink.responses.length], [2, 2]);
});

const badSinks: Readonly<Record<string, RunSink>> = {
  Throws: {
    request: () => {
      throw new Error("boom");
    },
    response: () => {
      throw new Error("boom");
    },
  },
  Rejects: { request: () => Promise.reject(new Error("boom")), response: () => Promise.reject(new Error("boom")) },
};

for (const [name, sink] of Object.entries(badSinks)) {
  test(`a sink that ${name.toLowerCase()} affects nothing but the error count`, async (t) => {
    const registry = new Registry();
    const logged: unknown[] = [];
    const log = { ...silentLog, info: (message: string) => logged.push(message) };
    const runner = recordRuns(echo, sink, { metrics: createRunnerMetrics(registry), log });
    const response = await runner.run(target, request(), traced());
    assert.deepEqual(response.output?.value, { ok: true });
    await t.waitFor(
      async () => assert.deepEqual(await inspectorErrors(registry), { "fn/request": 1, "fn/response": 1 }),
      { timeout: patience },
    );
    assert.deepEqual(logged, ["cannot record function request", "cannot record function response"]);
  });
}

test("a run whose objects are too large for a record is counted, not recorded, and continues", async (t) => {
  const sink = remember();
  const registry = new Registry();
  const metrics = createRunnerMetrics(registry);
  const large = Struct.from({ text: "x".repeat(5 * 2 ** 20) });
  const huge: FunctionRunner = { run: async (_target, incoming) => answer(incoming, { output: large }) };
  const runner = recordRuns(huge, sink, { metrics });
  await runner.run(target, request({ input: large }), traced());
  await runner.run(target, request(), traced());
  const errors = { "fn/request": 1, "fn/response": 2 };
  await t.waitFor(async () => assert.deepEqual(await inspectorErrors(registry), errors), { timeout: patience });
  assert.deepEqual([sink.requests.length, sink.responses.length], [1, 0]);
});

test("a secret of a request that is too large, or cannot be redacted, is not in the record of its response", async () => {
  const sink = remember();
  const value = create(CredentialData, { data: new Map([["password", Buffer.from(secretValue)]]) });
  const credentials = new Map([["db", create(Credentials, { source: { case: "credentialData", value } })]]);
  const output = Struct.from({ text: `it is ${secretValue}` });
  const printing: FunctionRunner = { run: async (_target, incoming) => answer(incoming, { output }) };
  const runner = recordRuns(printing, sink);
  const large = Struct.from({ text: "x".repeat(5 * 2 ** 20) });
  await runner.run(target, request({ input: large, credentials }), traced());
  await recorded(sink, 1);
  assert.deepEqual(sink.responses[0]?.response?.output?.value, { text: "it is **REDACTED**" });
  const broken = Struct.fromBytes(Buffer.from([0x0a, 0xff, ...Buffer.from("Secret data")]));
  await runner.run(target, request({ input: broken, credentials }), traced());
  await recorded(sink, 2);
  assert.equal(sink.responses[1]?.response?.output?.value["text"], undefined);
});

test("a sink that never answers does not slow a run down, and does not fill the memory", async (t) => {
  const registry = new Registry();
  let received = 0;
  const never = (): Promise<void> => {
    received++;
    return new Promise(() => {});
  };
  const runner = recordRuns(echo, { request: never, response: never }, { metrics: createRunnerMetrics(registry) });
  for (let i = 0; i < 300; i++) await runner.run(target, request(), traced());
  await t.waitFor(() => assert.equal(received, 256), { timeout: patience });
  assert.ok(((await inspectorErrors(registry))["fn/request"] ?? 0) >= 44, "the rest is dropped and counted");
});

test("a request that cannot be redacted is not recorded, and runs all the same", async (t) => {
  const registry = new Registry();
  const sink = remember();
  const runner = recordRuns(echo, sink, { metrics: createRunnerMetrics(registry) });
  const broken = Struct.fromBytes(Buffer.from([0x0a, 0xff, ...Buffer.from("Secret data")]));
  const observed = {
    composite: undefined,
    resources: new Map([["r", { resource: broken, connectionDetails: new Map(), ready: 0 }]]),
  };
  await runner.run(target, request({ observed }), traced());
  await t.waitFor(async () => assert.deepEqual(await inspectorErrors(registry), { "fn/request": 1 }), {
    timeout: patience,
  });
  await recorded(sink, 1);
  assert.deepEqual([sink.requests.length, sink.responses.length], [0, 1]);
});

// The inspector itself: Crossplane's service behind a unix socket.

const asIs = (bytes: Buffer): Buffer => bytes;

function method(name: string): ServiceDefinition[string] {
  return {
    path: `/crossplane.pipeline.v1alpha1.PipelineInspectorService/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
}

async function serveInspector(t: TestContext, path: string): Promise<{ readonly received: [string, Buffer][] }> {
  const received: [string, Buffer][] = [];
  const server = new Server();
  const take = (name: string) => (incoming: { request: Buffer }, reply: (error: null, value: Buffer) => void) => {
    received.push([name, incoming.request]);
    reply(null, Buffer.alloc(0));
  };
  server.addService(
    { EmitRequest: method("EmitRequest"), EmitResponse: method("EmitResponse") },
    { EmitRequest: take("EmitRequest"), EmitResponse: take("EmitResponse") },
  );
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  t.after(() => server.forceShutdown());
  return { received };
}

function sinkAt(t: TestContext, path: string, timeoutMs?: number): InspectorSink {
  const sink = createInspectorSink(path, { timeoutMs });
  t.after(() => sink.close());
  return sink;
}

test("the inspector gets request and response as protobuf-JSON without secrets", async (t) => {
  const path = join(temporaryDirectory(t), "inspector.sock");
  const { received } = await serveInspector(t, path);
  const registry = new Registry();
  const runner = recordRuns(echo, sinkAt(t, path, patience), { metrics: createRunnerMetrics(registry) });
  await runner.run(target, withSecret(), traced());
  await t.waitFor(() => assert.equal(received.length, 2), { timeout: patience });

  const message = <T extends object>(type: MessageType<T>, index: number): T =>
    decode(type, received[index]?.[1] ?? Buffer.alloc(0));
  const first = message(inspector.EmitRequestRequest, 0);
  assert.deepEqual(
    received.map(([name]) => name),
    ["EmitRequest", "EmitResponse"],
  );
  const json = Buffer.from(first.request).toString();
  assert.equal(json.includes(Buffer.from(secretValue).toString("base64")), false);
  assert.deepEqual(JSON.parse(json), {
    // A hash of the request, its secrets included.
    meta: { tag: "**REDACTED**" },
    credentials: { db: { credentialData: { data: { password: Buffer.from("**REDACTED**").toString("base64") } } } },
  });
  assert.equal(first.meta?.stepName, "compose");
  assert.deepEqual(first.meta?.context?.value, composition);
  const second = message(inspector.EmitResponseRequest, 1);
  assert.deepEqual(JSON.parse(Buffer.from(second.response).toString()), {
    meta: { tag: "**REDACTED**" },
    output: { ok: true },
  });
  assert.equal(second.error, "");
  assert.deepEqual(second.meta, first.meta);
  assert.deepEqual(await inspectorErrors(registry), {});
});

test("the inspector gets an empty response and the error of a run that failed", async (t) => {
  const path = join(temporaryDirectory(t), "inspector.sock");
  const { received } = await serveInspector(t, path);
  const failing: FunctionRunner = { run: () => Promise.reject(new Error("boom")) };
  await assert.rejects(recordRuns(failing, sinkAt(t, path, patience)).run(target, request(), traced()), /boom/);
  await t.waitFor(() => assert.equal(received.length, 2), { timeout: patience });
  const { response, error } = decode(inspector.EmitResponseRequest, received[1]?.[1] ?? Buffer.alloc(0));
  assert.deepEqual([response.length, error], [0, "boom"]);
});

test("without an inspector at the socket the pipeline is unaffected, and both records are counted as lost", async (t) => {
  const registry = new Registry();
  const sink = sinkAt(t, join(temporaryDirectory(t), "missing.sock"));
  const response: RunFunctionResponse = await recordRuns(echo, sink, { metrics: createRunnerMetrics(registry) }).run(
    target,
    request(),
    traced(),
  );
  assert.deepEqual(response.output?.value, { ok: true });
  await t.waitFor(
    async () => assert.deepEqual(await inspectorErrors(registry), { "fn/request": 1, "fn/response": 1 }),
    {
      timeout: patience,
    },
  );
});

test("an inspector that hangs loses the record after 100 milliseconds", async (t) => {
  const path = join(temporaryDirectory(t), "silent.sock");
  const connected = gate();
  const silent = createServer((socket) => {
    socket.on("error", () => {}).resume();
    connected.open();
  }).listen(path);
  await once(silent, "listening");
  t.after(() => silent.close());
  const sink = sinkAt(t, path);
  const records = remember();
  await recordRuns(echo, records).run(target, request(), traced());
  await assert.rejects(sink.request(records.requests[0] as RequestRecord), /DEADLINE_EXCEEDED/);
  await connected.opened;
});

test("an inspector whose socket does not exist delays no run, however long it is waited for", async (context) => {
  const sink = createInspectorSink(join(temporaryDirectory(context), "none.sock"), { timeoutMs: 3_600_000 });
  context.after(() => sink.close());
  const registry = new Registry();
  const metrics = createRunnerMetrics(registry);
  const runner = recordRuns(echo, sink, { metrics, log: silentLog });
  /** How many turns of the event loop a run takes. Each attempt to connect takes some. */
  const turnsOf = async ({ run }: FunctionRunner): Promise<number> => {
    let turns = 0;
    let isDone = false;
    const running = run(target, request(), traced()).then(({ output }) => {
      assert.ok(output);
      isDone = true;
    });
    for (; !isDone; turns++) await setImmediate();
    await running;
    return turns;
  };
  // A run that waited for the inspector would take an hour.
  for (let step = 0; step < 3; step++) assert.equal(await turnsOf(runner), await turnsOf(echo));
});
