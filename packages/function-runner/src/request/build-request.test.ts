// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import {
  create,
  encode,
  RequestMeta,
  Resource,
  type ResourceSelector,
  Resources,
  RunFunctionRequest,
  Schema,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import fc from "fast-check";
import { objectsReader, secretData, secretsFrom } from "../requirements/objects-reader.ts";
import { createResourceFetcher, observedStruct, observedStructsEncoded } from "../requirements/settle-requirements.ts";
import {
  buildRequest,
  firstState,
  type RequestSources,
  requestTag,
  requestTagInTurns,
  type StepDefinition,
  selectorOf,
} from "./build-request.ts";

const secret: JsonObject = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "ns", name: "creds" },
  data: { bin: Buffer.from([0xff, 0x00]).toString("base64"), text: Buffer.from("hi").toString("base64") },
};
const configMap = (name: string, labels: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "ns", name, labels },
});
const reader = objectsReader([secret, configMap("a", { app: "web" }), configMap("b")]);
const podSchema = create(Schema, { openapiV3: Struct.from({ type: "object" }) });

const sources: RequestSources = {
  secrets: secretsFrom(reader),
  resources: createResourceFetcher(reader),
  schema: async ({ kind }) => (kind === "Pod" ? podSchema : create(Schema)),
};

const build = (step: Partial<StepDefinition>, more: Partial<RequestSources> = {}): Promise<RunFunctionRequest> =>
  buildRequest({ step: "compose", ...step }, firstState(), { ...sources, ...more });

const namesIn = (found: Resources | undefined): unknown[] | undefined =>
  found?.items.map(
    ({ resource }) => (resource as unknown as { value: { metadata: JsonObject } }).value.metadata["name"],
  );

test("the first step gets a present, empty desired state and context, and nothing else", async () => {
  const request = await build({});
  const bytes = encode(RunFunctionRequest, { ...request, meta: undefined });
  assert.deepEqual([...bytes], [0x1a, 0x00, 0x2a, 0x00]);
});

test("a later step gets exactly what the step before it answered, also when that is nothing", async () => {
  const desired = create(State, { composite: create(Resource, { resource: Struct.from({ status: {} }) }) });
  const context = Struct.from({ a: 1 });
  const request = await buildRequest({ step: "s" }, { desired, context }, sources);
  assert.equal(request.desired, desired);
  assert.equal(request.context, context);
  const bare = await buildRequest({ step: "s" }, {}, sources);
  assert.deepEqual([bare.desired, bare.context, bare.observed], [undefined, undefined, undefined]);
});

test("every request carries the capabilities 1 to 5 and a tag of 64 hexadecimal digits", async () => {
  const { meta } = await build({});
  assert.deepEqual(meta?.capabilities, [1, 2, 3, 4, 5]);
  assert.match(meta?.tag ?? "", /^[0-9a-f]{64}$/);
});

const inputs: Readonly<Record<string, { reason: string; input: unknown; want: unknown }>> = {
  None: { reason: "a step without input sends none", input: undefined, want: undefined },
  Null: { reason: "null in an authored file means no input", input: null, want: undefined },
  Empty: { reason: "an empty input is an input", input: {}, want: {} },
  Object: { reason: "the object travels as it is", input: { a: [1, { b: null }] }, want: { a: [1, { b: null }] } },
  HugeInteger: {
    reason: "an integer that a double cannot hold becomes the nearest one",
    input: { n: 9007199254740993n, list: [9007199254740993n, "x"] },
    want: { n: 9007199254740992, list: [9007199254740992, "x"] },
  },
};

for (const [name, { reason, input, want }] of Object.entries(inputs)) {
  test(`step input ${name}: ${reason}`, async () => {
    assert.deepEqual((await build({ input })).input?.value, want);
  });
}

test("the input of a revision in a cache is encoded once, one that may change each time", async () => {
  const input = Object.freeze({ a: 1 });
  const [first, second] = [await build({ input }), await build({ input })];
  assert.equal(first.input, second.input);
  const changing = { a: 1 };
  const before = await build({ input: changing });
  changing.a = 2;
  assert.deepEqual([before.input?.value, (await build({ input: changing })).input?.value], [{ a: 1 }, { a: 2 }]);
});

const badInputs: Readonly<Record<string, { input: unknown; want: string }>> = {
  List: { input: [1], want: "input must be an object, not a list" },
  Text: { input: "x", want: "input must be an object, not a string" },
  Number: { input: 7, want: "input must be an object, not a number" },
  Infinity: { input: { a: { b: Number.POSITIVE_INFINITY } }, want: "a.b: Infinity has no JSON form" },
};

