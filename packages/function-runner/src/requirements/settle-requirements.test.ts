// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  create,
  MatchLabels,
  RequestMeta,
  Requirements,
  Resource,
  ResourceSelector,
  Resources,
  Result,
  type RunFunctionRequest,
  type RunFunctionResponse,
  Schema,
  SchemaSelector,
  Severity,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answer, serveFunction } from "../../test/function-server.ts";
import {
  assertNothingLeft,
  call,
  dial,
  gate,
  resources as processResources,
  request,
  targetAt,
} from "../../test/runs.ts";
import { createDiallingRunner } from "../dial/dialling-runner.ts";
import { type RunCall, RunnerError } from "../function-runner.ts";
import { noSchemas } from "../schemas/schema-fetcher.ts";
import { objectsReader } from "./objects-reader.ts";
import { createResourceFetcher, type RequirementFetchers, settleRequirements } from "./settle-requirements.ts";

const configMap = (name: string, extra: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "ns", ...extra },
});

const byName = (value: string, namespace = "ns"): ResourceSelector =>
  create(ResourceSelector, { apiVersion: "v1", kind: "ConfigMap", namespace, match: { case: "matchName", value } });

const byLabels = (labels: Record<string, string>): ResourceSelector =>
  create(ResourceSelector, {
    apiVersion: "v1",
    kind: "ConfigMap",
    match: { case: "matchLabels", value: create(MatchLabels, { labels: new Map(Object.entries(labels)) }) },
  });

const wanting = (resources: Record<string, ResourceSelector>): Requirements =>
  create(Requirements, { resources: new Map(Object.entries(resources)) });

const namesIn = (found: Resources | undefined): unknown[] | undefined =>
  found?.items.map(
    ({ resource }) => (resource as unknown as { value: { metadata: JsonObject } }).value.metadata["name"],
  );

interface Story {
  readonly fetched: string[];
  readonly requests: readonly RunFunctionRequest[];
  readonly response: Promise<RunFunctionResponse>;
}

type Script = (request: RunFunctionRequest, callNumber: number) => Partial<RunFunctionResponse>;

interface Setting {
  readonly objects?: readonly JsonObject[];
  readonly first?: Partial<RunFunctionRequest>;
  readonly fetchers?: Partial<RequirementFetchers>;
  readonly call?: Partial<RunCall>;
}

/** Runs a real function, scripted call by call, and returns what happened. */
async function settle(t: TestContext, script: Script, setting: Setting = {}): Promise<Story> {
  const fn = await serveFunction({ handler: (incoming) => answer(incoming, script(incoming, fn.calls.length)) });
  t.after(() => fn.stop());
  const fetched: string[] = [];
  const fetch = createResourceFetcher(objectsReader(setting.objects ?? [], { scopeOf: () => "Namespaced" }));
  const runner = settleRequirements(dial(t), {
    resources(selector) {
      fetched.push(selector.match?.case === "matchName" ? selector.match.value : "*");
      return fetch(selector);
    },
    schema: noSchemas,
    ...setting.fetchers,
  });
  const response = runner.run(targetAt(fn.endpoint), request(setting.first), call(setting.call));
  await response.catch(() => {});
  return {
    fetched,
    response,
    get requests() {
      return fn.calls.map((made) => made.request);
    },
  };
}

test("a function without requirements is called once", async (t) => {
  for (const requirements of [undefined, create(Requirements)]) {
    const { requests, fetched } = await settle(t, () => ({ requirements }));
    assert.deepEqual([requests.length, fetched], [1, []]);
  }
});

test("a constant requirement takes two calls and one fetch, and the second call has the object", async (t) => {
  const story = await settle(t, () => ({ requirements: wanting({ cfg: byName("a") }) }), { objects: [configMap("a")] });
  await story.response;
  assert.equal(story.requests.length, 2);
  assert.deepEqual(story.fetched, ["a"]);
  assert.equal(story.requests[0]?.requiredResources.has("cfg"), false);
  assert.deepEqual(namesIn(story.requests[1]?.requiredResources.get("cfg")), ["a"]);
});

test("a required object that does not exist is a key without items, not an error", async (t) => {
  const story = await settle(t, () => ({ requirements: wanting({ cfg: byName("missing") }) }));
  await story.response;
  assert.equal(story.requests.length, 2);
  assert.deepEqual(namesIn(story.requests[1]?.requiredResources.get("cfg")), []);
});

const notSettled = {
  code: "UNSTABLE_REQUIREMENTS",
  message: "requirements didn't stabilize after the maximum number of iterations (5)",
};

test("a requirement dropped once it is satisfied never settles: six calls, then an error", async () => {
  const before = processResources();
  await using fn = await serveFunction({
    handler: (incoming) =>
      answer(incoming, incoming.requiredResources.size > 0 ? {} : { requirements: wanting({ cfg: byName("a") }) }),
  });
  const dialling = createDiallingRunner({ security: "plaintext" });
  const resources = createResourceFetcher(objectsReader([configMap("a")]));
  const runner = settleRequirements(dialling, { resources, schema: noSchemas });
  await assert.rejects(runner.run(targetAt(fn.endpoint), request(), call()), notSettled);
  assert.equal(fn.calls.length, 6);
  await assertNothingLeft(before, dialling, fn);
});

