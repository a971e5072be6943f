// SPDX-License-Identifier: Apache-2.0
// What the compiler promises authors. The lines marked @ts-expect-error fail the build when they stop being errors.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ComposedObject,
  type CompositeObject,
  create,
  type FunctionHandler,
  type JsonObject,
  type JsonValue,
  Ready,
  type RunFunctionResponse,
  RunFunctionResponse as RunFunctionResponseType,
  request,
  resource,
  response,
  type Ttl,
} from "./index.ts";
import { newRequest } from "./testing/index.ts";

/** True when two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

test("handlers: sync, async and objects; nothing else", () => {
  const sync: FunctionHandler = (req, ctx) => ctx.to(req);
  const async: FunctionHandler = async (req, ctx) => ctx.to(req);
  const object: FunctionHandler = { runFunction: (req, ctx) => ctx.to(req) };
  // @ts-expect-error a handler returns a response
  const forgetful: FunctionHandler = () => {};
  // @ts-expect-error and not something that looks like one
  const wrong: FunctionHandler = () => ({ desired: {} });
  assert.equal([sync, async, object, forgetful, wrong].length, 5);
});

test("lookups make the author look at the state first", () => {
  const req = newRequest({ requiredSchemas: { a: {} }, requiredResources: { b: [] } });
  const schema = request.lookupRequiredSchema(req, "a");
  // @ts-expect-error a pending schema has no schema
  assert.deepEqual(schema.schema, {});
  if (schema.state === "found") same<typeof schema.schema, JsonObject>(true);
  const resources = request.lookupRequiredResources(req, "b");
  // @ts-expect-error unresolved resources have no items
  assert.deepEqual(resources.items, []);
  if (resources.resolved) same<typeof resources.items, request.RequiredResource[]>(true);
});

test("getters by path: a fallback decides what comes back", () => {
  const object = new ComposedObject({ spec: { n: 1 } });
  const strict = object.getInteger("spec.n");
  same<typeof strict, number>(true);
  const lenient = object.getInteger("spec.m", undefined);
  same<typeof lenient, number | undefined>(true);
  const text = object.getString("spec.t", null);
  same<typeof text, string | null>(true);
  const value = object.getValue("spec.n");
  same<typeof value, JsonValue>(true);
  const decoded = object.getValueInto("spec.n", (one) => ({ one }));
  same<typeof decoded, { one: JsonValue }>(true);
  assert.deepEqual([strict, lenient, text, value], [1, undefined, null, 1]);
});

test("metadata: what every object has is text, the rest may be missing", () => {
  const object = new ComposedObject({});
  same<typeof object.name, string>(true);
  same<typeof object.namespace, string | undefined>(true);
  const label = object.labels["a"];
  same<typeof label, string | undefined>(true);
  object.namespace = undefined;
  assert.throws(() => {
    // @ts-expect-error a uid is given by the API server
    object.uid = "u";
  });
  // @ts-expect-error labels are strings
  object.labels = { a: 1 };
});

test("input: called a T, or decoded into one", () => {
  interface Input {
    readonly region: string;
  }
  const req = newRequest({ input: { region: "eu" } });
  const plain = request.getInput(req);
  same<typeof plain, JsonObject | undefined>(true);
  const called = request.getInput<Input>(req);
  same<typeof called, Input | undefined>(true);
  const decoded = request.requireInput(req, (input) => ({ region: String(input["region"]) }));
  same<typeof decoded, { region: string }>(true);
  assert.deepEqual([plain, called, decoded], [{ region: "eu" }, { region: "eu" }, { region: "eu" }]);
});

test("typed objects are taken as they are, without an index signature", () => {
  interface Bucket {
    readonly apiVersion: "s3/v1";
    readonly spec: { readonly region?: string };
  }
  const bucket: Bucket = { apiVersion: "s3/v1", spec: {} };
  const rsp = create(RunFunctionResponseType);
  response.setDesiredComposedResource(rsp, "a", bucket);
  response.setDesiredComposedResources(rsp, { b: { resource: bucket, ready: Ready.READY_TRUE } });
  response.setDesiredResources(rsp, new Map([["c", bucket]]));
  response.setDesiredCompositeStatus(rsp, bucket.spec);
  response.setContextKey(rsp, "k", bucket);
  response.setOutput(rsp, bucket);
  assert.equal(resource.fromObject(bucket).ready, 0);
  // @ts-expect-error a string is not an object
  assert.throws(() => response.setDesiredComposedResource(rsp, "d", "text"));
  // @ts-expect-error nor is a status
  assert.throws(() => response.setDesiredCompositeStatus(rsp, 5));
});

test("what a request hands out fits what a response takes", () => {
  const req = newRequest({ desired: { a: {} } });
  const rsp: RunFunctionResponse = response.to(req);
  response.setDesiredComposedResources(rsp, request.getDesiredComposedResources(req));
  response.setDesiredCompositeResource(rsp, request.getDesiredCompositeResource(req));
  const xr: CompositeObject = request.getObservedCompositeResource(req).resource;
  // @ts-expect-error an unknown update policy
  xr.compositionUpdatePolicy = "Sometimes";
  assert.equal(rsp.desired?.resources.size, 1);
});

test("TTLs, selections and options are checked where they are written", () => {
  const ttls: Ttl[] = [0, 60_000, { seconds: 5 }, { seconds: 5, nanos: 1 }, null];
  // @ts-expect-error no units in text
  const text: Ttl = "60s";
  assert.equal(ttls.length, 5);
  assert.throws(() => response.to(newRequest(), { ttl: text }));
  const rsp = create(RunFunctionResponseType);
  // @ts-expect-error a selection names its kind
  assert.throws(() => response.requireResources(rsp, "a", { apiVersion: "v1", matchName: "n" }));
  // @ts-expect-error status texts are True, False and Unknown
  response.setConditions(rsp, { type: "A", status: "true" });
  // @ts-expect-error readiness is a boolean or a Ready
  response.setDesiredCompositeReady(rsp, "yes");
});
