// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { manualClock } from "@purlin/base/testing";
import { fatal, respond } from "@purlin/composition/testing";
import type { RunStep } from "@purlin/function-runner";
import { createControllerEngine } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import type { RunRecord } from "@purlin/run-store";
import {
  condition,
  configMap,
  gate,
  isDone,
  map,
  operation,
  pipeline,
  type Scene,
  startScene,
} from "../../test/scene.ts";
import { operationControllers } from "../controllers.ts";
import { kinds } from "../names.ts";
import { createOperationController } from "./operation-controller.ts";

let scene: Scene;
const runs: RunRecord[] = [];

before(async () => {
  scene = await startScene();
  await scene.runOperations({ recordRun: (run) => runs.push(run) });
});
after(() => scene[Symbol.asyncDispose]());

const run = async (name: string, spec: JsonObject | undefined, metadata: JsonObject = {}): Promise<KubeObject> => {
  await scene.create(operation(name, spec, metadata));
  return scene.until(kinds.operation, name, isDone);
};
const eventsOf = (name: string): string[] =>
  scene.control.events.all
    .filter(({ object }) => object === `Operation/${name}`)
    .map(({ event }) => `${event.type} ${event.reason}: ${event.message}`);
const status = (object: KubeObject, field: string): unknown => memberAt(object, ["status", field]);

test("an Operation that succeeds has three conditions with its generation, outputs and applied resources", async () => {
  scene.functions.set("ok", { resources: { a: map("ok-a", { x: "1" }) }, output: { done: true } });
  const done = await run("ok", pipeline("ok"));
  assert.equal(condition(done, "Succeeded"), "True PipelineSuccess");
  assert.equal(condition(done, "ValidPipeline"), "True ValidPipeline");
  assert.equal(condition(done, "Synced"), "True ReconcileSuccess");
  assert.deepEqual(
    conditionsOf(done).map(({ observedGeneration }) => observedGeneration),
    [1, 1, 1],
  );
  assert.deepEqual(status(done, "pipeline"), [{ step: "ok", output: { done: true } }]);
  assert.deepEqual(status(done, "appliedResourceRefs"), [
    { apiVersion: "v1", kind: "ConfigMap", name: "ok-a", namespace: "default" },
  ]);
  const stored = await scene.get(configMap, "ok-a", "default");
  assert.deepEqual(
    stored?.metadata.managedFields?.map(({ manager }) => manager),
    [`ops.crossplane.io/operation/${done.metadata.uid}`],
  );
  assert.equal(stored?.metadata.ownerReferences, undefined);
});

test("an attempt is recorded with its steps and writes", async () => {
  const record = await eventually("the record", () => runs.find(({ xr }) => xr.metadata.name === "ok"));
  assert.deepEqual([record.outcome, record.cause, record.steps.length], ["composed", "attempt 1", 1]);
  assert.ok(record.writes.some(({ verb, kind }) => verb === "apply" && kind === "ConfigMap"));
});

test("an Operation that is done does not run again when it is edited", async () => {
  const calls = scene.functions.calls.length;
  const done = await scene.get(kinds.operation, "ok");
  await scene.control.users.patch(
    { ...kinds.operation, name: "ok" },
    { spec: { retryLimit: 7 }, metadata: { annotations: { a: "b" } } },
    { type: "merge" },
  );
  await run("after-edit", undefined);
  assert.equal(scene.functions.calls.length, calls);
  assert.deepEqual((await scene.get(kinds.operation, "ok"))?.["status"], done?.["status"]);
});

test("with a cache that does not know yet that the Operation is done, the first write is a conflict and no function is called", async () => {
  const stale = await scene.create(operation("stale", pipeline("ok")));
  await scene.until(kinds.operation, "stale", isDone);
  const calls = scene.functions.calls.length;
  const client = { ...scene.control.client, get: async () => stale };
  const { spec } = createOperationController({ ...scene.deps, client });
  await assert.rejects(Promise.resolve(spec.reconcile({ name: "stale" }, new AbortController().signal)), /modified/);
  assert.equal(scene.functions.calls.length, calls);
  assert.deepEqual(eventsOf("stale"), []);
});