test("a new requirement each time never settles either", async (t) => {
  const story = await settle(t, (_request, n) => ({ requirements: wanting({ [`r${n}`]: byName(`o${n}`) }) }));
  await assert.rejects(story.response, notSettled);
  assert.equal(story.requests.length, 6);
});

test("a requirement derived from the answer to another takes three calls", async (t) => {
  const script: Script = ({ requiredResources }) => ({
    requirements: wanting(
      requiredResources.has("a") ? { a: byName("first"), b: byName("second") } : { a: byName("first") },
    ),
  });
  const story = await settle(t, script, { objects: [configMap("first"), configMap("second")] });
  await story.response;
  assert.equal(story.requests.length, 3);
  assert.deepEqual(namesIn(story.requests[2]?.requiredResources.get("a")), ["first"]);
  assert.deepEqual(namesIn(story.requests[2]?.requiredResources.get("b")), ["second"]);
  assert.deepEqual(story.fetched, ["first", "second"], "the first is not fetched again");
});

test("settling exactly on the sixth call is success", async (t) => {
  const story = await settle(t, (_request, n) => ({ requirements: wanting({ r: byName(`o${Math.min(n, 5)}`) }) }));
  await story.response;
  assert.equal(story.requests.length, 6);
});

test("a fatal result is returned as it is, whatever it requires", async (t) => {
  const fatal = create(Result, { severity: Severity.SEVERITY_FATAL, message: "stop" });
  const story = await settle(t, () => ({ results: [fatal], requirements: wanting({ cfg: byName("a") }) }));
  assert.equal((await story.response).results[0]?.message, "stop");
  assert.deepEqual([story.requests.length, story.fetched], [1, []]);
});

/** Required resources as a step's bootstrap requirements put them into the first request. */
async function bootstrapped(...objects: JsonObject[]): Promise<Map<string, Resources>> {
  const items = objects.map((object) => create(Resource, { resource: Struct.from(object) }));
  return new Map([["boot", create(Resources, { items })]]);
}

test("a bootstrap entry that the function declares identically takes one call", async (t) => {
  const story = await settle(t, () => ({ requirements: wanting({ boot: byName("a") }) }), {
    objects: [configMap("a")],
    first: { requiredResources: await bootstrapped(configMap("a")) },
  });
  await story.response;
  assert.equal(story.requests.length, 1);
});

test("a bootstrap entry stays beside what the function requires", async (t) => {
  const story = await settle(t, () => ({ requirements: wanting({ own: byName("b") }) }), {
    objects: [configMap("b")],
    first: { requiredResources: await bootstrapped(configMap("a")) },
  });
  await story.response;
  assert.deepEqual(namesIn(story.requests[1]?.requiredResources.get("boot")), ["a"]);
  assert.deepEqual(namesIn(story.requests[1]?.requiredResources.get("own")), ["b"]);
});

test("the function's selector wins over a bootstrap entry of the same name", async (t) => {
  const story = await settle(t, () => ({ requirements: wanting({ boot: byName("b") }) }), {
    objects: [configMap("b")],
    first: { requiredResources: await bootstrapped(configMap("a")) },
  });
  await story.response;
  assert.deepEqual(namesIn(story.requests[1]?.requiredResources.get("boot")), ["b"]);
});

test("extra_resources and resources are answered each in its own field", async (t) => {
  const requirements = create(Requirements, {
    extraResources: new Map([["old", byName("a")]]),
    resources: new Map([["new", byName("b")]]),
  });
  const story = await settle(t, () => ({ requirements }), { objects: [configMap("a"), configMap("b")] });
  await story.response;
  const [, second] = story.requests;
  assert.deepEqual([...(second?.extraResources.keys() ?? [])], ["old"]);
  assert.deepEqual([...(second?.requiredResources.keys() ?? [])], ["new"]);
});

test("the next call sees the context of the last one, but not its desired state", async (t) => {
  const desired = create(State, { resources: new Map([["b", create(Resource, { resource: Struct.from({}) })]]) });
  const script: Script = () => ({
    requirements: wanting({ cfg: byName("a") }),
    context: Struct.from({ seen: true }),
    desired,
  });
  const story = await settle(t, script, { first: { desired: create(State), context: Struct.from({}) } });
  await story.response;
  assert.deepEqual(story.requests[1]?.context?.value, { seen: true });
  assert.equal(story.requests[1]?.desired?.resources.size, 0);
});

test("the tag is the same in all calls", async (t) => {
  const story = await settle(t, () => ({ requirements: wanting({ cfg: byName("a") }) }), {
    first: { meta: create(RequestMeta, { tag: "tag" }) },
  });
  await story.response;
  assert.deepEqual(
    story.requests.map(({ meta }) => meta?.tag),
    ["tag", "tag"],
  );
});

