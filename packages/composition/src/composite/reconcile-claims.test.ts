// SPDX-License-Identifier: Apache-2.0
// What functions report on an XR and its claim, fatal results above all.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { installCrds } from "@purlin/kube-controller";
import { internalError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, memberAt } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { appDefinition, cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import {
  conditionFalse,
  conditionTrue,
  fatal,
  forClaim,
  type Intercept,
  intercepted,
  normal,
  type ResponseWish,
  warning,
} from "../../test/test-doubles.ts";
import { kinds } from "../composite-resource/constants.ts";
import { deriveClaimCrd } from "../definition/derive-crd.ts";

let cluster: TestCluster;
let bench: CompositeBench;
let modern: CompositeBench;
let intercept: Intercept;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  const client = intercepted(cluster.client, (call) => intercept(call));
  const xrd = await cluster.define(appDefinition());
  await installCrds(cluster.kube, [deriveClaimCrd(xrd)]);
  bench = createCompositeBench(cluster, xrd, { client });
  modern = createCompositeBench(cluster, await cluster.define(cacheDefinition("Cluster")), { client });
  for (const each of [bench, modern]) await each.compositionOf(`c-${each.kind.schema}`, ["first", "second"]);
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => {
  intercept = () => {};
  want({});
  bench.takeEvents();
  modern.takeEvents();
});

function want(second: ResponseWish, first: ResponseWish = {}): void {
  for (const { functions } of [bench, modern]) {
    functions.set("first", first);
    functions.set("second", second);
  }
}

const claimRef = (name: string): JsonObject => ({
  apiVersion: "platform.example.org/v1alpha1",
  kind: "App",
  namespace: "default",
  name,
});

async function claimed(): Promise<string> {
  const name = `web${number++}`;
  await cluster.kube.create({ ...claimRef(name), metadata: { name, namespace: "default" }, spec: {} } as never);
  await bench.xr(name, { claimRef: claimRef(name), compositionRef: { name: "c-legacy" } });
  await bench.seen({ apiVersion: "platform.example.org/v1alpha1", kind: "App" }, { namespace: "default", name });
  return name;
}

/** The events of a failing pass, without those about selecting. */
function reported(from = bench): string[] {
  return from.takeEvents().filter((line) => !line.includes("SelectComposition"));
}

const text = (message: string): string =>
  `cannot compose resources: pipeline step "second" returned a fatal result: ${message}`;

for (const reason of [undefined, "", "ImageNotFound"]) {
  for (const [aim, target] of Object.entries({ none: undefined, composite: 1, claim: forClaim, unknown: 99 })) {
    test(`a fatal with reason ${JSON.stringify(reason)} and target ${aim}`, async () => {
      const name = await claimed();
      want({ results: [{ severity: fatal, message: "boom", reason, target }] });
      await assert.rejects(bench.reconcile(name));
      const why = reason || "ReconcileError";
      const onClaim = target === forClaim ? [`App/${name} Warning ${why}: boom`] : [];
      assert.deepEqual(reported(), [`XApp/${name} Warning ${why}: ${text("boom")}`, ...onClaim]);
      const synced = await bench.condition(name, "Synced");
      assert.deepEqual([synced.status, synced.reason, synced.message], ["False", "ReconcileError", text("boom")]);
    });
  }
}

test("a claim that cannot be read gets no event, and nothing else changes", async () => {
  const name = await claimed();
  want({
    results: [
      { severity: warning, message: "hm", target: forClaim },
      { severity: fatal, message: "boom", target: forClaim },
    ],
  });
  intercept = ({ method, kind }) => {
    if (method === "get" && kind === "App") throw internalError("no");
  };
  await assert.rejects(bench.reconcile(name));
  assert.deepEqual(reported(), [
    `XApp/${name} Warning ReconcileError: ${text("boom")}`,
    `XApp/${name} Warning ComposeResources: Pipeline step "second": hm`,
  ]);
});