for (const retryLimit of [0, -1]) {
  test(`a retry limit of ${retryLimit} fails without a call`, async () => {
    const name = `limit-${retryLimit + 1}`;
    const done = await run(name, { ...pipeline("never"), retryLimit });
    assert.equal(condition(done, "Succeeded"), `False PipelineError: failure limit of ${retryLimit} reached`);
    assert.equal(condition(done, "Synced"), "True ReconcileSuccess");
    assert.ok(!conditionsOf(done).some(({ type }) => type === "ValidPipeline"));
    assert.ok(!scene.functions.calls.some((call) => call.name === "never"));
  });
}

test("a fatal result counts as a failure; the limit ends it with the last cause", async () => {
  scene.functions.set("boom", { results: [{ severity: fatal, message: "boom" }] });
  const done = await run("boom", { ...pipeline("boom"), retryLimit: 2 });
  const text = 'pipeline step "boom" returned a fatal result: boom';
  assert.equal(status(done, "failures"), 2);
  assert.equal(condition(done, "Succeeded"), `False PipelineError: failure limit of 2 reached: ${text}`);
  assert.equal(condition(done, "Synced"), "True ReconcileSuccess");
  assert.deepEqual(eventsOf("boom"), [`Warning FunctionInvocation: ${text}`, `Warning FunctionInvocation: ${text}`]);
});

const revision = (name: string, capabilities: string[]): KubeObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "FunctionRevision",
  metadata: { name: `${name}-1`, labels: { "pkg.crossplane.io/package": name } },
  spec: { desiredState: "Active", image: "example.org/f:v1", revision: 1 },
  status: { capabilities } as never,
});

async function install(name: string, capabilities: string[]): Promise<void> {
  const stored = await scene.create(revision(name, capabilities));
  await scene.control.users.update({ ...stored, status: { capabilities } }, { subresource: "status" });
  scene.functions.set(name, {});
}

test("a function without the capability is not called", async () => {
  await install("composer", ["composition"]);
  const done = await run("incapable", { ...pipeline("composer"), retryLimit: 1 });
  const text = 'function "composer" (active revision "composer-1") is missing required capabilities: operation';
  assert.equal(condition(done, "ValidPipeline"), `False MissingCapabilities: ${text}`);
  assert.deepEqual(eventsOf("incapable"), [`Warning InvalidPipeline: function capability check failed: ${text}`]);
  assert.ok(!scene.functions.calls.some((call) => call.name === "composer"));
});

test("capabilities are compared without case and punctuation", async () => {
  await install("fuzzy", ["Oper-ation"]);
  assert.equal(condition(await run("fuzzy", pipeline("fuzzy")), "Succeeded"), "True PipelineSuccess");
});

test("a function that is not installed passes the check and fails the call", async () => {
  const done = await run("absent", { ...pipeline("absent"), retryLimit: 1 });
  assert.equal(condition(done, "ValidPipeline"), "True ValidPipeline");
  assert.match(condition(done, "Succeeded"), /failed to invoke pipeline step "absent": .*connection refused/);
});

test("an Operation without a spec succeeds and applies nothing", async () => {
  const done = await run("empty", undefined);
  assert.equal(condition(done, "Succeeded"), "True PipelineSuccess");
  assert.equal(status(done, "appliedResourceRefs"), undefined);
});

test("results are events; an unknown severity counts as a warning", async () => {
  const results = [
    { severity: 3, message: "hello", reason: "Ignored" },
    { severity: 2, message: "careful" },
    { severity: 0, message: "what" },
  ];
  scene.functions.set("talk", { results });
  await run("talk", pipeline("talk"));
  assert.deepEqual(eventsOf("talk"), [
    'Normal RunPipelineStep: Pipeline step "talk": hello',
    'Warning RunPipelineStep: Pipeline step "talk": careful',
    'Warning RunPipelineStep: Pipeline step "talk" returned a result of unknown severity (assuming warning): what',
  ]);
});

test("a step that returns no desired state drops that of the steps before it", async () => {
  scene.functions.set("first", { resources: { a: map("dropped") } });
  scene.functions.set("drop", { nothingDesired: true });
  await run("drop", pipeline("first", "drop"));
  assert.equal(await scene.get(configMap, "dropped", "default"), undefined);
});