test("an unknown kind fails the step", async (t) => {
  const unknown = create(ResourceSelector, { apiVersion: "example.org/v1", kind: "Nothing" });
  const story = await settle(t, () => ({ requirements: wanting({ x: unknown }) }), {
    fetchers: { resources: createResourceFetcher(objectsReader([])) },
  });
  await assert.rejects(story.response, {
    message: 'fetching resources for x: no matches for kind "Nothing" in version "example.org/v1"',
  });
  assert.equal(story.requests.length, 1);
});

test("a malformed apiVersion of a schema selector fails the step", async (t) => {
  const schemas = new Map([["s", create(SchemaSelector, { apiVersion: "a/b/c", kind: "K" })]]);
  const boom = new Error("unexpected GroupVersion string: a/b/c");
  const story = await settle(t, () => ({ requirements: create(Requirements, { schemas }) }), {
    fetchers: { schema: () => Promise.reject(boom) },
  });
  await assert.rejects(story.response, {
    message: "fetching schema for s: unexpected GroupVersion string: a/b/c",
    cause: boom,
  });
});

test("identical selectors under several names are fetched once", async (t) => {
  const story = await settle(t, () => ({
    requirements: wanting({ x: byLabels({ a: "1" }), y: byLabels({ a: "1" }) }),
  }));
  await story.response;
  assert.deepEqual(story.fetched, ["*"]);
});

test("schemas are answered as well, and one that does not exist is an empty Schema", async (t) => {
  const found = create(Schema, { openapiV3: Struct.from({ type: "object" }) });
  const schemas = new Map([
    ["yes", create(SchemaSelector, { apiVersion: "v1", kind: "Pod" })],
    ["no", create(SchemaSelector, { apiVersion: "v1", kind: "Pud" })],
  ]);
  const story = await settle(t, () => ({ requirements: create(Requirements, { schemas }) }), {
    fetchers: { schema: async ({ kind }) => (kind === "Pod" ? found : create(Schema)) },
  });
  await story.response;
  const answered = story.requests[1]?.requiredSchemas;
  assert.deepEqual(answered?.get("yes")?.openapiV3?.value, { type: "object" });
  assert.equal(answered?.get("no")?.openapiV3, undefined);
  assert.equal(answered?.has("no"), true);
});

test("schemas that make the request too large for the function give an error with size and flag, not a hang", async (t) => {
  const kinds = Array.from({ length: 10 }, (_, index) => `Kind${index}`);
  const schemas = new Map(kinds.map((kind) => [kind, create(SchemaSelector, { apiVersion: "big.org/v1", kind })]));
  await using fn = await serveFunction({
    handler: (incoming) => answer(incoming, { requirements: create(Requirements, { schemas }) }),
    serverOptions: { "grpc.max_receive_message_length": 4 * 2 ** 20 },
  });
  const large = create(Schema, { openapiV3: Struct.from({ type: "object", description: "x".repeat(450_000) }) });
  const runner = settleRequirements(dial(t), {
    resources: createResourceFetcher(objectsReader([])),
    schema: async () => large,
  });
  await assert.rejects(runner.run(targetAt(fn.endpoint), request(), call()), {
    status: "ResourceExhausted",
    message:
      /: the request has 4500\d{3} bytes; if that is more than the function accepts, start it with --max-recv-message-size=5 \(MiB\) or more$/,
  });
  assert.equal(fn.calls.length, 1);
});

const cancelled = {
  status: "Canceled",
  message: 'cannot run Function "fn": rpc error: code = Canceled desc = the run was cancelled',
};

test("a run cancelled between two calls makes no further call", async (t) => {
  const controller = new AbortController();
  const story = await settle(t, () => ({ requirements: wanting({ cfg: byName("a") }) }), {
    call: { signal: controller.signal },
    fetchers: {
      async resources() {
        controller.abort();
        return create(Resources);
      },
    },
  });
  await assert.rejects(story.response, cancelled);
  assert.equal(story.requests.length, 1);
});

test("a run is cancelled although a read hangs", async (t) => {
  const controller = new AbortController();
  const reading = gate();
  const settling = settle(t, () => ({ requirements: wanting({ cfg: byName("a") }) }), {
    call: { signal: controller.signal },
    fetchers: {
      resources() {
        reading.open();
        return new Promise(() => {});
      },
    },
  });
  await reading.opened;
  controller.abort();
  await assert.rejects((await settling).response, cancelled);
});

for (const [status, want] of [
  ["DeadlineExceeded", "too slow"],
  ["Canceled", cancelled.message],
] as const) {
  test(`a call that ended with ${status} just before the run was cancelled keeps that status`, async () => {
    const stop = new AbortController();
    const failed = new RunnerError("RPC", "too slow", { status });
    const runner = settleRequirements(
      {
        run() {
          stop.abort(new Error("late"));
          return Promise.reject(failed);
        },
      },
      { resources: () => assert.fail("nothing is asked for"), schema: () => assert.fail("nothing is asked for") },
    );
    const run = runner.run(targetAt("127.0.0.1:1"), request(), call({ signal: stop.signal }));
    await assert.rejects(run, { message: want });
  });
}
