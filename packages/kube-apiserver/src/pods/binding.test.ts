// SPDX-License-Identifier: Apache-2.0
// Assignments of Pods to nodes, without a server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Status, StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze, memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { answerValue, podRequest, storeOf } from "../../test/test-server.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import type { RestRequest } from "../rest/rest-context.ts";
import { podResources } from "./pod-resources.ts";

const key = "//pods/default/web";
const subresource = "/api/v1/namespaces/default/pods/web/binding";
const collection = "/api/v1/namespaces/default/bindings";
const now = "2030-01-02T03:04:05Z";

const pod: JsonObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default", resourceVersion: "1" },
  spec: { containers: [] },
  status: { phase: "Pending" },
};
const binding = (target: JsonObject = { kind: "Node", name: "n1" }, metadata: JsonObject = {}): JsonObject => ({
  metadata: { name: "web", ...metadata },
  target,
});

const [, bindingOf] = podResources({ send: () => assert.fail("a binding sends no request") });
const bind = (rest: RestRequest): Promise<CompleteResponse> | undefined =>
  bindingOf?.(rest) as Promise<CompleteResponse> | undefined;

interface Bound {
  readonly answer: JsonObject | Status;
  /** The Pod after the request; empty when there is none. */
  readonly stored: JsonObject;
}

async function bound(url: string, body: JsonObject, before: JsonObject = pod): Promise<Bound> {
  await using store = await storeOf({ [key]: deepFreeze(before) });
  const stored = (): JsonObject => store.get(key)?.value ?? {};
  try {
    return { answer: answerValue(await bind(podRequest(store, url, body))) as JsonObject, stored: stored() };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { answer: error.status, stored: stored() };
  }
}

const success = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
const scheduled = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: now };

for (const url of [subresource, collection]) {
  test(`a Pod is assigned to a node by POST ${url}`, async () => {
    const { answer, stored } = await bound(url, binding());
    assert.deepEqual(answer, success);
    assert.deepEqual(stored["spec"], { containers: [], nodeName: "n1" });
    assert.deepEqual(stored["status"], { phase: "Pending", conditions: [scheduled] });
    assert.notEqual(stringAt(stored, ["metadata", "resourceVersion"]), "1");
  });
}

test("the kind of the target may be empty", async () => {
  const { stored } = await bound(subresource, binding({ name: "n1" }));
  assert.equal(stringAt(stored, ["spec", "nodeName"]), "n1");
});

test("the condition PodScheduled is set in its place and keeps its time when its status stays", async () => {
  const other = { type: "Initialized", status: "True" };
  const since = "2029-01-01T00:00:00Z";
  for (const [status, lastTransitionTime] of [
    ["False", now],
    ["True", since],
  ] as const) {
    const conditions = [{ type: "PodScheduled", status, reason: "Unschedulable", lastTransitionTime: since }, other];
    const { stored } = await bound(subresource, binding(), { ...pod, status: { conditions } });
    assert.deepEqual(stored["status"], { conditions: [{ ...scheduled, lastTransitionTime }, other] });
  }
});

test("annotations of the Binding are added to those of the Pod", async () => {
  const before = { ...pod, metadata: { name: "web", namespace: "default", annotations: { a: "1", b: "2" } } };
  const { stored } = await bound(subresource, binding(undefined, { annotations: { b: "3", c: "4" } }), before);
  assert.deepEqual(memberAt(stored, ["metadata", "annotations"]), { a: "1", b: "3", c: "4" });
  for (const annotations of [{}, null]) {
    const plain = await bound(subresource, binding(undefined, { annotations }));
    assert.equal(Object.hasOwn(objectAt(plain.stored, ["metadata"]), "annotations"), false);
  }
});

test("labels of the Binding are added to those of the Pod, and the Pod is no longer nominated", async () => {
  const before = {
    ...pod,
    metadata: { name: "web", labels: { a: "1", b: "2" } },
    status: { phase: "Pending", nominatedNodeName: "n0" },
  };
  const { stored } = await bound(subresource, binding(undefined, { labels: { b: "3", c: "4" } }), before);
  assert.deepEqual(memberAt(stored, ["metadata", "labels"]), { a: "1", b: "3", c: "4" });
  assert.deepEqual(stored["status"], { phase: "Pending", conditions: [scheduled] });
});

test("a Pod gets the zone and the region of its node from its binding, not from the old collection", async () => {
  const zone = { "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r" };
  const node = { metadata: { name: "n1", labels: { ...zone, "kubernetes.io/os": "linux" } } };
  const labels = { "topology.kubernetes.io/zone": "other", a: "b" };
  for (const [url, target, want] of [
    [subresource, { kind: "Node", name: "n1" }, { ...zone, a: "b" }],
    [subresource, { name: "n1" }, labels],
    [subresource, { kind: "Node", name: "n2" }, labels],
    [collection, { kind: "Node", name: "n1" }, labels],
  ] as const) {
    await using store = await storeOf({ [key]: pod, "//nodes/n1": node });
    await bind(podRequest(store, url, binding(target, { labels })));
    assert.deepEqual(memberAt(store.get(key)?.value ?? {}, ["metadata", "labels"]), want);
  }
});