for (const [name, { input, want }] of Object.entries(badInputs)) {
  test(`step input ${name} fails the step before anything is read`, async () => {
    const untouched = { secrets: { read: () => assert.fail("read although the input is bad") } };
    const credentials = [{ name: "c", source: "Secret", secretRef: { namespace: "ns", name: "creds" } }];
    await assert.rejects(build({ input, credentials }, untouched), {
      code: "BAD_STEP",
      message: `cannot unmarshal input for Composition pipeline step "compose": ${want}`,
    });
  });
}

test("credentials are a Secret's bytes under the step's name; other sources hand over nothing", async () => {
  const { credentials } = await build({
    credentials: [
      { name: "aws", source: "Secret", secretRef: { namespace: "ns", name: "creds" } },
      { name: "none", source: "None" },
      { name: "unused", source: "None", secretRef: { namespace: "ns", name: "creds" } },
      { name: "loose", source: "Secret" },
    ],
  });
  assert.deepEqual([...credentials.keys()], ["aws"]);
  const data = credentials.get("aws")?.source?.value.data;
  assert.deepEqual([...(data?.get("bin") ?? [])], [0xff, 0x00]);
  assert.equal(Buffer.from(data?.get("text") ?? []).toString(), "hi");
});

test("a Secret that cannot be read fails the step, with step and credential named", async () => {
  const credentials = [{ name: "aws", source: "Secret", secretRef: { namespace: "ns", name: "gone" } }];
  await assert.rejects(build({ credentials }), {
    code: "FETCH",
    message:
      'cannot get Composition pipeline step "compose" credential "aws" from Secret: secrets "gone" not found in namespace "ns"',
  });
});

const secrets: Readonly<Record<string, { reason: string; secret: JsonObject; want: unknown }>> = {
  NoData: { reason: "a Secret may be empty", secret: {}, want: [] },
  NullData: { reason: "null is empty", secret: { data: null, stringData: null }, want: [] },
  EmptyValue: { reason: "a null value has no bytes", secret: { data: { a: null } }, want: [["a", ""]] },
  StringData: {
    reason: "an authored Secret's stringData wins over data",
    secret: { data: { a: "aGk=" }, stringData: { a: "other", b: "ü" } },
    want: [
      ["a", "other"],
      ["b", "ü"],
    ],
  },
  LineBreaks: {
    reason: "long values are often broken into lines",
    secret: { data: { a: "aG\nk=" } },
    want: [["a", "hi"]],
  },
};

for (const [name, row] of Object.entries(secrets)) {
  test(`Secret data ${name}: ${row.reason}`, () => {
    const found = [...secretData(row.secret)].map(([key, bytes]) => [key, Buffer.from(bytes).toString()]);
    assert.deepEqual(found, row.want);
  });
}

const badSecrets: Readonly<Record<string, { secret: JsonObject; want: string }>> = {
  NotBase64: { secret: { data: { a: "not base64!" } }, want: `the Secret's data "a" is not base64` },
  ShortBase64: { secret: { data: { a: "aGk" } }, want: `the Secret's data "a" is not base64` },
  NotAnObject: { secret: { data: [] }, want: "the Secret's data is not an object" },
  NotAString: { secret: { stringData: { a: 7 } }, want: `the Secret's stringData "a" is not a string` },
};

for (const [name, row] of Object.entries(badSecrets)) {
  test(`Secret data ${name} is refused without showing it`, () => {
    assert.throws(() => secretData(row.secret), { message: row.want });
  });
}

test("bootstrap requirements are in the first request under their names", async () => {
  const common = { apiVersion: "v1", kind: "ConfigMap" };
  const { requiredResources, requiredSchemas } = await build({
    requirements: {
      requiredResources: [
        { requirementName: "one", ...common, namespace: "ns", name: "a" },
        { requirementName: "labelled", ...common, matchLabels: { app: "web" } },
        { requirementName: "nameless", ...common, name: "", matchLabels: { app: "web" } },
        { requirementName: "both", ...common, namespace: "ns", name: "b", matchLabels: { app: "web" } },
        { requirementName: "all", ...common },
        { requirementName: "missing", ...common, namespace: "ns", name: "nope" },
      ],
      requiredSchemas: [
        { requirementName: "pod", apiVersion: "v1", kind: "Pod" },
        { requirementName: "nothing", apiVersion: "v1", kind: "Nothing" },
      ],
    },
  });
  assert.deepEqual(
    [...requiredResources].map(([name, found]) => [name, namesIn(found)]),
    [
      ["one", ["a"]],
      ["labelled", ["a"]],
      ["nameless", ["a"]],
      ["both", ["b"]],
      ["all", ["a", "b"]],
      ["missing", []],
    ],
  );
  assert.equal(requiredSchemas.get("pod")?.openapiV3, podSchema.openapiV3);
  assert.equal(requiredSchemas.has("nothing"), true);
  assert.equal(requiredSchemas.get("nothing")?.openapiV3, undefined);
});

