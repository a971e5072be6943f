// SPDX-License-Identifier: Apache-2.0
// Operations, CronOperations and WatchOperations with functions that are called over the network: what they apply, how often they run, and
// what they report when a function fails, hangs or is not there.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type FunctionHandler, request, response } from "@purlin/function-sdk";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { conditionOf, eventually, type Plane, startPlane } from "../harness/plane.ts";

const ops = "ops.crossplane.io/v1alpha1";
const operationType = { apiVersion: ops, kind: "Operation" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const namespace = "default";

/** Copies the password of a required Secret into a ConfigMap and a Secret. */
const copy: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const source = request.getRequiredResource(req, "source")?.resource;
  const data = { password: source?.getString("data.password") ?? "" };
  const metadata = { name: "copied", namespace };
  response.setDesiredComposedResource(rsp, "map", { ...configMap, metadata, data });
  response.setDesiredComposedResource(rsp, "secret", {
    ...{ apiVersion: "v1", kind: "Secret", metadata },
    stringData: { password: "plain" },
  });
  response.setOutput(rsp, { copied: true });
  return rsp;
};

/** Repairs the watched object, and counts the calls in its own label. */
const repair: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const watched = request.getWatchedResource(req)?.resource;
  if (watched === undefined) return rsp;
  const metadata = { name: watched.name, namespace: watched.namespace };
  response.setDesiredComposedResource(rsp, "map", { ...configMap, metadata, data: { health: "good" } });
  return rsp;
};

const fail: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  response.fatal(rsp, "boom");
  return rsp;
};

const hang: FunctionHandler = (_req, ctx) =>
  new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("gave up"))));

const nothing: FunctionHandler = (req, ctx) => ctx.to(req);

let plane: Plane;
before(async () => {
  const settings = { operations: true, compositeDeadlineMs: 3000 };
  plane = await startPlane({ functions: { copy, repair, fail, hang, nothing }, settings });
});
after(() => plane[Symbol.asyncDispose]());

const pipeline = (name: string, requirements?: JsonObject): JsonObject => ({
  mode: "Pipeline",
  pipeline: [{ step: name, functionRef: { name }, ...(requirements && { requirements }) }],
});
const ended = (object: KubeObject): boolean =>
  ["True", "False"].includes(conditionOf(object, "Succeeded")?.status ?? "");
const runOperation = async (name: string, spec: JsonObject): Promise<KubeObject> => {
  await plane.apply({ ...operationType, metadata: { name }, spec } as KubeObject);
  return plane.until(`Operation ${name} ends`, operationType, { name }, ended);
};
const operationsOf = async (label: string): Promise<readonly KubeObject[]> =>
  (await plane.users.list(operationType, { labelSelector: label })).items;

test("an Operation applies what its function desires, and a second one with the same values writes nothing", async () => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "source", namespace } };
  await plane.apply({ ...secret, data: { password: "b2xk" } } as KubeObject);
  const wanted = { requirementName: "source", apiVersion: "v1", kind: "Secret", namespace, name: "source" };
  const spec = pipeline("copy", { requiredResources: [wanted] });
  const done = await runOperation("copy", spec);
  assert.equal(conditionOf(done, "Succeeded")?.reason, "PipelineSuccess", JSON.stringify(done["status"]));
  assert.deepEqual(memberAt(done, ["status", "pipeline"]), [{ step: "copy", output: { copied: true } }]);
  assert.deepEqual(memberAt(done, ["status", "appliedResourceRefs"]), [
    { apiVersion: "v1", kind: "ConfigMap", name: "copied", namespace },
    { apiVersion: "v1", kind: "Secret", name: "copied", namespace },
  ]);
  const key = { name: "copied", namespace };
  const map = await plane.get(configMap, key);
  assert.deepEqual(map["data"], { password: "b2xk" });
  const managers = map.metadata.managedFields?.map(({ manager }) => manager);
  assert.deepEqual(managers, [`ops.crossplane.io/operation/${done.metadata.uid}`]);
  const copied = await plane.get({ apiVersion: "v1", kind: "Secret" }, key);
  await runOperation("copy-again", spec);
  const versions = [map, copied].map(({ metadata }) => metadata.resourceVersion);
  const now = [await plane.get(configMap, key), await plane.get({ apiVersion: "v1", kind: "Secret" }, key)];
  assert.deepEqual(
    now.map(({ metadata }) => metadata.resourceVersion),
    versions,
  );
});