test("outputs are listed in the order of steps, and a retry overwrites them", async () => {
  let calls = 0;
  scene.functions.set("one", (request) => respond(request, { output: { call: ++calls } }));
  scene.functions.set("two", (request) =>
    calls === 1
      ? respond(request, { output: { two: 1 }, results: [{ severity: fatal, message: "once" }] })
      : respond(request, { output: { two: calls } }),
  );
  const done = await run("outputs", pipeline("one", "two"));
  assert.deepEqual(status(done, "pipeline"), [
    { step: "one", output: { call: 2 } },
    { step: "two", output: { two: 2 } },
  ]);
});

test("outputs that are too large to be stored count as a failure, and the Operation ends", async () => {
  scene.functions.set("huge", { resources: { a: map("huge-a") }, output: { text: "too much" } });
  // The limit of a server, without megabytes.
  const allow = scene.control.failWhen(({ method, path, body }) => {
    const isOutput = method === "PUT" && path.endsWith("/huge/status") && JSON.stringify(body).includes("too much");
    return isOutput ? new Error("request entity too large") : undefined;
  });
  const done = await run("huge", { ...pipeline("huge"), retryLimit: 2 });
  allow();
  assert.equal(status(done, "failures"), 2);
  assert.match(
    condition(done, "Succeeded"),
    /^False PipelineError: failure limit of 2 reached: cannot update status of Operation: /,
  );
  assert.match(eventsOf("huge")[0] ?? "", /^Warning UpdateStatus: cannot update status of Operation: /);
});

test("what was applied before an invalid resource stays, and is listed", async () => {
  scene.functions.set("half", {
    resources: { a: map("half-a"), b: map("half-b", {}, { labels: { "not valid": "" } }) },
  });
  const done = await run("half", { ...pipeline("half"), retryLimit: 1 });
  assert.match(condition(done, "Succeeded"), /cannot apply desired resource: .*not valid/);
  assert.match(eventsOf("half")[0] ?? "", /^Warning InvalidResource: cannot apply desired resource: /);
  assert.deepEqual(status(done, "appliedResourceRefs"), [
    { apiVersion: "v1", kind: "ConfigMap", name: "half-a", namespace: "default" },
  ]);
});

test("a namespaced resource without a namespace says which field is missing", async () => {
  scene.functions.set("bare", {
    resources: { a: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "bare" } } },
  });
  const done = await run("bare", { ...pipeline("bare"), retryLimit: 1 });
  assert.match(
    condition(done, "Succeeded"),
    /ConfigMap is namespaced, and the function set no namespace: set its metadata.namespace/,
  );
});

test("a resource that is not an object of Kubernetes is refused by its name", async () => {
  scene.functions.set("odd", { resources: { odd: { apiVersion: "v1", kind: "ConfigMap", metadata: {} } } });
  const done = await run("odd", { ...pipeline("odd"), retryLimit: 1 });
  assert.match(
    condition(done, "Succeeded"),
    /cannot load desired resource "odd" from protobuf struct: metadata.name is missing/,
  );
});

test("fields of another manager are taken over", async () => {
  await scene.control.users.apply(map("taken", { x: "theirs" }) as KubeObject, { fieldManager: "them" });
  scene.functions.set("take", { resources: { a: map("taken", { x: "ours" }) } });
  const done = await run("take", pipeline("take"));
  const stored = await scene.get(configMap, "taken", "default");
  assert.deepEqual(stored?.["data"], { x: "ours" });
  const managers = stored?.metadata.managedFields?.map(({ manager }) => manager);
  assert.ok(managers?.includes(`ops.crossplane.io/operation/${done.metadata.uid}`));
});

