// SPDX-License-Identifier: Apache-2.0
// Replacing objects end to end: what has to agree with the path and with what is there, and what a PUT may make.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, definitionsPath, widgetCrd } from "../../test/test-server.ts";
import type { CompleteResponse } from "../request/api-request.ts";

const widgets = "/apis/example.org/v1/namespaces/default/widgets";
const configMaps = "/api/v1/namespaces/default/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const uid = "01234567-89ab-cdef-0123-456789abcdef";

let server: TestServer;
before(async () => {
  server = await startTestServer();
  await server.post(definitionsPath, widgetCrd);
  await server.until(widgets, ({ code }) => code === 200);
  await server.post(configMaps, { metadata: { name: "x" }, data: { a: "1" } });
  await server.post(widgets, { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "x" }, spec: {} });
});
after(() => server[Symbol.asyncDispose]());

const put = async (url: string, body: JsonObject): Promise<CompleteResponse> =>
  (await server.send(url, { method: "PUT", body })) as CompleteResponse;
const objectOf = (response: CompleteResponse): JsonObject => answerValue(response) as JsonObject;
const metaOf = (object: JsonObject): JsonObject => object["metadata"] as JsonObject;
const widget = (metadata: JsonObject): JsonObject => ({ apiVersion: "example.org/v1", kind: "Widget", metadata });

const refusals: Record<string, { reason: string; url: string; body: JsonObject; code: number; text: RegExp }> = {
  NoName: {
    reason: "the path names the resource, the body the object",
    url: `${configMaps}/x`,
    body: { metadata: {} },
    code: 400,
    text: /^the name of the object \(x based on URL\) was undeterminable: name must be provided$/,
  },
  OtherName: {
    reason: "a name cannot change",
    url: `${configMaps}/x`,
    body: { metadata: { name: "y" } },
    code: 400,
    text: /^the name of the object \(y\) does not match the name on the URL \(x\)$/,
  },
  OtherNamespace: {
    reason: "nor a namespace",
    url: `${configMaps}/x`,
    body: { metadata: { name: "x", namespace: "other" } },
    code: 400,
    text: /^the namespace of the provided object does not match the namespace sent on the request$/,
  },
  OtherUid: {
    reason: "another object of the same name",
    url: `${configMaps}/x`,
    body: { metadata: { name: "x", uid: uid } },
    code: 409,
    text: /Key: \/registry\/configmaps\/default\/x, .*Precondition failed: UID in precondition: 01234567/,
  },
  OtherUidOfCustom: {
    reason: "whose group is in its place",
    url: `${widgets}/x`,
    body: widget({ name: "x", uid: uid, resourceVersion: "1" }),
    code: 409,
    text: /Key: \/registry\/example.org\/widgets\/default\/x, /,
  },
  NoVersion: {
    reason: "an update of a custom object needs its resource version",
    url: `${widgets}/x`,
    body: widget({ name: "x" }),
    code: 422,
    text: /^widgets.example.org "x" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update$/,
  },
  Stale: {
    reason: "and have not changed since",
    url: `${widgets}/x`,
    body: widget({ name: "x", resourceVersion: "1" }),
    code: 409,
    text: /the object has been modified; please apply your changes to the latest version and try again$/,
  },
  NoNumber: {
    reason: "a version is a number",
    url: `${configMaps}/x`,
    body: { metadata: { name: "x", resourceVersion: "new" } },
    code: 500,
    text: /^strconv.ParseUint: parsing "new": invalid syntax$/,
  },
  Missing: {
    reason: "most kinds are not made by replacing them",
    url: `${configMaps}/none`,
    body: { metadata: { name: "none" } },
    code: 404,
    text: /^configmaps "none" not found$/,
  },
  LeaseWithUid: {
    reason: "what has a uid was there",
    url: `${leases}/none`,
    body: { metadata: { name: "none", uid: uid } },
    code: 409,
    text: /UID in precondition: 01234567-89ab-cdef-0123-456789abcdef, UID in object meta: $/,
  },
};

for (const [name, { reason, url, body, code, text }] of Object.entries(refusals)) {
  test(`a replacement that is refused: ${name}`, async () => {
    const before = (await server.send(url)) as CompleteResponse;
    const response = await put(url, body);
    const { message } = objectOf(response);
    assert.equal(response.code, code, `${reason}: ${message}`);
    assert.match(String(message), text, reason);
    assert.deepEqual(objectOf((await server.send(url)) as CompleteResponse), objectOf(before), "nothing has changed");
  });
}

test("a lease may be made by replacing it, and then is replaced", async () => {
  const body = { metadata: { name: "held" }, spec: { holderIdentity: "a" } };
  const dry = await put(`${leases}/held?dryRun=All`, body);
  assert.equal(dry.code, 201);
  assert.equal((await server.send(`${leases}/held`)).code, 404);
  const made = await put(`${leases}/held`, body);
  assert.equal(made.code, 201);
  const again = await put(`${leases}/held`, { ...objectOf(made), spec: { holderIdentity: "b" } });
  assert.deepEqual([again.code, objectOf(again)["spec"]], [200, { holderIdentity: "b" }]);
  assert.equal(metaOf(objectOf(again))["uid"], metaOf(objectOf(made))["uid"]);
});

test("what only the server sets stays as it is, whatever is sent", async () => {
  const before = await server.body(`${widgets}/x`);
  const sent = {
    ...before,
    metadata: {
      ...metaOf(before),
      creationTimestamp: "2001-01-01T00:00:00Z",
      generation: 99,
      selfLink: "/nowhere",
    },
    status: { replicas: 5 },
  };
  assert.deepEqual(objectOf(await put(`${widgets}/x`, sent)), before);
});

test("a definition that is going takes no new objects, and says so", async () => {
  const name = "things.example.org";
  const spec = { ...(widgetCrd["spec"] as JsonObject), names: { plural: "things", kind: "Thing" } };
  await server.post(definitionsPath, { ...widgetCrd, metadata: { name }, spec });
  const things = "/apis/example.org/v1/namespaces/default/things";
  await server.until(things, ({ code }) => code === 200);
  const thing = { apiVersion: "example.org/v1", kind: "Thing", metadata: { name: "t", finalizers: ["example.org/f"] } };
  await server.post(things, thing);
  await server.delete(`${definitionsPath}/${name}`);
  const create = async (): Promise<CompleteResponse> =>
    (await server.send(`${things}?dryRun=All`, {
      method: "POST",
      body: { ...thing, metadata: { name: "u" } },
    })) as CompleteResponse;
  let refused = await create();
  while (refused.code === 201) refused = await create();
  assert.equal(refused.code, 403);
  assert.match(
    String(objectOf(refused)["message"]),
    /is forbidden: create not allowed while custom resource definition is terminating$/,
  );
  await server.until(`${things}/t`, ({ code }) => code === 200);
  await server.patch(`${things}/t`, { metadata: { finalizers: null } });
  await server.until(things, ({ code }) => code === 404);
});
