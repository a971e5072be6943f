// SPDX-License-Identifier: Apache-2.0
// Objects that would make a Kubernetes API server call another program. This one calls none of them, so it must not accept them silently:
// what programs register when they start is accepted with a warning, everything else is refused.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { send, type WireResponse } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

const json = { "content-type": "application/json" };
const call = (method: string, path: string, body?: JsonObject, type?: string): Promise<WireResponse> =>
  send(server.target, {
    method,
    path,
    headers: type === undefined ? json : { "content-type": type },
    body: body && JSON.stringify(body),
  });
const warningsOf = ({ headers }: WireResponse): string => String(headers["warning"] ?? "");

const url = "https://127.0.0.1:1/never";

const registration = "/apis/admissionregistration.k8s.io";
const notEvaluated =
  "this API server does not evaluate mutating admission policies: the object is stored and has no effect";

test("a MutatingAdmissionPolicyBinding is accepted with a warning: nothing evaluates it", async () => {
  const response = await call("POST", `${registration}/v1/mutatingadmissionpolicybindings`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name: "b" },
    spec: { policyName: "p" },
  });
  assert.deepEqual([response.code, warningsOf(response)], [201, `299 - "${notEvaluated}"`], response.text);
});

for (const version of ["v1beta1", "v1alpha1"]) {
  test(`policies of ${version} are not served`, async () => {
    const response = await call("GET", `${registration}/${version}/mutatingadmissionpolicies`);
    assert.equal(response.code, 404, response.text);
  });
}

test("an APIService with a backend is refused: no other server is asked", async () => {
  const response = await call("POST", "/apis/apiregistration.k8s.io/v1/apiservices", {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v1.other.example.com" },
    spec: { group: "other.example.com", version: "v1", service: { name: "s", namespace: "default" } },
  });
  assert.equal(response.code, 405, response.text);
});

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const webhook = {
  strategy: "Webhook",
  webhook: { clientConfig: { url }, conversionReviewVersions: ["v1"] },
};

function crd(plural: string, conversion?: JsonObject): JsonObject {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const version = (name: string, storage: boolean): JsonObject => ({ name, served: true, storage, schema });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.test.example.com` },
    spec: {
      group: "test.example.com",
      names: { plural, kind: plural.toUpperCase() },
      scope: "Namespaced",
      versions: [version("v1", true), version("v2", false)],
      ...(conversion && { conversion }),
    },
  };
}

const notConverted = /spec\.conversion\.strategy: Webhook: this API server does not call conversion webhooks/;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** The condition of a CRD, as soon as it has the wanted status. */
async function conversionCondition(plural: string, wanted: string | undefined): Promise<Condition | undefined> {
  for (let tries = 0; ; tries++) {
    const { body } = await call("GET", `${crds}/${plural}.test.example.com`);
    const conditions = (body as { status?: { conditions?: Condition[] } }).status?.conditions ?? [];
    const found = conditions.find(({ type }) => type === "ConversionWebhookCalled");
    const isReady = conditions.some(({ type, status }) => type === "Established" && status === "True");
    if ((isReady && found?.status === wanted) || tries > 200) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("a CRD with a conversion webhook is accepted with a warning, and says that the webhook is not called", async () => {
  const response = await call("POST", crds, crd("hooked", webhook));
  assert.equal(response.code, 201, response.text);
  assert.match(warningsOf(response), notConverted);
  const found = await conversionCondition("hooked", "False");
  assert.equal(found?.reason, "NotSupported");
  assert.match(
    found?.message ?? "",
    /does not call conversion webhooks: .*use the strategy None, or serve one version$/,
  );
});

test("its objects are served in each version as they were stored", async () => {
  const object = { apiVersion: "test.example.com/v1", kind: "HOOKED", metadata: { name: "o" }, spec: { a: 1 } };
  const created = await call("POST", "/apis/test.example.com/v1/namespaces/default/hooked", object);
  assert.equal(created.code, 201, created.text);
  const { body } = await call("GET", "/apis/test.example.com/v2/namespaces/default/hooked/o");
  const { apiVersion, spec } = body as unknown as { apiVersion: string; spec: JsonObject };
  assert.deepEqual([apiVersion, spec], ["test.example.com/v2", { a: 1 }]);
});

test("the condition goes when the CRD wants no webhook any more, and comes when it wants one again", async () => {
  const strategy = { spec: { conversion: { strategy: "None", webhook: null } } };
  const merge = "application/merge-patch+json";
  const none = await call("PATCH", `${crds}/hooked.test.example.com`, strategy, merge);
  assert.deepEqual([none.code, warningsOf(none)], [200, ""], none.text);
  assert.equal(await conversionCondition("hooked", undefined), undefined);
  const again = await call("PATCH", `${crds}/hooked.test.example.com`, { spec: { conversion: webhook } }, merge);
  assert.match(warningsOf(again), notConverted);
  assert.equal((await conversionCondition("hooked", "False"))?.status, "False");
});

test("a CRD without a conversion webhook needs no warning and gets no condition", async () => {
  const response = await call("POST", crds, crd("plain"));
  assert.deepEqual([response.code, warningsOf(response)], [201, ""]);
  assert.equal(await conversionCondition("plain", undefined), undefined);
});