test("a function that fails, one that hangs and one that is not there end their Operations with a reason and an event", async () => {
  const cases = [
    ["fail", 'pipeline step "fail" returned a fatal result: boom'],
    ["hang", 'failed to invoke pipeline step "hang": '],
    ["absent", 'failed to invoke pipeline step "absent": '],
  ] as const;
  const done = await Promise.all(cases.map(([name]) => runOperation(name, { ...pipeline(name), retryLimit: 1 })));
  for (const [index, [name, text]] of cases.entries()) {
    const object = done[index] as KubeObject;
    assert.equal(memberAt(object, ["status", "failures"]), 1, name);
    const { reason, message = "" } = conditionOf(object, "Succeeded") ?? {};
    assert.equal(reason, "PipelineError");
    assert.ok(message.startsWith(`failure limit of 1 reached: ${text}`), message);
    const events = await eventually(`an event about ${name}`, async () => {
      const found = await plane.events(object);
      return found.length > 0 && found;
    });
    assert.ok(events[0]?.startsWith(`Warning FunctionInvocation: ${text}`), events.join("\n"));
  }
});

test("a CronOperation creates one Operation for each time, in order, and keeps a history", async () => {
  const cronType = { apiVersion: ops, kind: "CronOperation" };
  const operationTemplate = { metadata: { labels: { purpose: "tick" } }, spec: pipeline("nothing") };
  const spec = { schedule: "@every 1s", successfulHistoryLimit: 2, operationTemplate };
  await plane.apply({ ...cronType, metadata: { name: "tick" }, spec } as KubeObject);
  const seen = new Map<string, string>();
  await eventually("five Operations", async () => {
    for (const { metadata } of await operationsOf("ops.crossplane.io/cronoperation=tick")) {
      assert.equal(metadata.labels?.["purpose"], "tick");
      seen.set(metadata.name ?? "", metadata.annotations?.["purlin.dev/scheduled-time"] ?? "");
    }
    return seen.size >= 5;
  });
  assert.equal(new Set(seen.values()).size, seen.size, "each time has one Operation");
  for (const [name, time] of seen) assert.equal(name, `tick-${Date.parse(time) / 1000}`);
  await plane.users.patch({ ...cronType, name: "tick" }, { spec: { schedule: "0 0 30 2 *" } }, { type: "merge" });
  const paused = await plane.until("the schedule is refused", cronType, { name: "tick" }, (one) =>
    Boolean(conditionOf(one, "Scheduling")?.message),
  );
  assert.deepEqual(conditionOf(paused, "Scheduling"), {
    ...{ type: "Scheduling", status: "False", reason: "ScheduleInvalid" },
    message: 'schedule "0 0 30 2 *" never comes',
  });
  assert.ok(memberAt(paused, ["status", "lastSuccessfulTime"]) !== undefined);
});

test("a WatchOperation runs for each object and each change, and not because of what it writes itself", async () => {
  const watchType = { apiVersion: ops, kind: "WatchOperation" };
  const map = (name: string, health: string): KubeObject =>
    ({ ...configMap, metadata: { name, namespace, labels: { watched: "yes" } }, data: { health } }) as KubeObject;
  await plane.apply(map("first", "bad"), map("second", "good"));
  const watch = { ...configMap, matchLabels: { watched: "yes" } };
  const spec = { watch, successfulHistoryLimit: 100, operationTemplate: { spec: pipeline("repair") } };
  await plane.apply({ ...watchType, metadata: { name: "repair" }, spec } as KubeObject);
  const about = async (name: string): Promise<number> => {
    const all = await operationsOf("ops.crossplane.io/watchoperation=repair");
    const named = all.filter(
      ({ metadata }) => metadata.annotations?.["ops.crossplane.io/watched-resource-name"] === name,
    );
    return named.every(ended) ? named.length : 0;
  };
  await plane.until("it is repaired", configMap, { name: "first", namespace }, (one) => {
    return memberAt(one, ["data", "health"]) === "good";
  });
  // The repair is a change, and its Operation desires what the object has: it ends there.
  await eventually("the Operations about the first object", async () => (await about("first")) === 2);
  await plane.apply(map("third", "good"));
  await eventually("the Operation about the third object", async () => (await about("third")) === 1);
  assert.deepEqual([await about("first"), await about("second"), await about("third")], [2, 1, 1]);
  const stored = await plane.until("all are counted", watchType, { name: "repair" }, (one) => {
    return memberAt(one, ["status", "watchingResources"]) === 3;
  });
  assert.deepEqual(conditionOf(stored, "Watching"), { type: "Watching", status: "True", reason: "WatchActive" });
  await plane.users.delete({ ...watchType, name: "repair" });
  await plane.gone(watchType, { name: "repair" });
  await eventually("its Operations are collected", async () => {
    return (await operationsOf("ops.crossplane.io/watchoperation=repair")).length === 0;
  });
});