test("an approval that was given on the claim is used once: it is removed from claim and XR", async () => {
  await bench.compositionOf("guarded", ["first"], { annotations: { "purlin.dev/max-deletes": "0" } });
  const approve = "purlin.dev/approve-plan";
  const map = configMap({}, { namespace: "default" });
  const name = `web${number++}`;
  const metadata = { name, namespace: "default" };
  await cluster.kube.create({ ...claimRef(name), metadata, spec: {} } as never);
  await bench.xr(name, { claimRef: claimRef(name), compositionRef: { name: "guarded" } });
  want({}, { resources: { a: map, b: map } });
  await bench.reconcile(name);
  for (const ref of memberAt(await bench.read(name), ["spec", "resourceRefs"]) as never as { name: string }[]) {
    await bench.seen({ apiVersion: "v1", kind: "ConfigMap" }, { namespace: "default", name: ref.name });
  }
  want({}, { resources: { a: map } });
  await bench.reconcile(name);
  const hash = /to apply plan (\w+)$/.exec((await bench.condition(name, "Held")).message ?? "")?.[1] ?? "";
  // As the controller of claims hands annotations to the XR.
  const patch = { metadata: { annotations: { [approve]: hash } } };
  const claim = { apiVersion: "platform.example.org/v1alpha1", kind: "App" };
  await cluster.kube.patch({ ...claim, ...metadata }, patch, { type: "merge" });
  await cluster.kube.patch({ ...bench.kind.type, name }, patch, { type: "merge" });
  await bench.seen(claim, metadata);
  await bench.reconcile(name);
  assert.equal((await bench.condition(name, "Held")).status, "False");
  for (const one of [await bench.read(name), await cluster.kube.get(claim, metadata)]) {
    assert.equal(memberAt(one, ["metadata", "annotations", approve]), undefined, one.kind);
  }
});

test("an XR without a claim, and a modern XR, get the events alone", async () => {
  want({
    results: [{ severity: fatal, message: "boom", target: forClaim }],
    conditions: [{ type: "Db", status: conditionFalse, reason: "R", target: forClaim }],
  });
  await bench.xr("lonely", { compositionRef: { name: "c-legacy" } });
  await assert.rejects(bench.reconcile("lonely"));
  assert.deepEqual(reported(), [`XApp/lonely Warning ReconcileError: ${text("boom")}`]);
  await modern.xr("modern", { crossplane: { compositionRef: { name: "c-modern" } } });
  await assert.rejects(modern.reconcile("modern"));
  assert.deepEqual(reported(modern), [`Cache/modern Warning ReconcileError: ${text("boom")}`]);
  const status = memberAt(await modern.read("modern"), ["status"]) as JsonObject;
  assert.deepEqual([status["claimConditionTypes"], status["claimConditions"]], [undefined, undefined]);
});

test("a warning of step one for the claim comes after the fatal of step two", async () => {
  const name = await claimed();
  want(
    {
      results: [
        { severity: fatal, message: "boom", target: forClaim, reason: "Bad" },
        { severity: normal, message: "after" },
      ],
    },
    { results: [{ severity: warning, message: "careful", target: forClaim }] },
  );
  await assert.rejects(bench.reconcile(name));
  assert.deepEqual(reported(), [
    `XApp/${name} Warning Bad: ${text("boom")}`,
    `App/${name} Warning Bad: boom`,
    `XApp/${name} Warning ComposeResources: Pipeline step "first": careful`,
    `App/${name} Warning ComposeResources: careful`,
  ]);
});

test("a function hides its detail from the claim", async () => {
  const name = await claimed();
  want({
    results: [
      { severity: warning, message: "internal error, the team is informed", target: forClaim },
      { severity: fatal, message: "disk of db-7 is full", target: 1 },
    ],
  });
  await assert.rejects(bench.reconcile(name));
  const lines = reported();
  assert.deepEqual(
    lines.filter((line) => line.startsWith("App/")),
    [`App/${name} Warning ComposeResources: internal error, the team is informed`],
  );
  assert.equal(lines.filter((line) => line.startsWith("XApp/")).length, 2);
});

test("conditions said before or with the fatal count, others become unknown, nothing is applied", async () => {
  const name = await claimed();
  const db = { type: "Db", status: conditionTrue, reason: "Fine", target: forClaim };
  const image = { type: "Image", status: conditionTrue, reason: "Fine" };
  const app = { type: "App", status: conditionTrue, reason: "Fine" };
  want({ conditions: [db, image, app], resources: { a: configMap({}, { namespace: "default" }) }, ready: ["a"] });
  await bench.reconcile(name);
  const before = conditionsOf(await bench.read(name));
  want(
    {
      conditions: [{ ...image, status: conditionFalse, reason: "Gone" }],
      results: [{ severity: fatal, message: "boom" }],
      nothingDesired: true,
    },
    { conditions: [{ ...db, status: conditionFalse, reason: "Down" }] },
  );
  cluster.takeWrites();
  await assert.rejects(bench.reconcile(name));
  assert.deepEqual(cluster.takeWrites(), [`PUT /apis/platform.example.org/v1alpha1/xapps/${name}/status`]);
  const conditions = conditionsOf(await bench.read(name));
  const short = (type: string): unknown[] => {
    const { status, reason, lastTransitionTime } = conditionOf(conditions, type);
    return [status, reason, lastTransitionTime === conditionOf(before, type).lastTransitionTime];
  };
  assert.deepEqual(short("Db").slice(0, 2), ["False", "Down"]);
  assert.deepEqual(short("Image").slice(0, 2), ["False", "Gone"]);
  assert.deepEqual(short("App"), ["Unknown", "FatalError", true]);
  assert.deepEqual(short("Ready").slice(0, 2), ["True", "Available"]);
  // After recovery what is not said again stays unknown.
  want({ conditions: [db], resources: { a: configMap({}, { namespace: "default" }) }, ready: ["a"] });
  await bench.reconcile(name);
  assert.equal((await bench.condition(name, "App")).reason, "FatalError");
  assert.equal((await bench.condition(name, "Db")).status, "True");
});