test("a bootstrap requirement that cannot be fetched fails the step; the first of several failures is reported", async () => {
  const nothing = { apiVersion: "x.org/v1", kind: "Nothing" };
  const requirements = {
    requiredResources: [
      { requirementName: "r1", ...nothing },
      { requirementName: "r2", ...nothing },
    ],
  };
  await assert.rejects(build({ requirements }), {
    message:
      'cannot fetch bootstrap required resources for requirement "r1": no matches for kind "Nothing" in version "x.org/v1"',
  });
  const boom = new Error("boom");
  const requiredSchemas = [{ requirementName: "s", apiVersion: "v1", kind: "Pod" }];
  await assert.rejects(build({ requirements: { requiredSchemas } }, { schema: () => Promise.reject(boom) }), {
    message: 'cannot fetch bootstrap required schema for requirement "s": boom',
  });
});

test("seeds fill names the bootstrap left open, and a seed that cannot be read is left out", async () => {
  const bootstrap = { requirementName: "x", apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };
  const seeds = new Map<string, ResourceSelector>([
    ["x", selectorOf({ ...bootstrap, name: "b" })],
    ["y", selectorOf({ ...bootstrap, name: "b" })],
    ["z", selectorOf({ ...bootstrap, kind: "Nothing" })],
  ]);
  const { requiredResources } = await build({ requirements: { requiredResources: [bootstrap] } }, { seeds });
  assert.deepEqual(
    [...requiredResources].map(([name, found]) => [name, namesIn(found)]),
    [
      ["x", ["a"]],
      ["y", ["b"]],
    ],
  );
});

test("the tag covers input, credentials and required resources, but not meta", async () => {
  const plain = await build({});
  assert.equal(plain.meta?.tag, requestTag(plain));
  assert.equal(
    requestTag({ ...plain, meta: create(RequestMeta, { tag: "other", capabilities: [1] }) }),
    plain.meta?.tag,
  );
  const different = [
    await build({ input: {} }),
    await build({ credentials: [{ name: "c", source: "Secret", secretRef: { namespace: "ns", name: "creds" } }] }),
    { ...plain, requiredResources: new Map([["r", create(Resources)]]) },
    { ...plain, context: undefined },
  ];
  const tags = new Set([plain, ...different].map(requestTag));
  assert.equal(tags.size, different.length + 1);
});

test("the tag of a large request is the same whether it is made at once or in turns", async () => {
  const resources = new Map(
    Array.from({ length: 2_000 }, (_, i) => {
      const resource = Struct.from({ z: i, a: "x".repeat(500), name: `n${i}` });
      return [`r${i}`, create(Resource, { resource })] as const;
    }),
  );
  const large = create(RunFunctionRequest, { observed: create(State, { resources }) });
  assert.equal(await requestTagInTurns(large), requestTag(large));
});

test("the tag of a request that cannot be read fails with the place, also in turns", async () => {
  const resource = Struct.fromBytes(Uint8Array.of(0x0a, 0x7f));
  const broken = create(RunFunctionRequest, { desired: create(State, { composite: create(Resource, { resource }) }) });
  await assert.rejects(requestTagInTurns(broken), { message: /RunFunctionRequest\.desired/ });
});

test("the tag is the same whatever the order of maps and members", () => {
  const json = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 8 });
  fc.assert(
    fc.property(json, json, (a, b) => {
      const reversed = (object: object): object => Object.fromEntries(Object.entries(object).reverse());
      const resources = (one: object, other: object): [string, Resource][] => [
        ["a", create(Resource, { resource: Struct.from(one) })],
        ["b", create(Resource, { resource: Struct.from(other) })],
      ];
      const request = (entries: [string, Resource][]): RunFunctionRequest =>
        create(RunFunctionRequest, { observed: create(State, { resources: new Map(entries) }) });
      assert.equal(
        requestTag(request(resources(a, b))),
        requestTag(request(resources(reversed(a), reversed(b)).reverse())),
      );
    }),
  );
});

test("an unchanged observed object is encoded once, not once a step", async () => {
  const before = observedStructsEncoded();
  const xr = Object.freeze({ apiVersion: "example.org/v1", kind: "XBucket", metadata: { name: "x" } });
  for (let reconcile = 0; reconcile < 3; reconcile++) {
    const observed = create(State, { composite: create(Resource, { resource: observedStruct(xr) }) });
    for (let step = 0; step < 4; step++) await buildRequest({ step: `s${step}` }, firstState(observed), sources);
  }
  assert.equal(observedStructsEncoded() - before, 1);
});

test("an object that may still change is encoded each time", () => {
  const object: Record<string, unknown> = { a: 1 };
  assert.deepEqual(observedStruct(object).value, { a: 1 });
  object["a"] = 2;
  assert.deepEqual(observedStruct(object).value, { a: 2 });
});

test("an observed 64-bit integer becomes the nearest double, as for every other runner", () => {
  assert.deepEqual(observedStruct({ spec: { n: 9007199254740993n } }).value, { spec: { n: 9007199254740992 } });
});
