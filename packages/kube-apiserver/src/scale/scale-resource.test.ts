// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { answerValue, definitionsPath, widgetCrd } from "../../test/test-server.ts";

const widgets = "/apis/example.org/v1/namespaces/default/widgets";
const deployments = "/apis/apps/v1/namespaces/default/deployments";

async function setUp(t: TestContext): Promise<TestServer> {
  const server = await startTestServer();
  t.after(() => server[Symbol.asyncDispose]());
  await server.post(definitionsPath, widgetCrd);
  await server.until(widgets, ({ code }) => code === 200);
  return server;
}

const widget = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: "example.org/v1",
  kind: "Widget",
  metadata: { name },
  spec,
});
const deployment = (name: string): JsonObject => ({
  metadata: { name },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "main" }] } },
  },
});
const scale = (replicas: JsonValue, more: JsonObject = {}): JsonObject => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name: "a" },
  spec: { replicas },
  ...more,
});

interface Refusal {
  readonly path: string;
  readonly method: "GET" | "PUT" | "merge" | "apply";
  readonly body?: JsonObject;
  readonly want: string;
  readonly reason: string;
}

const types: Readonly<Record<string, string>> = {
  merge: "application/merge-patch+json",
  apply: "application/apply-patch+yaml",
};

const refusals: Readonly<Record<string, Refusal>> = {
  NoReplicas: {
    reason: "there is no count to show",
    path: `${widgets}/none/scale`,
    method: "GET",
    want: '500 Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
  },
  StillNoReplicas: {
    reason: "a change of such a Scale must set the count",
    path: `${widgets}/none/scale`,
    method: "merge",
    body: {},
    want: '400 the spec replicas field ".spec.replicas" cannot be empty',
  },
  Negative: {
    reason: "a custom object says itself what is wrong with it",
    path: `${widgets}/a/scale`,
    method: "PUT",
    body: scale(-1),
    want: '422 Widget.example.org "a" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer',
  },
  NegativeBuiltin: {
    reason: "of a built-in object its Scale does",
    path: `${deployments}/a/scale`,
    method: "PUT",
    body: scale(-1),
    want: '422 Scale.autoscaling "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
  },
  Mistyped: {
    reason: "the reference has no words for it",
    path: `${widgets}/a/scale`,
    method: "PUT",
    body: scale("x"),
    want: '400 no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"',
  },
  OtherName: {
    reason: "a Scale is that of its object",
    path: `${deployments}/a/scale`,
    method: "merge",
    body: { metadata: { name: "b" } },
    want: "400 the name of the object (b) does not match the name on the URL (a)",
  },
  OtherUid: {
    reason: "and of no other of its name",
    path: `${deployments}/a/scale`,
    method: "merge",
    body: { metadata: { uid: "b" } },
    want: '409 Operation cannot be fulfilled on deployments/scale.apps "a": Precondition failed: UID in precondition: b, UID in object meta: UID',
  },
  Applied: {
    reason: "nothing can be applied to the Scale of a custom object with managers",
    path: `${widgets}/a/scale?fieldManager=m&force=true`,
    method: "apply",
    body: scale(3),
    want: "500 failed to convert new object (/a; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1",
  },
  AppliedToNobodys: {
    reason: "nor to one without",
    path: `${widgets}/none/scale?fieldManager=m&force=true`,
    method: "apply",
    body: scale(3, { metadata: { name: "none" } }),
    want: "500 failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1",
  },
};

test("scales that are refused", async (t) => {
  const server = await setUp(t);
  await server.post(widgets, widget("a", { replicas: 1 }));
  await server.post(widgets, widget("none", {}));
  await server.post(deployments, deployment("a"));
  for (const [name, { path, method, body, want, reason }] of Object.entries(refusals)) {
    await t.test(name, async () => {
      const type = types[method];
      const response = await server.send(path, {
        method: type === undefined ? method : "PATCH",
        ...(type !== undefined && { headers: { "content-type": type } }),
        ...(body !== undefined && { body }),
      });
      const { message } = answerValue(response) as { readonly message: string };
      const shown = message.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UID");
      assert.equal(`${response.code} ${shown}`, want, reason);
    });
  }
});

test("a scale gives its object replicas, and the object its owner", async (t) => {
  const server = await setUp(t);
  await server.post(widgets, widget("a", { replicas: 1 }));
  const put = await server.body(`${widgets}/a/scale?fieldManager=putter`, { method: "PUT", body: scale(3) });
  assert.deepEqual([put["kind"], put["spec"]], ["Scale", { replicas: 3 }]);
  const { metadata, spec } = await server.body(`${widgets}/a`);
  assert.deepEqual(spec, { color: "red", replicas: 3 });
  const owners = (metadata as { managedFields?: JsonObject[] }).managedFields ?? [];
  const scaled = owners.find((entry) => entry["subresource"] === "scale");
  assert.deepEqual(
    [scaled?.["manager"], scaled?.["apiVersion"], scaled?.["fieldsV1"]],
    ["putter", "example.org/v1", { "f:spec": { "f:replicas": {} } }],
  );
});

test("an unknown field of a scale is a warning, or an error when strict", async (t) => {
  const server = await setUp(t);
  await server.post(deployments, deployment("a"));
  const body = scale(2, { nope: 1 });
  const lenient = await server.send(`${deployments}/a/scale`, { method: "PUT", body });
  assert.deepEqual([lenient.code, lenient.warnings], [200, ['unknown field "nope"']]);
  const refused = await server.send(`${deployments}/a/scale?fieldValidation=Strict`, { method: "PUT", body });
  assert.match(
    (answerValue(refused) as { readonly message: string }).message,
    /strict decoding error: unknown field "nope"$/,
  );
});