test("the uid and the resourceVersion of a Binding are those of its Pod", async () => {
  const before = { ...pod, metadata: { name: "web", namespace: "default", uid: "u1", resourceVersion: "7" } };
  const text = (member: string, given: string, own: string): string =>
    'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, Key: /registry/pods/default/web, ' +
    `ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${member} in precondition: ${given}, ${member} in object meta: ${own}`;
  const answerOf = async (metadata: JsonObject): Promise<unknown> =>
    (await bound(subresource, binding(undefined, metadata), before)).answer;
  assert.deepEqual(await answerOf({ uid: "u1", resourceVersion: "7" }), success);
  assert.equal(memberAt((await answerOf({ uid: "u2" })) as JsonObject, ["message"]), text("UID", "u2", "u1"));
  const other = await answerOf({ uid: "u1", resourceVersion: "6" });
  assert.equal(memberAt(other as JsonObject, ["message"]), text("ResourceVersion", "6", "7"));
});

test("a dry run assigns nothing", async () => {
  assert.deepEqual(await bound(`${subresource}?dryRun=All`, binding()), { answer: success, stored: pod });
});

interface Refusal {
  readonly url?: string;
  readonly body?: JsonObject;
  readonly before?: JsonObject;
  readonly want: string;
}

const conflictText = (why: string): string => `409 Operation cannot be fulfilled on pods/binding "web": ${why}`;

const refusals: Readonly<Record<string, Refusal>> = {
  "the name is not that of the URL": {
    body: binding(undefined, { name: "db" }),
    want: "400 name in URL does not match name in Binding object",
  },
  "the Binding has no name": {
    body: { target: { name: "n1" } },
    want: "400 name in URL does not match name in Binding object",
  },
  "the target is not a Node": {
    body: binding({ kind: "Pod", name: "n1" }),
    want: '500 target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
  },
  "the target has no name": { body: binding({ kind: "Node" }), want: "500 target.name: Required value" },
  "the target has another kind and no name": {
    body: binding({ kind: "Pod" }),
    want: '500 [target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]',
  },
  "the Pod does not exist": {
    url: collection,
    body: binding(undefined, { name: "db" }),
    want: '404 pods "db" not found',
  },
  "the Pod is being deleted": {
    before: { ...pod, metadata: { name: "web", deletionTimestamp: now } },
    want: conflictText("pod web is being deleted, cannot be assigned to a host"),
  },
  "the Pod has a node": {
    before: { ...pod, spec: { nodeName: "n0" } },
    want: conflictText('pod web is already assigned to node "n0"'),
  },
  "the Pod has the same node": {
    before: { ...pod, spec: { nodeName: "n1" } },
    want: conflictText('pod web is already assigned to node "n1"'),
  },
  "the Pod has scheduling gates": {
    before: { ...pod, spec: { schedulingGates: [{ name: "wait" }] } },
    want: conflictText("pod web has non-empty .spec.schedulingGates"),
  },
};
for (const [name, { url = subresource, body = binding(), before = pod, want }] of Object.entries(refusals)) {
  test(`a binding is refused: ${name}`, async () => {
    const { answer, stored } = await bound(url, body, before);
    assert.equal(`${(answer as Status).code} ${(answer as Status).message}`, want);
    assert.equal(stored["spec"], before["spec"], "the Pod is unchanged");
  });
}

test("the dry run of a binding that conflicts is refused", async () => {
  const { answer } = await bound(`${subresource}?dryRun=All`, binding(), { ...pod, spec: { nodeName: "n0" } });
  assert.equal((answer as Status).code, 409);
});

test("other requests are left to other resources", async () => {
  await using store = await storeOf({});
  const [evictionOf] = podResources({ send: () => assert.fail("no request is sent") });
  const pods = podRequest(store, "/api/v1/namespaces/default/pods/web/status", {});
  assert.equal(bind(pods), undefined);
  assert.equal(evictionOf?.(pods), undefined);
  const read = podRequest(store, subresource, {});
  assert.equal(bind({ ...read, target: { ...read.target, verb: "get" } }), undefined);
  assert.equal(bind({ ...read, type: { ...read.type, group: "example.org" } }), undefined);
  const eviction = podRequest(store, "/api/v1/namespaces/default/pods/web/eviction", {});
  assert.equal(bind(eviction), undefined);
  assert.equal(evictionOf?.({ ...eviction, type: { ...eviction.type, group: "example.org" } }), undefined);
});
