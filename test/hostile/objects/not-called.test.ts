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

const registration = "/apis/admissionregistration.k8s.io";
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