test("an object that has every desired value is not written", async () => {
  const wanted = { apiVersion: "v1", kind: "Service", metadata: { name: "equal", namespace: "default" } };
  const spec = { ports: [{ port: 80 }], selector: { app: "a" } };
  const stored = await scene.create({ ...wanted, spec } as KubeObject);
  // The server added a protocol and a target to the port: only it knows that the list is the same.
  scene.functions.set("equal", { resources: { a: { ...wanted, spec }, b: map("equal-map", { x: "1" }) } });
  await scene.create(map("equal-map", { x: "1", y: "2" }) as KubeObject);
  const before = await scene.get(configMap, "equal-map", "default");
  const done = await run("equal", pipeline("equal"));
  const service = await scene.get({ apiVersion: "v1", kind: "Service" }, "equal", "default");
  assert.equal(service?.metadata.resourceVersion, stored.metadata.resourceVersion);
  assert.deepEqual(await scene.get(configMap, "equal-map", "default"), before);
  assert.equal((status(done, "appliedResourceRefs") as unknown[]).length, 2);
});

test("a Secret that has the desired stringData already is not written", async () => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "text", namespace: "default" } };
  const stored = await scene.create({ ...secret, data: { password: "cGxhaW4=" } } as KubeObject);
  scene.functions.set("text", { resources: { a: { ...secret, stringData: { password: "plain" } } } });
  assert.equal(condition(await run("text", pipeline("text")), "Succeeded"), "True PipelineSuccess");
  const after = await scene.get({ apiVersion: "v1", kind: "Secret" }, "text", "default");
  assert.equal(after?.metadata.resourceVersion, stored.metadata.resourceVersion);
});

test("a server that refuses dry runs does not keep an Operation from its write", async () => {
  await scene.create(map("undry", { x: "1" }) as KubeObject);
  scene.functions.set("undry", { resources: { a: map("undry", { x: "2" }) } });
  const allow = scene.control.failWhen(({ method, path, query }) => {
    const isDryRun = JSON.stringify(query ?? {}).includes("dryRun");
    return method === "PATCH" && path.endsWith("/undry") && isDryRun ? new Error("no dry run") : undefined;
  });
  assert.equal(condition(await run("undry", pipeline("undry")), "Succeeded"), "True PipelineSuccess");
  allow();
  assert.deepEqual((await scene.get(configMap, "undry", "default"))?.["data"], { x: "2" });
});

test("applied resources are listed once, sorted", async () => {
  const resources = { z: map("ref-b"), y: map("ref-a"), x: map("ref-a") };
  scene.functions.set("refs", { resources });
  const done = await run("refs", pipeline("refs"));
  assert.deepEqual(
    (status(done, "appliedResourceRefs") as { name: string }[]).map(({ name }) => name),
    ["ref-a", "ref-b"],
  );
});

test("a credential that cannot be read fails the attempt", async () => {
  const credentials = [{ name: "c", source: "Secret", secretRef: { namespace: "default", name: "missing" } }];
  const step = { step: "ok", functionRef: { name: "ok" }, credentials };
  const done = await run("credential", { ...pipeline(step), retryLimit: 1 });
  assert.match(
    eventsOf("credential")[0] ?? "",
    /^Warning FunctionInvocation: cannot get operation pipeline step "ok" credential "c" from Secret: /,
  );
  assert.match(condition(done, "Succeeded"), /credential "c"/);
});

test("a requirement that cannot be read fails the attempt", async () => {
  const requirements = {
    requiredResources: [{ requirementName: "r", apiVersion: "nope.example.org/v1", kind: "Nope" }],
  };
  const step = { step: "ok", functionRef: { name: "ok" }, requirements };
  await run("bootstrap", { ...pipeline(step), retryLimit: 1 });
  assert.match(
    eventsOf("bootstrap")[0] ?? "",
    /^Warning BootstrapRequirements: cannot fetch bootstrap required resources for requirement "r": /,
  );
});

test("a paused Operation waits until it is unpaused", async () => {
  scene.functions.set("waited", {});
  await scene.create(operation("paused", pipeline("waited"), { annotations: { "crossplane.io/paused": "true" } }));
  const paused = await scene.until(kinds.operation, "paused", (one) => condition(one, "Synced").includes("Paused"));
  assert.match(condition(paused, "Synced"), /^False ReconcilePaused/);
  assert.ok(!scene.functions.calls.some(({ name }) => name === "waited"));
  const unpaused = { metadata: { annotations: { "crossplane.io/paused": null } } };
  await scene.control.users.patch({ ...kinds.operation, name: "paused" }, unpaused, { type: "merge" });
  const done = await scene.until(kinds.operation, "paused", isDone);
  assert.equal(condition(done, "Synced"), "True ReconcileSuccess");
});

