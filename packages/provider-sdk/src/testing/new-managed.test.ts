// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { newManaged } from "./index.ts";

const type = { apiVersion: "files.example.org/v1", kind: "File" };

test("a managed resource for a test has what a handler reads, and no client", () => {
  const managed = newManaged({ type }, { name: "a", forProvider: { content: "x" } });
  assert.deepEqual([managed.externalName, managed.forProvider, managed.atProvider], ["a", { content: "x" }, {}]);
  assert.deepEqual([managed.object.kind, managed.object.metadata.namespace], ["File", "default"]);
  assert.ok(Object.isFrozen(managed.object));
  assert.throws(
    () => managed.client.get(type, { name: "a" }),
    /the test has no client, and the handler calls client\.get/,
  );
  const named = newManaged({ type, scope: "Cluster" }, { name: "a", externalName: "b", atProvider: { bytes: 1 } });
  assert.deepEqual(
    [named.externalName, named.atProvider, named.object.metadata.namespace],
    ["b", { bytes: 1 }, undefined],
  );
});
