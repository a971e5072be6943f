// SPDX-License-Identifier: Apache-2.0
// What travels through a pipeline: input, credentials, context, observed and desired state; and what its functions need
// before they can run at all.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, test } from "node:test";
import {
  type JsonObject,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
} from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually, functionAt, type Plane, startPlane } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import { applyCompositions, compositionOf, modernDefinition, namespaceOf, type StepWish } from "./definitions.ts";

const group = "pipes.example.org";
const type = { apiVersion: `${group}/v1`, kind: "Pipe" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const secretType = { apiVersion: "v1", kind: "Secret" };
const namespace = "cellar";
const mark = "pipes.example.org/mark";

/** Says in the status what it was called with. */
function gauge(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req, { ttl: 1000 });
  const { say = "nothing" } = (request.getInput(req) ?? {}) as { readonly say?: string };
  const key = request.lookupCredentials(req, "key");
  response.setDesiredCompositeStatus(rsp, { input: say, key: key?.text("text") ?? "none" });
  response.setDesiredComposedResource(rsp, "valve", { ...configMap, data: { say } }, { ready: true });
  return rsp;
}

/** Composes two things and leaves a mark. */
function lay(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  assert.equal(request.getDesiredComposedResources(req).size, 0, "the first step starts from nothing");
  assert.equal(request.getContextKey(req, mark), undefined, "the context of the last pass is gone");
  response.setContextKey(rsp, mark, { by: "lay", list: [1, null, "two"] });
  for (const name of ["copper", "lead"]) {
    response.setDesiredComposedResource(rsp, name, { ...configMap, data: { name } }, { ready: true });
  }
  return rsp;
}

/** Checks the laid pipes, replaces lead if its input says so, and reports what it has seen. */
function inspect(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const { healthy = false } = xr.getObject("spec") as { readonly healthy?: boolean };
  if (healthy) response.removeDesiredComposedResource(rsp, "lead");
  const desired = [...request.getDesiredComposedResources(req).keys()].sort().join();
  const observed = [...request.getObservedComposedResources(req).keys()].sort().join();
  response.setDesiredCompositeStatus(rsp, {
    desired,
    observed,
    mark: JSON.stringify(request.getContextKey(req, mark)),
  });
  response.deleteContextKey(rsp, mark);
  return rsp;
}

/** Says whether a mark has come through, and what it sees of a schema. */
function finish(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  response.requireSchema(rsp, "deployment", "apps/v1", "Deployment");
  const schema = request.getRequiredSchema(req, "deployment");
  const found = schema === undefined ? "none" : typesIn(schema);
  response.setDesiredCompositeStatus(rsp, {
    left: request.hasContextKey(req, mark) ? "marked" : "clean",
    schema: found,
  });
  return rsp;
}

/** Types far inside a schema; a reference anywhere would hide what is behind it. */
function typesIn(schema: JsonObject): string {
  const at = (...path: readonly string[]): unknown =>
    path.reduce((value: unknown, name) => (value as JsonObject | undefined)?.[name], schema);
  const container = ["properties", "spec", "properties", "template", "properties", "spec", "properties", "containers"];
  const image = at(...container, "items", "properties", "image", "type");
  const labels = at("properties", "metadata", "properties", "labels", "type");
  return `${image} ${labels} ${JSON.stringify(schema).includes('"$ref"') ? "with" : "without"} references`;
}

const text = { type: "string" };
const status = Object.fromEntries(
  ["input", "key", "desired", "observed", "mark", "left", "schema"].map((field) => [field, text]),
);

let plane: Plane;
before(async () => {
  plane = await startPlane({ functions: { gauge, lay, inspect, finish } });
  await plane.apply(namespaceOf(namespace), modernDefinition({ kind: "Pipe", group, status }));
});
after(() => plane[Symbol.asyncDispose]());

const step = (name: string, more: object = {}): StepWish => ({ step: name, functionRef: { name }, ...more });
const pipe = (name: string, composition: string, spec: object = {}): KubeObject =>
  ({
    ...type,
    metadata: { namespace, name },
    spec: { ...spec, crossplane: { compositionRef: { name: composition } } },
  }) as unknown as KubeObject;
const secret = (name: string, value: string): KubeObject =>
  ({
    ...secretType,
    metadata: { namespace, name },
    data: { text: Buffer.from(value).toString("base64") },
  }) as unknown as KubeObject;
const credentials = (name: string): object => ({
  credentials: [{ name: "key", source: "Secret", secretRef: { namespace, name } }],
});