test("a pause of an Operation that is done changes nothing", async () => {
  scene.functions.set("before-pause", {});
  await scene.create(operation("paused-late", pipeline("before-pause")));
  const done = await scene.until(kinds.operation, "paused-late", isDone);
  const target = { ...kinds.operation, name: "paused-late" };
  await scene.control.users.patch(
    target,
    { metadata: { annotations: { "crossplane.io/paused": "true" } } },
    { type: "merge" },
  );
  await scene.create(operation("paused-after", pipeline("before-pause")));
  await scene.until(kinds.operation, "paused-after", isDone);
  const after = await scene.until(kinds.operation, "paused-late", () => true);
  assert.deepEqual(after["status"], done["status"]);
});

test("functions get the name of their Operation, its scheduled time and the attempt", async () => {
  const seen: unknown[] = [];
  scene.functions.set("context", (request) => {
    seen.push(request.context?.value["purlin.dev/operation"]);
    const results = seen.length === 1 ? [{ severity: fatal, message: "again" }] : [];
    return respond(request, { results });
  });
  const metadata = { annotations: { "purlin.dev/scheduled-time": "2026-01-01T00:00:00Z" } };
  const {
    metadata: { uid },
  } = await run("context", pipeline("context"), metadata);
  const facts = { name: "context", uid, scheduledTime: "2026-01-01T00:00:00Z" };
  assert.deepEqual(seen, [
    { ...facts, attempt: 1 },
    { ...facts, attempt: 2 },
  ]);
  const request = scene.functions.calls.find(({ name }) => name === "context")?.request;
  assert.equal(request?.observed, undefined);
  assert.deepEqual(request?.meta?.capabilities, [1, 2, 3, 4, 5]);
});

test("an Operation that is deleted while it runs applies nothing", async () => {
  const held = gate((request) => respond(request, { resources: { a: map("aborted") } }));
  scene.functions.set("held", held.run);
  await scene.create(operation("deleted", pipeline("held")));
  await held.called;
  await scene.control.users.delete({ ...kinds.operation, name: "deleted" });
  const isRecorded = () => runs.some(({ xr, outcome }) => xr.metadata.name === "deleted" && outcome === "failed");
  await eventually(
    "the cache sees the deletion",
    async () => (await scene.control.client.get(kinds.operation, { name: "deleted" })) === undefined,
  );
  held.release();
  await eventually("the end of the attempt", isRecorded);
  assert.equal(await scene.get(configMap, "aborted", "default"), undefined);
});

test("an edit while the pipeline runs does not make it run again", async () => {
  const held = gate((request) => respond(request));
  scene.functions.set("edited", held.run);
  await scene.create(operation("edited", pipeline("edited")));
  await held.called;
  await scene.control.users.patch(
    { ...kinds.operation, name: "edited" },
    { metadata: { labels: { a: "b" } } },
    { type: "merge" },
  );
  held.release();
  const done = await scene.until(kinds.operation, "edited", isDone);
  assert.equal(condition(done, "Succeeded"), "True PipelineSuccess");
  assert.equal(scene.functions.calls.filter(({ name }) => name === "edited").length, 1);
});

test("a function that hangs counts as a failure, and the text names the deadline", async () => {
  const uncached: unknown[] = [];
  const hanging: RunStep = (_reference, _request, { signal, uncached: isUncached }) =>
    new Promise((_resolve, reject) => {
      uncached.push(isUncached);
      const end = (): void => reject(new Error("no response"));
      if (signal?.aborted) end();
      else signal?.addEventListener("abort", end);
    });
  await using other = await startScene();
  await other.runOperations({ runStep: hanging, deadlineMs: 1000 });
  await other.create(operation("hangs", { ...pipeline("slow"), retryLimit: 2 }));
  const done = await other.until(kinds.operation, "hangs", isDone);
  assert.equal(status(done, "failures"), 2);
  const cause = 'failed to invoke pipeline step "slow": no response: timed out after 1s';
  assert.equal(condition(done, "Succeeded"), `False PipelineError: failure limit of 2 reached: ${cause}`);
  assert.deepEqual(uncached, [true, true], "no Operation is answered with the response to another one");
});