test("a function that cannot be reached makes every condition of functions unknown", async () => {
  const name = await claimed();
  want({ conditions: [{ type: "Db", status: conditionTrue, reason: "Fine" }] });
  await bench.reconcile(name);
  bench.functions.set("second", () => {
    throw new Error('cannot run Function "second": rpc error');
  });
  await assert.rejects(bench.reconcile(name));
  assert.deepEqual(reported(), [
    `XApp/${name} Warning ComposeResources: cannot compose resources: cannot run Composition pipeline step "second": cannot run Function "second": rpc error`,
  ]);
  assert.equal((await bench.condition(name, "Db")).reason, "FatalError");
});

test("an event for both has the step on the XR and not on the claim", async () => {
  const name = await claimed();
  want({
    results: [
      { severity: normal, message: "hello", target: forClaim },
      { severity: normal, message: "quiet" },
    ],
  });
  await bench.reconcile(name);
  assert.deepEqual(reported(), [
    `XApp/${name} Normal ComposeResources: Pipeline step "second": hello`,
    `App/${name} Normal ComposeResources: hello`,
    `XApp/${name} Normal ComposeResources: Pipeline step "second": quiet`,
  ]);
});

test("types for the claim are listed in both fields, on success and on a fatal alike", async () => {
  const name = await claimed();
  const said = (type: string): JsonObject => ({ type, status: conditionTrue, reason: "R", target: forClaim });
  want({ conditions: [said("DatabaseReady"), said("ImageReady")], results: [{ severity: fatal, message: "boom" }] });
  await assert.rejects(bench.reconcile(name));
  const lists = async (): Promise<unknown[]> => {
    const status = memberAt(await bench.read(name), ["status"]) as JsonObject;
    return [status["claimConditions"], status["claimConditionTypes"]];
  };
  assert.deepEqual(await lists(), [
    ["DatabaseReady", "ImageReady"],
    ["DatabaseReady", "ImageReady"],
  ]);
  want({ conditions: [said("AppReady")] });
  await bench.reconcile(name);
  assert.deepEqual(await lists(), [
    ["DatabaseReady", "ImageReady", "AppReady"],
    ["DatabaseReady", "ImageReady", "AppReady"],
  ]);
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual(cluster.takeWrites(), []);
});

test("a function cannot put types there by its desired status", async () => {
  const name = await claimed();
  want({ status: { claimConditionTypes: ["Sneaky"], claimConditions: ["Sneaky"], url: "u" } });
  await bench.reconcile(name);
  const status = memberAt(await bench.read(name), ["status"]) as JsonObject;
  assert.deepEqual(
    [status["claimConditions"], status["claimConditionTypes"], status["url"]],
    [undefined, undefined, "u"],
  );
});

test("a fatal that repeats writes the status once", async () => {
  const name = await claimed();
  want({
    results: [{ severity: fatal, message: "boom" }],
    conditions: [{ type: "Db", status: conditionFalse, reason: "R" }],
  });
  await assert.rejects(bench.reconcile(name));
  cluster.takeWrites();
  await assert.rejects(bench.reconcile(name));
  assert.deepEqual(cluster.takeWrites(), []);
});

test("the status has the revisions that ran, also after a fatal result, when the flag is on", async () => {
  const flagged = createCompositeBench(
    cluster,
    await cluster.kube.get(kinds.definition, { name: modern.kind.definition }),
    {
      settings: { functionRevisions: true },
    },
  );
  flagged.functions.set("first", {});
  flagged.functions.set("second", {});
  await flagged.xr("flagged", { crossplane: { compositionRef: { name: "c-modern" } } });
  await flagged.reconcile("flagged");
  const revisions = async (): Promise<unknown> =>
    memberAt(await flagged.read("flagged"), ["status", "crossplane", "functionRevisions"]);
  assert.deepEqual(await revisions(), [
    { step: "first", functionRevision: "first-r1" },
    { step: "second", functionRevision: "second-r1" },
  ]);
  flagged.functions.set("first", { results: [{ severity: fatal, message: "boom" }] });
  await assert.rejects(flagged.reconcile("flagged"));
  assert.deepEqual(await revisions(), [{ step: "first", functionRevision: "first-r1" }]);
  flagged.functions.set("first", {});
  await flagged.reconcile("flagged");
  assert.equal(((await revisions()) as unknown[]).length, 2);
});
