// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { conflict, findStatusError, notFound, StatusError } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import { createKubeClient } from "./client.ts";
import { isNoMatch } from "./rest-mapper.ts";
import type { KubeRequest, KubeTransport } from "./transport.ts";

const discovery = "/apis/example.org/v1";
const type = { apiVersion: "example.org/v1", kind: "Widget" };
const key = { namespace: "ns", name: "a" };
const resources = [{ name: "widgets", kind: "Widget", namespaced: true }];
const unserved = (): StatusError =>
  new StatusError({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
  } as StatusError["status"]);

interface Server extends KubeTransport {
  readonly asked: KubeRequest[];
}

/** A server that serves Widgets; the rest is answered, or fails, as the test says. */
function server(answer: (request: KubeRequest) => JsonValue, events: readonly JsonValue[] = []): Server {
  const asked: KubeRequest[] = [];
  return {
    asked,
    async request(request) {
      asked.push(request);
      return { code: 200, body: request.path === discovery ? { resources } : answer(request), warnings: [] };
    },
    async stream(request) {
      asked.push(request);
      answer(request);
      return (async function* () {
        yield* events;
      })();
    },
    close: async () => {},
  };
}

const failing = (error: Error): Server =>
  server(() => {
    throw error;
  });
const paths = ({ asked }: Server): string[] => asked.map(({ path }) => path);

test("an object that is not found is an error of that object, and its type stays known", async () => {
  const transport = failing(notFound({ group: "example.org", resource: "widgets" }, "a"));
  const client = createKubeClient(transport);
  for (const _ of [1, 2])
    await assert.rejects(client.get(type, key), (error) => findStatusError(error)?.status.details?.name === "a");
  assert.deepEqual(paths(transport), [
    discovery,
    `${discovery}/namespaces/ns/widgets/a`,
    `${discovery}/namespaces/ns/widgets/a`,
  ]);
});

test("a path that is no longer served makes the client ask for the type again", async () => {
  const transport = failing(unserved());
  const client = createKubeClient(transport);
  for (const _ of [1, 2]) await assert.rejects(client.get(type, key), (error) => !isNoMatch(error));
  assert.equal(paths(transport).filter((path) => path === discovery).length, 2);
});

test("a collection that is not found is one of a type that is not served", async () => {
  const transport = failing(unserved());
  const client = createKubeClient(transport);
  await assert.rejects(client.list(type), isNoMatch);
  await assert.rejects(client.watch(type), isNoMatch);
  assert.equal(paths(transport).filter((path) => path === discovery).length, 2);
});

test("other errors of collections are returned as they are", async () => {
  const error = conflict({ group: "", resource: "widgets" }, "a", "changed");
  await assert.rejects(createKubeClient(failing(error)).list(type), (found) => found === error);
});

test("a list is what the server sent, with the type of its items", async () => {
  const own = { apiVersion: "v1", kind: "Own", metadata: { name: "b" } };
  const body = {
    metadata: { resourceVersion: "9", continue: "next", remainingItemCount: 4 },
    items: [{ metadata: { name: "a" } }, own],
  };
  const client = createKubeClient(server(() => body));
  assert.deepEqual(await client.list(type), {
    items: [{ ...type, metadata: { name: "a" } }, own],
    resourceVersion: "9",
    continue: "next",
    remainingItemCount: 4,
  });
  const empty = await createKubeClient(server(() => ({ items: null }))).list(type);
  assert.deepEqual(empty, { items: [], resourceVersion: "", continue: undefined, remainingItemCount: undefined });
});

const held: Readonly<Record<string, readonly [answer: JsonValue, isHeld: boolean]>> = {
  "a Status": [{ kind: "Status", status: "Success" }, false],
  "an object that went": [{ metadata: { name: "a" } }, false],
  "an object that went at once, with its last state": [
    { metadata: { deletionTimestamp: "t", deletionGracePeriodSeconds: 0 } },
    false,
  ],
  "an object with finalizers": [
    { metadata: { deletionTimestamp: "t", deletionGracePeriodSeconds: 0, finalizers: ["f"] } },
    true,
  ],
  "a Pod that takes its time": [{ metadata: { deletionTimestamp: "t", deletionGracePeriodSeconds: 30 } }, true],
  "a namespace, where both are left out": [{ metadata: { deletionTimestamp: "t" } }, true],
};

for (const [name, [answer, isHeld]] of Object.entries(held)) {
  test(`a delete is answered with ${name}`, async () => {
    const client = createKubeClient(server(() => answer));
    assert.deepEqual(await client.delete({ ...type, ...key }), isHeld ? answer : undefined);
  });
}

test("the options of a delete are in its body", async () => {
  const transport = server(() => ({}));
  await createKubeClient(transport).delete({ ...type, ...key }, { gracePeriodSeconds: 0, dryRun: true });
  assert.deepEqual(transport.asked.at(-1)?.body, {
    apiVersion: "v1",
    kind: "DeleteOptions",
    gracePeriodSeconds: 0,
    dryRun: ["All"],
  });
});

test("a watch asks for what its options say, and reads events", async () => {
  const widget = { ...type, metadata: { name: "a", resourceVersion: "5" } };
  const transport = server(() => ({}), [{ type: "ADDED", object: widget }]);
  const client = createKubeClient(transport);
  const events = [];
  const options = {
    namespace: "ns",
    resourceVersion: "4",
    allowWatchBookmarks: true,
    timeoutSeconds: 60,
    fieldSelector: "metadata.name=a",
  };
  for await (const event of await client.watch(type, options)) events.push(event);
  assert.deepEqual(events, [{ type: "ADDED", object: widget }]);
  assert.deepEqual(transport.asked.at(-1)?.query, {
    fieldSelector: "metadata.name=a",
    resourceVersion: "4",
    watch: "true",
    allowWatchBookmarks: "true",
    timeoutSeconds: "60",
  });
});

test("a request to any path is sent as it is, and a watch of it asks to watch", async () => {
  const transport = server(() => ({ gitVersion: "v1" }), [1, 2]);
  const client = createKubeClient(transport);
  assert.deepEqual(await client.raw({ method: "GET", path: "/version" }), { gitVersion: "v1" });
  const seen = [];
  for await (const event of await client.rawWatch({ method: "GET", path: "/x", query: { limit: "1" } }))
    seen.push(event);
  assert.deepEqual([seen, transport.asked.at(-1)?.query], [[1, 2], { limit: "1", watch: "true" }]);
});

test("a patch has the content type of its kind", async () => {
  const transport = server(() => ({}));
  const client = createKubeClient(transport);
  for (const kind of ["merge", "strategic", "json"] as const)
    await client.patch({ ...type, ...key }, {}, { type: kind });
  assert.deepEqual(
    transport.asked.slice(1).map(({ contentType }) => contentType),
    ["application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json"],
  );
});

test("what is created below an object has the path of that object", async () => {
  const transport = server(() => ({}));
  await createKubeClient(transport).create({ ...type, metadata: key }, { subresource: "eviction" });
  assert.equal(paths(transport).at(-1), `${discovery}/namespaces/ns/widgets/a/eviction`);
});

test("answers are frozen", async () => {
  const client = createKubeClient(server(() => ({ ...type, metadata: key, spec: { list: [1] } })));
  const object = await client.get(type, key);
  assert.ok(Object.isFrozen(object) && Object.isFrozen((object["spec"] as { list: unknown }).list));
});
