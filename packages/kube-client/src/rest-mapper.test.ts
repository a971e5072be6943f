// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { internalError, notFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import { createKubeClient } from "./client.ts";
import { createRestMapper, isNoMatch, resourcePath } from "./rest-mapper.ts";
import type { KubeRequest, KubeTransport } from "./transport.ts";

const widgets = { name: "widgets", kind: "Widget", namespaced: true };
const status = { name: "widgets/status", kind: "Widget", namespaced: true };

function server(answer: (request: KubeRequest) => JsonValue): KubeTransport & { readonly asked: KubeRequest[] } {
  const asked: KubeRequest[] = [];
  return {
    asked,
    async request(request) {
      asked.push(request);
      return { code: 200, body: answer(request), warnings: ["careful"] };
    },
    stream: async () => (async function* () {})(),
    close: async () => {},
  };
}

const served = (resources: JsonValue[]) => server(() => ({ resources }));

test("a group version is asked for once and maps its kinds", async () => {
  const transport = served([widgets, status]);
  const mapper = createRestMapper(transport);
  const widget = await mapper.mapping({ apiVersion: "example.org/v1", kind: "Widget" });
  assert.deepEqual(widget, { apiVersion: "example.org/v1", kind: "Widget", resource: "widgets", namespaced: true });
  await mapper.mapping({ apiVersion: "example.org/v1", kind: "Widget" });
  assert.deepEqual(
    transport.asked.map(({ path }) => path),
    ["/apis/example.org/v1"],
  );
});

test("a kind that is not known is asked for again, because a CRD may have come", async () => {
  let resources: JsonValue[] = [widgets];
  const transport = server(() => ({ resources }));
  const mapper = createRestMapper(transport);
  await mapper.mapping({ apiVersion: "example.org/v1", kind: "Widget" });
  await assert.rejects(
    mapper.mapping({ apiVersion: "example.org/v1", kind: "Gadget" }),
    (error) => isNoMatch(error) && /no matches for kind "Gadget" in version "example.org\/v1"/.test(error.message),
  );
  resources = [widgets, { name: "gadgets", kind: "Gadget", namespaced: false }];
  assert.equal((await mapper.mapping({ apiVersion: "example.org/v1", kind: "Gadget" })).resource, "gadgets");
});

test("a missing group is a NoMatch, any other failure is returned as it is, neither is cached", async () => {
  let failure: Error | undefined = notFound({ group: "", resource: "" }, "");
  const transport = server(() => {
    if (failure) throw failure;
    return { resources: [widgets] };
  });
  const mapper = createRestMapper(transport);
  const type = { apiVersion: "example.org/v1", kind: "Widget" };
  await assert.rejects(mapper.mapping(type), isNoMatch);
  failure = internalError("boom");
  await assert.rejects(mapper.mapping(type), /boom/);
  failure = undefined;
  assert.equal((await mapper.mapping(type)).resource, "widgets");
});

test("forgetting asks again", async () => {
  const transport = served([widgets]);
  const mapper = createRestMapper(transport);
  const type = { apiVersion: "example.org/v1", kind: "Widget" };
  await mapper.mapping(type);
  mapper.forget("example.org/v1");
  await mapper.mapping(type);
  mapper.forget();
  await mapper.mapping(type);
  assert.equal(transport.asked.length, 3);
});

test("paths have a namespace only where the kind has one, and escape names", () => {
  const mapping = { apiVersion: "v1", kind: "Node", resource: "nodes", namespaced: false };
  assert.equal(resourcePath(mapping, { namespace: "x", name: "a/b" }), "/api/v1/nodes/a%2Fb");
  assert.equal(resourcePath({ ...mapping, namespaced: true }, { namespace: "x" }), "/api/v1/namespaces/x/nodes");
  assert.equal(resourcePath({ ...mapping, namespaced: true }), "/api/v1/nodes");
});

test("the client turns calls into requests", async () => {
  const transport = server(({ path }) =>
    path === "/apis/example.org/v1"
      ? { resources: [widgets] }
      : { items: [{ metadata: { name: "a" } }], metadata: { resourceVersion: "7", continue: "" } },
  );
  const warnings: string[] = [];
  const client = createKubeClient(transport, { onWarning: (text) => warnings.push(text) });
  const type = { apiVersion: "example.org/v1", kind: "Widget" };
  const key = { namespace: "ns", name: "a" };
  const object = { ...type, metadata: key };
  const list = await client.list(type, { namespace: "ns", labelSelector: "a=b", limit: 5 });
  assert.deepEqual(list.items, [{ ...type, metadata: { name: "a" } }]);
  assert.deepEqual([list.resourceVersion, list.continue], ["7", undefined]);
  assert.ok(Object.isFrozen(list.items[0]?.metadata));
  await client.create(object, { fieldManager: "me", dryRun: true });
  await client.update(object, { subresource: "status" });
  await client.apply(object, { fieldManager: "me", force: true, subresource: "status" });
  await client.patch({ ...type, ...key }, [{ op: "remove", path: "/spec" }], { type: "json" });
  await client.delete({ ...type, ...key }, { preconditions: { uid: "u" }, propagationPolicy: "Foreground" });
  await client.deleteCollection(type, { namespace: "ns", labelSelector: "x" });
  const line = ({ method, path, query = {}, contentType = "", body }: KubeRequest): string =>
    [method, `${path}?${new URLSearchParams(query)}`, contentType, JSON.stringify(body)].join(" ").trim();
  const collection = "/apis/example.org/v1/namespaces/ns/widgets";
  const written = JSON.stringify(object);
  assert.deepEqual(transport.asked.slice(1).map(line), [
    `GET ${collection}?labelSelector=a%3Db&limit=5`,
    `POST ${collection}?fieldManager=me&dryRun=All  ${written}`,
    `PUT ${collection}/a/status?  ${written}`,
    `PATCH ${collection}/a/status?fieldManager=me&force=true application/apply-patch+yaml ${written}`,
    `PATCH ${collection}/a? application/json-patch+json [{"op":"remove","path":"/spec"}]`,
    `DELETE ${collection}/a?  {"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"},"propagationPolicy":"Foreground"}`,
    `DELETE ${collection}?labelSelector=x  {"apiVersion":"v1","kind":"DeleteOptions"}`,
  ]);
  assert.equal(warnings.length, 7);
});

test("nothing is deleted without a name: that would be the whole collection", async () => {
  const transport = server(() => ({ resources: [widgets] }));
  const client = createKubeClient(transport);
  const type = { apiVersion: "example.org/v1", kind: "Widget", namespace: "ns" };
  await assert.rejects(client.delete({ ...type, name: "" }), /cannot delete a Widget without a name/);
  assert.deepEqual(transport.asked, []);
});
