// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { NoMatchError } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { internalError, notFound } from "@purlin/kube-objects/errors";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import type { CompositeKind } from "../context.ts";
import { observe } from "./observe.ts";

const { signal } = new AbortController();
const kind: CompositeKind = {
  definition: "apps.example.org",
  type: { apiVersion: "example.org/v1", kind: "App" },
  schema: "modern",
};

function xrOf(count: number, ref: Partial<TypeRef> = {}): KubeObject {
  const resourceRefs = Array.from({ length: count }, (_, index) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name: `map${index}`,
    ...ref,
  }));
  return {
    ...kind.type,
    metadata: { name: "one", namespace: "ns", uid: "uid" },
    spec: { crossplane: { resourceRefs } },
  } as KubeObject;
}

/** A client whose cache is empty, with a server behind it. */
function clientOf(read: (type: TypeRef, key: ObjectKey) => Promise<KubeObject>): ControllerClient {
  return { get: async () => undefined, live: { get: read } } as unknown as ControllerClient;
}

test("references that no cache has are read a few at a time", async () => {
  let [now, most, asked] = [0, 0, 0];
  const client = clientOf(async (_type, { name }) => {
    most = Math.max(most, ++now);
    asked++;
    await new Promise((resolve) => setImmediate(resolve));
    now--;
    throw notFound({ group: "", resource: "configmaps" }, name);
  });
  const { resources } = await observe(xrOf(200), { kind, client, signal });
  assert.deepEqual([resources.size, asked, most], [0, 200, 16]);
});

test("what is found has the order of the references, whichever answer came first", async () => {
  const client = clientOf(async (type, { name, namespace }) => {
    const number = Number(name.slice(3));
    for (let turns = 20 - number; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
    const annotations = { "crossplane.io/composition-resource-name": `r${number}` };
    return { ...type, metadata: { name, namespace, annotations } } as KubeObject;
  });
  const { resources } = await observe(xrOf(20), { kind, client, signal });
  assert.deepEqual(
    [...resources.keys()],
    Array.from({ length: 20 }, (_, index) => `r${index}`),
  );
});

test("of several resources that cannot be read the first is reported", async () => {
  const client = clientOf(async (_type, { name }) => {
    if (name === "map0") for (let turns = 5; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
    throw internalError(`${name} is broken`);
  });
  await assert.rejects(observe(xrOf(5), { kind, client, signal }), {
    message:
      "cannot get existing composed resources: cannot get composed resource (a ConfigMap named map0): " +
      "Internal error occurred: map0 is broken",
  });
});

test("a kind that is not served has no objects", async () => {
  const client = clientOf((type) => Promise.reject(new NoMatchError(type)));
  assert.equal((await observe(xrOf(3, { kind: "Gone" }), { kind, client, signal })).resources.size, 0);
});
