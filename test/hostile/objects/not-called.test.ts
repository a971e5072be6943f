// SPDX-License-Identifier: Apache-2.0
// Versions of admission policies that this server does not evaluate: they must not be accepted silently.
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

test("memory stayed below the figure stated", () => {
  server.requireBoundedMemory();
});