const shows = (name: string, wanted: Readonly<Record<string, string>>): Promise<KubeObject> =>
  plane.until(`${name} shows ${JSON.stringify(wanted)}`, type, { namespace, name }, (one) => {
    const shown = (one["status"] ?? {}) as JsonObject;
    return Object.entries(wanted).every(([field, value]) => shown[field] === value);
  });
const failing = (name: string, message: RegExp): Promise<KubeObject> =>
  plane.until(`${name} says ${message}`, type, { namespace, name }, (one) =>
    message.test(conditionOf(one, "Synced")?.message ?? ""),
  );
const resourcesOf = async (name: string): Promise<string[]> => {
  const labelSelector = `crossplane.io/composite=${name}`;
  const { items } = await plane.users.list(configMap, { namespace, labelSelector });
  return items.map(({ metadata }) => metadata.annotations?.["crossplane.io/composition-resource-name"] ?? "").sort();
};

test("composition/basic-namespaced: input and credentials reach the function, and all of it goes", async () => {
  const input = { apiVersion: `${group}/v1`, kind: "Input", say: "hello" };
  await plane.apply(secret("basic", "open"));
  await applyCompositions(plane, compositionOf("basic", type, [step("gauge", { input, ...credentials("basic") })]));
  await plane.apply(pipe("basic", "basic"));
  const made = await shows("basic", { input: "hello", key: "open" });
  assert.equal(conditionOf(made, "Ready")?.status, "True");
  assert.deepEqual(await resourcesOf("basic"), ["valve"]);
  await plane.apply(secret("basic", "shut"));
  await shows("basic", { key: "shut" });
  await rendersAsApplied(plane.users, type, { namespace, name: "basic" });
  await plane.users.delete({ ...type, namespace, name: "basic" });
  await plane.gone(type, { namespace, name: "basic" });
});

test("missing credentials are named, and the resource recovers when they exist", async () => {
  await applyCompositions(plane, compositionOf("locked", type, [step("gauge", credentials("missing"))]));
  await plane.apply(pipe("locked", "locked"));
  await failing(
    "locked",
    /^cannot compose resources: cannot get Composition pipeline step "gauge" credential "key" from Secret: secrets "missing" not found in namespace "cellar"$/,
  );
  assert.deepEqual(await resourcesOf("locked"), []);
  await plane.apply(secret("missing", "found"));
  await shows("locked", { key: "found", input: "nothing" });
});

test("context and desired state go from step to step, the observed state is one for all, nothing stays for the next pass", async () => {
  await applyCompositions(
    plane,
    compositionOf(
      "long",
      type,
      ["lay", "inspect", "finish"].map((name) => step(name)),
    ),
  );
  await plane.apply(pipe("long", "long"));
  const marked = JSON.stringify({ by: "lay", list: [1, null, "two"] });
  await shows("long", { desired: "copper,lead", observed: "copper,lead", mark: marked, left: "clean" });
  assert.deepEqual(await resourcesOf("long"), ["copper", "lead"]);
  await plane.apply(pipe("long", "long", { healthy: true }));
  await eventually("what a later step takes away is taken away", async () => {
    return (await resourcesOf("long")).join() === "copper";
  });
  await shows("long", { desired: "copper,lead", observed: "copper" });
});

test("composition/required-schemas: a schema of the server's own, with metadata and without references", async () => {
  await shows("long", { schema: "string object without references" });
  await rendersAsApplied(plane.users, type, { namespace, name: "long" }, { schemas: ["apis/apps/v1"] });
});

test("a missing function is named, and the pipeline runs when it is installed", async () => {
  await applyCompositions(plane, compositionOf("early", type, [step("later")]));
  await plane.apply(pipe("early", "early"));
  await failing(
    "early",
    /^cannot compose resources: cannot run Composition pipeline step "later": Function "later" not found; referenced by step "later" of Composition "early"\. Installed: /,
  );
  const { metadata } = await plane.get({ apiVersion: "pkg.crossplane.io/v1", kind: "Function" }, { name: "gauge" });
  const address = metadata.annotations?.["render.crossplane.io/runtime-development-target"] ?? "";
  await plane.apply(functionAt("later", address));
  await shows("early", { input: "nothing" });
});

test("the error of an invalid endpoint names the function and the endpoint", async () => {
  await plane.apply(functionAt("lost", "not a place"));
  await applyCompositions(plane, compositionOf("lost", type, [step("lost")]));
  await plane.apply(pipe("lost", "lost"));
  await failing(
    "lost",
    /^cannot compose resources: cannot run Composition pipeline step "lost": .*"lost".*not a place/,
  );
});
