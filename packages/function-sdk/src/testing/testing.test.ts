// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { Capability, create, type JsonObject, RunFunctionResponse, Struct } from "@purlin/function-protocol";
import { hasCode } from "../../test/raw-client.ts";
import * as request from "../request.ts";
import * as resource from "../resource.ts";
import * as response from "../response.ts";
import type { CallContext, FunctionHandler } from "../runtime/serve-options.ts";
import {
  expectResponse,
  invoke,
  invokeToStable,
  mustStruct,
  mustStructJSON,
  mustStructObject,
  newRequest,
  type ResponseExpectation,
  startTestServer,
} from "./index.ts";

const noOp: FunctionHandler = (req, ctx) => ctx.to(req);

test("a request fixture has everything where a control plane puts it", () => {
  const req = newRequest({
    xr: { kind: "XR" },
    connectionDetails: { user: "u" },
    observed: { a: { kind: "A" } },
    desiredXr: { status: { s: 1 } },
    desired: new Map([["b", resource.fromObject({ kind: "B" }, { ready: true })]]),
    input: { i: 1 },
    context: { c: 1 },
    credentials: { cred: { key: "k" } },
    requiredResources: { r: [{ kind: "R" }] },
    extraResources: { e: [] },
    requiredSchemas: { s: { type: "object" }, none: null },
    tag: "tag",
  });
  assert.equal(req.meta?.tag, "tag");
  assert.deepEqual(req.meta?.capabilities, [1, 2, 3, 4, 5]);
  const xr = request.getObservedCompositeResource(req);
  assert.equal(xr.resource.kind, "XR");
  assert.deepEqual([...xr.connectionDetails.keys()], ["user"]);
  assert.equal(request.getObservedComposedResources(req).get("a")?.resource.kind, "A");
  assert.equal(request.getDesiredCompositeResource(req).resource.getInteger("status.s"), 1);
  assert.equal(request.getDesiredComposedResources(req).get("b")?.ready, 1);
  assert.deepEqual(request.getInput(req), { i: 1 });
  assert.equal(request.getContextKey(req, "c"), 1);
  assert.equal(request.getCredentials(req, "cred").text("key"), "k");
  assert.equal(request.getRequiredResource(req, "r")?.resource.kind, "R");
  assert.deepEqual(request.allExtraResources(req).get("e"), []);
  assert.equal(request.lookupRequiredSchema(req, "s").state, "found");
  assert.equal(request.lookupRequiredSchema(req, "none").state, "absent");
});

test("an empty fixture is what the first step of a pipeline gets", () => {
  const req = newRequest();
  assert.ok(req.observed && req.desired && req.context);
  assert.equal(req.observed.composite, undefined);
  assert.equal(req.input, undefined);
  assert.equal(newRequest({ capabilities: [] }).meta?.capabilities.length, 0);
});

test("fixtures become Structs from objects and from JSON text", () => {
  assert.deepEqual(mustStruct({ a: 1 }).value, { a: 1 });
  assert.deepEqual(mustStructJSON('{"a":1}').value, { a: 1 });
  assert.equal(mustStructObject, mustStruct);
  const struct = Struct.from({});
  assert.equal(mustStruct(struct), struct);
  for (const wrong of ["[1]", "1", "null"]) assert.throws(() => mustStruct(wrong), TypeError);
  assert.throws(() => mustStruct("{"), SyntaxError);
});

test("invoke goes through bytes both ways", async () => {
  const req = newRequest({ desired: { a: { n: 1, u: undefined } } });
  let seen: unknown;
  const rsp = await invoke((one, ctx) => {
    seen = one;
    assert.notEqual(one, req);
    return ctx.to(one);
  }, req);
  assert.ok(seen);
  assert.deepEqual(rsp.desired?.resources.get("a")?.resource?.value, { n: 1 });
});

test("invoke treats errors as a server does, or lets them out", async () => {
  const boom = new Error("boom");
  const failing: FunctionHandler = () => {
    throw boom;
  };
  expectResponse(await invoke(failing, newRequest())).fatal("boom");
  await assert.rejects(invoke(failing, newRequest(), { onHandlerError: "throw" }), (error) => error === boom);
});