for (const { retryLimit, attempts, finalMs } of [
  { retryLimit: 2, attempts: [0, 1000], finalMs: 3000 },
  // No limit in the object: five failures.
  { retryLimit: undefined, attempts: [0, 1000, 3000, 7000, 15_000], finalMs: 31_000 },
]) {
  test(`the attempts of an Operation that fails wait twice as long each time, with a limit of ${retryLimit}`, async () => {
    const clock = manualClock(Date.parse("2026-01-01T00:00:00Z"));
    const startedAt = clock.now();
    await using other = await startScene(clock);
    const { informers, client, events } = other.control;
    await using stack = new AsyncDisposableStack();
    const engine = stack.adopt(createControllerEngine({ informers, clock, resyncMs: 0 }), (one) => one.close());
    const called: number[] = [];
    other.functions.set("boom", (request) => {
      called.push(clock.now() - startedAt);
      return respond(request, { results: [{ severity: fatal, message: "boom" }] });
    });
    const { spec, watches } = createOperationController({ ...other.deps, client, events });
    engine.start(spec);
    await engine.startWatches(spec.name, watches);
    await other.create(operation("slow", { ...pipeline("boom"), ...(retryLimit !== undefined && { retryLimit }) }));
    for (const [index] of attempts.entries()) {
      const delayMs = 1000 * 2 ** index;
      await eventually(`retry ${index + 1} is planned`, () => clock.delays.includes(delayMs));
      clock.advance(delayMs - 1);
      // Were it due, it would be called in this turn or the next ones.
      await setTimeout(20);
      assert.equal(called.length, index + 1, `${delayMs - 1} ms after attempt ${index + 1}`);
      assert.equal(isDone((await other.get(kinds.operation, "slow")) ?? operation("slow", {})), false);
      clock.advance(1);
    }
    const done = await other.until(kinds.operation, "slow", isDone);
    assert.deepEqual(called, attempts);
    assert.equal(clock.now() - startedAt, finalMs);
    assert.equal(status(done, "failures"), attempts.length);
    assert.equal(condition(done, "Synced"), "True ReconcileSuccess");
    const cause = 'pipeline step "boom" returned a fatal result: boom';
    const text = `failure limit of ${attempts.length} reached: ${cause}`;
    assert.equal(condition(done, "Succeeded"), `False PipelineError: ${text}`);
    assert.deepEqual(clock.delays, [], "nothing is planned");
  });
}

test("a WatchOperation can be deleted after the feature was disabled", async () => {
  await using other = await startScene();
  const finalizers = ["watchoperation.ops.crossplane.io", "example.org/kept"];
  const spec = {
    watch: { apiVersion: "v1", kind: "ConfigMap" },
    operationTemplate: { spec: pipeline("ok") },
  };
  const made = (name: string): KubeObject => ({ ...kinds.watch, metadata: { name, finalizers }, spec }) as KubeObject;
  await other.create(made("deleted-before"));
  await other.control.users.delete({ ...kinds.watch, name: "deleted-before" });
  for (const controller of operationControllers({ ...other.deps, enabled: false })) await other.control.run(controller);
  await other.create(made("deleted-after"));
  await other.control.users.delete({ ...kinds.watch, name: "deleted-after" });
  for (const name of ["deleted-before", "deleted-after"]) {
    await other.until(kinds.watch, name, ({ metadata }) => metadata.finalizers?.join() === "example.org/kept");
  }
});

test("a disabled feature says which flag enables it", async () => {
  await using other = await startScene();
  for (const controller of operationControllers({ ...other.deps, enabled: false })) await other.control.run(controller);
  await other.create(operation("ignored", pipeline("ok")));
  await eventually("the event", () =>
    other.control.events
      .texts()
      .includes("Warning FeatureDisabled: nothing runs this Operation: start with --enable-operations"),
  );
});
