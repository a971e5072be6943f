// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeReader } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  crdType,
  definitionType,
  failureOf,
  findDefinition,
  isCrd,
  isDefinition,
  isOffered,
  kindsOf,
} from "./defined-kinds.ts";

const condition = (type: string, status: string, more: JsonObject = {}): JsonObject => ({
  type,
  status,
  reason: "R",
  ...more,
});
const definition = (spec: JsonObject, ...conditions: JsonObject[]): KubeObject => ({
  ...{ ...definitionType, metadata: { name: "xapps.acme.org", generation: 3 } },
  spec: { group: "acme.org", names: { kind: "XApp" }, ...spec },
  status: { conditions },
});
const claims = { claimNames: { kind: "App" } };

test("definitions and CRDs are known by group and kind, of any version", () => {
  assert.ok(isDefinition({ apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition" }));
  assert.ok(!isDefinition({ apiVersion: "apiextensions.crossplane.io.evil/v1", kind: "CompositeResourceDefinition" }));
  assert.ok(!isDefinition({ apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" }));
  assert.ok(isCrd({ apiVersion: "apiextensions.k8s.io/v1beta1", kind: "CustomResourceDefinition" }));
  assert.ok(!isCrd({ apiVersion: "v1", kind: "CustomResourceDefinition" }));
});

test("a definition has failed when its condition Synced says so about what it is now", () => {
  const message = { message: "no such field" };
  assert.equal(
    failureOf(definition({}, condition("Synced", "False", { ...message, observedGeneration: 3 }))),
    "no such field",
  );
  assert.equal(
    failureOf(definition({}, condition("Synced", "False", message))),
    "no such field",
    "without a generation",
  );
  assert.equal(
    failureOf(definition({}, condition("Synced", "False", { ...message, observedGeneration: 2 }))),
    undefined,
    "it was edited since",
  );
  assert.equal(
    failureOf(definition({}, condition("Synced", "False", { ...message, reason: "ReconcilePaused" }))),
    undefined,
  );
  assert.equal(failureOf(definition({}, condition("Synced", "True", message))), undefined);
  assert.equal(failureOf(definition({})), undefined);
});

/** A client with these definitions and CRDs; an error instead of one of them. */
function reader(definitions: readonly KubeObject[] | Error, crds: readonly KubeObject[] = []): KubeReader {
  const list = async ({ kind }: KubeObject): Promise<object> => {
    const items = kind === crdType.kind ? crds : definitions;
    if (items instanceof Error) throw items;
    return { items };
  };
  return { list } as unknown as KubeReader;
}

test("the definition of a kind is an XRD by its kind or that of its claims, else a CRD", async () => {
  const xrd = definition(
    claims,
    condition("Established", "False", { reason: "Waiting", message: "for the CRD" }),
    condition("Offered", "False"),
  );
  const find = (kind: string, apiVersion = "acme.org/v1", crds: readonly KubeObject[] = []) =>
    findDefinition(reader([xrd], crds), { apiVersion, kind });
  const name = "CompositeResourceDefinition xapps.acme.org";
  assert.deepEqual(await find("XApp"), { name, reason: "Waiting: for the CRD", failure: undefined });
  assert.deepEqual(await find("App"), { name, reason: "R", failure: undefined });
  assert.equal(await find("Other"), undefined);
  assert.equal(await find("XApp", "other.org/v1"), undefined);
  const crd: KubeObject = {
    ...crdType,
    metadata: { name: "others.acme.org" },
    spec: { group: "acme.org", names: { kind: "Other" } },
  };
  assert.deepEqual(await find("Other", "acme.org/v1", [crd]), {
    name: "CustomResourceDefinition others.acme.org",
    reason: undefined,
    failure: undefined,
  });
});

test("an error of the server is not taken for a server without definitions", async () => {
  await assert.rejects(findDefinition(reader(new Error("forbidden")), { apiVersion: "a/v1", kind: "B" }), {
    message: "forbidden",
  });
});

test("the kinds of a definition have its referenceable version", () => {
  const versions = [
    { name: "v1beta1", referenceable: false },
    { name: "v1", referenceable: true },
  ];
  assert.deepEqual(kindsOf(definition({ ...claims, versions })), {
    composite: { apiVersion: "acme.org/v1", kind: "XApp" },
    claim: { apiVersion: "acme.org/v1", kind: "App" },
  });
  assert.equal(kindsOf(definition({ versions }))?.claim, undefined);
  for (const spec of [
    {},
    { versions: [] },
    { versions: "x" },
    { versions, names: {} },
    { versions, group: 5 },
  ] as JsonObject[])
    assert.equal(kindsOf(definition(spec)), undefined, JSON.stringify(spec));
});

test("kinds are offered when the definition says so of each", () => {
  const versions = [{ name: "v1", referenceable: true }];
  const established = condition("Established", "True");
  assert.ok(isOffered(definition({ versions }, established)));
  assert.ok(!isOffered(definition({ versions, ...claims }, established)));
  assert.ok(isOffered(definition({ versions, ...claims }, established, condition("Offered", "True"))));
  assert.ok(!isOffered(definition({ versions }, condition("Established", "False"))));
});