test("invoke sets the circumstances of a call", async () => {
  const controller = new AbortController();
  const deadline = new Date(0);
  let seen: CallContext | undefined;
  const handler: FunctionHandler = (req, ctx) => {
    seen = ctx;
    controller.abort();
    assert.ok(ctx.signal.aborted, "a caller that gave up before");
    return ctx.to(req);
  };
  const options = { ttl: null, deadline, protocol: "v1beta1", signal: controller.signal } as const;
  const rsp = await invoke(handler, newRequest(), { ...options, onHandlerError: "throw" });
  assert.equal(rsp.meta?.ttl, undefined);
  assert.deepEqual([seen?.deadline, seen?.protocol, seen?.ttl], [deadline, "v1beta1", null]);
});

const objects = [
  { apiVersion: "v1", kind: "Pod", metadata: { name: "z", namespace: "a", labels: { app: "x" } } },
  { apiVersion: "v1", kind: "Pod", metadata: { name: "x", namespace: "b", labels: { app: "x" } } },
  { apiVersion: "v1", kind: "Pod", metadata: { name: "y", namespace: "a", labels: { app: "y" } } },
  { apiVersion: "v1", kind: "Node", metadata: { name: "n" } },
  { apiVersion: "v1", kind: "Odd" },
];

const selections: Record<string, { selection: Partial<response.ResourceSelection>; want: string[] }> = {
  All: { selection: { matchAll: true }, want: ["a/y", "a/z", "b/x"] },
  Labels: { selection: { matchLabels: { app: "x" } }, want: ["a/z", "b/x"] },
  LabelsInNamespace: { selection: { matchLabels: { app: "x" }, namespace: "b" }, want: ["b/x"] },
  NoLabels: { selection: { matchLabels: {} }, want: ["a/y", "a/z", "b/x"] },
  Name: { selection: { matchName: "z", namespace: "a" }, want: ["a/z"] },
  NameWithoutNamespace: { selection: { matchName: "z" }, want: [] },
  NameInOtherNamespace: { selection: { matchName: "z", namespace: "b" }, want: [] },
  ClusterScoped: { selection: { kind: "Node", matchName: "n" }, want: ["/n"] },
  ClusterScopedWithNamespace: { selection: { kind: "Node", matchName: "n", namespace: "a" }, want: ["/n"] },
  OtherVersion: { selection: { apiVersion: "v2", matchAll: true }, want: [] },
  NoMetadata: { selection: { kind: "Odd", matchLabels: { a: "b" } }, want: [] },
};

for (const [name, { selection, want }] of Object.entries(selections)) {
  test(`required resources are answered from memory: ${name}`, async () => {
    const handler: FunctionHandler = (req, ctx) => {
      const rsp = ctx.to(req);
      response.requireResources(rsp, "r", { apiVersion: "v1", kind: "Pod", ...selection });
      const found = request
        .getRequiredResources(req, "r")
        .map(({ resource: one }) => `${one.namespace ?? ""}/${one.name}`);
      response.setOutput(rsp, { found, resolved: request.lookupRequiredResources(req, "r").resolved });
      return rsp;
    };
    const { response: rsp, calls, requests } = await invokeToStable(handler, newRequest(), { resources: objects });
    assert.deepEqual(rsp.output?.value, { found: want, resolved: true });
    assert.equal(calls, 2);
    assert.equal(requests.length, 2);
  });
}

test("required schemas are answered from memory, found or not", async () => {
  const handler: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.requireSchema(rsp, "known", "apps/v1", "Deployment");
    response.requireSchema(rsp, "unknown", "v1", "toString");
    const states = ["known", "unknown"].map((name) => request.lookupRequiredSchema(req, name).state);
    response.setOutput(rsp, { states });
    return rsp;
  };
  const schemas = { "apps/v1/Deployment": { type: "object" } };
  const fromTable = await invokeToStable(handler, newRequest(), { schemas });
  assert.deepEqual(fromTable.response.output?.value, { states: ["found", "absent"] });
  const fromFunction = await invokeToStable(handler, newRequest(), {
    schemas: ({ kind }) => (kind === "Deployment" ? {} : undefined),
    resources: () => [],
  });
  assert.deepEqual(fromFunction.response.output?.value, { states: ["found", "absent"] });
});

