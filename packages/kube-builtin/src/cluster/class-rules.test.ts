// SPDX-License-Identifier: Apache-2.0
// Which class a claim or an Ingress without one gets.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { AdmissionPlugin, Entry, Store } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { defaultIngressClass, defaultStorageClass } from "./class-rules.ts";

type Attributes = Parameters<NonNullable<AdmissionPlugin["admitting"]>>[0];

const prefix = "/storage.k8s.io/storageclasses/";
const isDefault = "storageclass.kubernetes.io/is-default-class";
const isDefaultBeta = "storageclass.beta.kubernetes.io/is-default-class";

/** A store of classes by name, which counts how often it decodes one. */
function classesOf(classes: Readonly<Record<string, JsonObject>>, prefix: string) {
  const decoded = { count: 0 };
  const entries = Object.entries(classes).map(([name, metadata]) => ({
    key: `${prefix}${name}`,
    get value(): JsonObject {
      decoded.count += 1;
      return { metadata: { name, ...metadata } };
    },
  }));
  const list = (): { readonly entries: readonly Entry<JsonObject>[] } => ({ entries: entries as Entry<JsonObject>[] });
  return { store: { list } as unknown as Store<JsonObject>, decoded };
}

function admitted(plugin: AdmissionPlugin, object: JsonObject): JsonObject {
  return finish(plugin.admitting?.({ object } as Attributes) ?? assert.fail());
}

const cases: Readonly<Record<string, { readonly classes: Record<string, JsonObject>; readonly want?: string }>> = {
  "no class is the default": { classes: { a: {}, b: { annotations: { [isDefault]: "false" } } } },
  "one class is": { classes: { a: {}, b: { annotations: { [isDefault]: "true" } } }, want: "b" },
  "a class is by its older annotation": { classes: { a: { annotations: { [isDefaultBeta]: "true" } } }, want: "a" },
  "the newest of several": {
    classes: {
      a: { creationTimestamp: "2026-01-01T00:00:00Z", annotations: { [isDefault]: "true" } },
      b: { creationTimestamp: "2026-01-02T00:00:00Z", annotations: { [isDefault]: "true" } },
      c: { creationTimestamp: "2026-01-03T00:00:00Z" },
    },
    want: "b",
  },
  "of several of one age the first by name": {
    classes: {
      b: { creationTimestamp: "2026-01-01T00:00:00Z", annotations: { [isDefault]: "true" } },
      a: { creationTimestamp: "2026-01-01T00:00:00Z", annotations: { [isDefault]: "true" } },
    },
    want: "a",
  },
};

for (const [name, { classes, want }] of Object.entries(cases)) {
  test(`the storage class of a claim that names none: ${name}`, () => {
    const { store } = classesOf(classes, prefix);
    const spec = want === undefined ? {} : { storageClassName: want };
    assert.deepEqual(admitted(defaultStorageClass(store), { spec: {} }), { spec });
  });
}

test("a claim or an Ingress that names a class keeps it", () => {
  const { store, decoded } = classesOf({ a: { annotations: { [isDefault]: "true" } } }, prefix);
  const named = { spec: { storageClassName: "" } };
  assert.equal(admitted(defaultStorageClass(store), named), named);
  const older = { metadata: { annotations: { "kubernetes.io/ingress.class": "x" } }, spec: {} };
  assert.equal(admitted(defaultIngressClass(store), older), older);
  assert.equal(decoded.count, 0);
});

test("a class is decoded once, however many objects need it", () => {
  const { store, decoded } = classesOf({ a: {}, b: { annotations: { [isDefault]: "true" } } }, prefix);
  const plugin = defaultStorageClass(store);
  for (let i = 0; i < 10; i += 1) admitted(plugin, { spec: {} });
  assert.equal(decoded.count, 2);
});