test("built-in kinds have their schemas without being named, unless a test says that there is no such kind", async () => {
  const handler: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.requireSchema(rsp, "built-in", "apps/v1", "Deployment");
    response.requireSchema(rsp, "unknown", "example.org/v1", "Deployment");
    const schema = request.getRequiredSchema(req, "built-in");
    response.setOutput(rsp, {
      replicas:
        (schema?.["properties"] as { spec?: { properties?: JsonObject } })?.spec?.properties?.["replicas"] ?? null,
      unknown: request.lookupRequiredSchema(req, "unknown").state,
    });
    return rsp;
  };
  const replicas = { format: "int32", type: "integer" };
  const rows = [
    { schemas: undefined, want: replicas },
    { schemas: () => undefined, want: replicas },
    { schemas: { "apps/v1/Deployment": null }, want: null },
    { schemas: () => null, want: null },
  ];
  for (const { schemas, want } of rows) {
    const { response: rsp } = await invokeToStable(handler, newRequest(), { schemas });
    assert.deepEqual(rsp.output?.value, { replicas: want, unknown: "absent" });
  }
});

test("a function that never settles is an error, as it is in a control plane", async () => {
  const forgetful: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    if (!request.lookupRequiredResources(req, "r").resolved) {
      response.requireResources(rsp, "r", { apiVersion: "v1", kind: "Pod", matchAll: true });
    }
    return rsp;
  };
  await assert.rejects(
    invokeToStable(forgetful, newRequest()),
    /requirements didn't stabilize after the maximum number of iterations \(5\)/,
  );
});

test("a function without requirements is called once", async () => {
  assert.equal((await invokeToStable(noOp, newRequest())).calls, 1);
});

test("a test server is a real server on a free port", async (t) => {
  const server = await startTestServer((req, ctx) => {
    const rsp = ctx.to(req);
    response.normal(rsp, ctx.protocol);
    return rsp;
  });
  t.after(() => server[Symbol.asyncDispose]());
  expectResponse(await server.call(newRequest())).normal("v1");
  expectResponse(await server.call(newRequest(), "v1beta1")).normal("v1beta1");
  const failing = await startTestServer(() => Promise.reject(new Error("boom")), { onHandlerError: "status" });
  await assert.rejects(failing.call(newRequest()), hasCode(status.UNKNOWN));
  await failing.stop();
});

function sample(): RunFunctionResponse {
  const rsp = response.to(newRequest({ desired: { a: { kind: "A", spec: { x: 1, y: [1] } } } }));
  response.fatal(rsp, "it broke").conditionFalse("Db", "Down").targetCompositeAndClaim();
  response.warning(rsp, "careful");
  response.normal(rsp, "fine");
  response.conditionTrue(rsp, "Db", "Up").withMessage("is up");
  response.conditionUnknown(rsp, "Img", "Hm");
  response.setDesiredCompositeStatus(rsp, { url: "u" });
  response.setContextKey(rsp, "k", { v: 1 });
  response.requireSchema(rsp, "s", "v1", "Pod");
  response.requireResources(rsp, "r", { apiVersion: "v1", kind: "Pod", matchAll: true });
  return rsp;
}

const holds: Record<string, (expect: ResponseExpectation) => unknown> = {
  Fatal: (expect) => expect.fatal("it broke"),
  AnyFatal: (expect) => expect.fatal(),
  FatalPattern: (expect) => expect.fatal(/broke/),
  Warning: (expect) => expect.warning("careful"),
  Normal: (expect) => expect.normal("fine"),
  LaterConditionCounts: (expect) => expect.condition("Db", "True", { reason: "Up", message: /up/, claim: false }),
  UnknownCondition: (expect) => expect.condition("Img", "Unknown"),
  NoCondition: (expect) => expect.noCondition("Other"),
  Composed: (expect) => expect.composed("a"),
  ComposedPart: (expect) => expect.composed("a", { spec: { x: 1 } }),
  ComposedList: (expect) => expect.composed("a", { spec: { y: [1] } }),
  NotComposed: (expect) => expect.notComposed("b"),
  Status: (expect) => expect.compositeStatus({ url: "u" }),
  Context: (expect) => expect.contextKey("k"),
  ContextValue: (expect) => expect.contextKey("k", { v: 1 }),
  Schema: (expect) => expect.requiresSchema("s"),
  Resources: (expect) => expect.requiresResources("r"),
  Chain: (expect) => expect.fatal().warning().normal().composed("a"),
};

const fails: Record<string, { check: (expect: ResponseExpectation) => unknown; says: RegExp }> = {
  FatalText: {
    check: (expect) => expect.fatal("other"),
    says: /no FATAL result matches other; results: FATAL "it broke"/,
  },
  NoFatal: { check: (expect) => expect.noFatal(), says: /there is a FATAL result/ },
  WarningText: { check: (expect) => expect.warning(/broke/), says: /no WARNING result matches/ },
  ConditionStatus: { check: (expect) => expect.condition("Db", "False"), says: /status of condition "Db"/ },
  ConditionReason: { check: (expect) => expect.condition("Db", "True", { reason: "x" }), says: /reason of condition/ },
  ConditionMessage: { check: (expect) => expect.condition("Db", "True", { message: "x" }), says: /does not match x/ },
  ConditionClaim: { check: (expect) => expect.condition("Db", "True", { claim: true }), says: /reaches the claim/ },
  ConditionMissing: { check: (expect) => expect.condition("No", "True"), says: /conditions: Db, Db, Img/ },
  ConditionThere: { check: (expect) => expect.noCondition("Img"), says: /there is a condition "Img"/ },
  ComposedMissing: { check: (expect) => expect.composed("b"), says: /"b" is not desired; desired: a/ },
  ComposedValue: { check: (expect) => expect.composed("a", { spec: { x: 2 } }), says: /desired resource "a"/ },
  ComposedMember: { check: (expect) => expect.composed("a", { spec: { z: 1 } }), says: /desired resource "a"/ },
  ComposedThere: { check: (expect) => expect.notComposed("a"), says: /"a" is desired/ },
  Status: { check: (expect) => expect.compositeStatus({ url: "v" }), says: /status of the desired composite/ },
  Context: { check: (expect) => expect.contextKey("toString"), says: /no key "toString"/ },
  ContextValue: { check: (expect) => expect.contextKey("k", 2), says: /context key "k"/ },
  Schema: { check: (expect) => expect.requiresSchema("r"), says: /no schema is required as "r"/ },
  Resources: { check: (expect) => expect.requiresResources("s"), says: /no resources are required as "s"/ },
};

for (const [name, check] of Object.entries(holds)) {
  test(`an expectation that holds: ${name}`, () => {
    check(expectResponse(sample()));
  });
}

for (const [name, { check, says }] of Object.entries(fails)) {
  test(`an expectation that fails says why: ${name}`, () => {
    assert.throws(
      () => check(expectResponse(sample())),
      (error: unknown) => error instanceof assert.AssertionError && says.test(error.message),
    );
  });
}

const status1: JsonObject = { a: { b: 1, c: [1] }, d: null };

const losses: Record<string, { lose: (rsp: RunFunctionResponse) => RunFunctionResponse; lost: RegExp | undefined }> = {
  Nothing: { lose: (rsp) => rsp, lost: undefined },
  Changed: {
    lose: (rsp) => {
      response.setDesiredComposedResource(rsp, "x", { kind: "Other" });
      response.setDesiredCompositeStatus(rsp, { a: { b: 2, c: "text" } });
      return rsp;
    },
    lost: undefined,
  },
  "C104 NoDesiredAtAll": { lose: () => create(RunFunctionResponse), lost: /resource "x".*composite status/s },
  OneResource: {
    lose: (rsp) => {
      response.removeDesiredComposedResource(rsp, "y");
      return rsp;
    },
    lost: /resource "y"/,
  },
  StatusField: {
    lose: (rsp) => {
      response.setDesiredCompositeResource(rsp, { resource: { status: { a: { c: [1] }, d: null } } });
      return rsp;
    },
    lost: /composite status\.a\.b/,
  },
};

for (const [name, { lose, lost }] of Object.entries(losses)) {
  test(`lost desired state is noticed: ${name}`, () => {
    const req = newRequest({ desiredXr: { status: status1 }, desired: { x: { kind: "X" }, y: { kind: "Y" } } });
    const check = (): unknown => expectResponse(lose(response.to(req))).noDesiredLoss(req);
    if (lost === undefined) check();
    else assert.throws(check, lost);
  });
}

test("fixtures and capabilities show the fallback path of a function", async () => {
  const handler: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    if (request.hasCapability(req, Capability.CAPABILITY_REQUIRED_SCHEMAS))
      response.requireSchema(rsp, "s", "v1", "Pod");
    else response.warning(rsp, "not checked");
    return rsp;
  };
  expectResponse(await invoke(handler, newRequest())).requiresSchema("s");
  expectResponse(await invoke(handler, newRequest({ capabilities: [] }))).warning("not checked");
});
