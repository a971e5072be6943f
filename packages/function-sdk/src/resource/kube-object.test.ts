// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Struct } from "@purlin/function-protocol";
import { CompositeObject } from "./composite-object.ts";
import { ComposedObject } from "./convert.ts";

const bucket = {
  apiVersion: "s3.example.org/v1",
  kind: "Bucket",
  metadata: { name: "b", namespace: "ns", uid: "u", generateName: "b-", labels: { a: "1" }, annotations: { n: "2" } },
};

test("metadata is read by name", () => {
  const object = new ComposedObject(Struct.from(bucket));
  const { apiVersion, kind, name, namespace, uid, generateName, labels, annotations } = object;
  assert.deepEqual({ apiVersion, kind, metadata: { name, namespace, uid, generateName, labels, annotations } }, bucket);
});

test("missing or malformed metadata reads as empty or undefined and never throws", () => {
  for (const source of [
    {},
    { metadata: "text" },
    { metadata: { name: 1, labels: [], namespace: null } },
    { metadata: null },
  ]) {
    const object = new ComposedObject(source);
    assert.deepEqual([object.apiVersion, object.kind, object.name], ["", "", ""]);
    assert.deepEqual([object.namespace, object.generateName, object.uid], [undefined, undefined, undefined]);
    assert.deepEqual([object.labels, object.annotations], [{}, {}]);
  }
  assert.deepEqual(new ComposedObject({ metadata: { labels: { a: "1", b: 2 } } }).labels, { a: "1" });
});

test("metadata is set by name; undefined removes", () => {
  const object = new ComposedObject();
  object.apiVersion = "v1";
  object.kind = "ConfigMap";
  object.name = "c";
  object.namespace = "ns";
  object.generateName = "c-";
  object.labels = { a: "1" };
  object.addLabels({ b: "2" });
  object.addAnnotations({ n: "3" });
  object.namespace = undefined;
  object.annotations = undefined;
  assert.deepEqual(object.object, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c", generateName: "c-", labels: { a: "1", b: "2" } },
  });
});

test("a label named __proto__ is a label", () => {
  const object = new ComposedObject(Struct.from(JSON.parse('{"metadata":{"labels":{"__proto__":"x"}}}') as object));
  assert.deepEqual(Object.entries(object.labels), [["__proto__", "x"]]);
  object.addLabels({ a: "1" });
  assert.equal(JSON.stringify(object), '{"metadata":{"labels":{"__proto__":"x","a":"1"}}}');
});

test("conditions are set by type; one that says the same keeps its time", () => {
  const time = "2024-01-01T00:00:00Z";
  const object = new ComposedObject({
    status: { conditions: [{ type: "A", status: "True", reason: "R", lastTransitionTime: time }, "junk"] },
  });
  object.setConditions(
    { type: "A", status: "True", reason: "R" },
    { type: "B", status: "False", reason: "S", message: "m" },
  );
  assert.equal(object.getCondition("A").lastTransitionTime, time);
  assert.deepEqual(object.getCondition("B"), { type: "B", status: "False", reason: "S", message: "m" });
  object.setConditions({ type: "A", status: "False", reason: "R" });
  assert.deepEqual(object.getCondition("A"), { type: "A", status: "False", reason: "R" });
  assert.deepEqual(object.getCondition("C"), { type: "C", status: "Unknown" });
  const none = new ComposedObject();
  none.setConditions({ type: "A", status: "Unknown" });
  assert.deepEqual(none.object, { status: { conditions: [{ type: "A", status: "Unknown" }] } });
});

test("connection secret and observed generation", () => {
  const object = new ComposedObject({ spec: { writeConnectionSecretToRef: { name: "s", namespace: "n" } } });
  assert.deepEqual(object.writeConnectionSecretToReference, { name: "s", namespace: "n" });
  assert.equal(object.observedGeneration, undefined);
  object.observedGeneration = 4;
  object.writeConnectionSecretToReference = undefined;
  assert.deepEqual(object.object, { spec: {}, status: { observedGeneration: 4 } });
  assert.equal(object.observedGeneration, 4);
  assert.equal(object.writeConnectionSecretToReference, undefined);
});

test("a composed object from a typed model omits fields that must not be applied", () => {
  interface Typed {
    kind: string;
    metadata: { name?: string; creationTimestamp: null };
    status: object;
  }
  const model: Typed = { kind: "K", metadata: { creationTimestamp: null }, status: {} };
  assert.deepEqual(ComposedObject.from(model).object, { kind: "K" });
  const withName = { toJSON: () => ({ ...model, metadata: { name: "n", creationTimestamp: null } }) };
  assert.deepEqual(ComposedObject.from(withName).object, { kind: "K", metadata: { name: "n" } });
});

const crossplaneFields = {
  compositionRef: { name: "c" },
  compositionSelector: { matchLabels: { a: "1" } },
  compositionRevisionRef: { name: "c-1" },
  compositionRevisionSelector: { matchLabels: { b: "2" } },
  compositionUpdatePolicy: "Manual",
  resourceRefs: [{ apiVersion: "v1", kind: "ConfigMap", name: "x" }],
} as const;

function fill(xr: CompositeObject): void {
  xr.compositionRef = crossplaneFields.compositionRef;
  xr.compositionSelector = crossplaneFields.compositionSelector;
  xr.compositionRevisionRef = crossplaneFields.compositionRevisionRef;
  xr.compositionRevisionSelector = crossplaneFields.compositionRevisionSelector;
  xr.compositionUpdatePolicy = crossplaneFields.compositionUpdatePolicy;
  xr.resourceRefs = crossplaneFields.resourceRefs;
}

function crossplaneFieldsOf(xr: CompositeObject): object {
  return {
    compositionRef: xr.compositionRef,
    compositionSelector: xr.compositionSelector,
    compositionRevisionRef: xr.compositionRevisionRef,
    compositionRevisionSelector: xr.compositionRevisionSelector,
    compositionUpdatePolicy: xr.compositionUpdatePolicy,
    resourceRefs: xr.resourceRefs,
  };
}

test("Crossplane's own fields are found in modern and in legacy composites", () => {
  assert.deepEqual(
    crossplaneFieldsOf(new CompositeObject({ spec: { crossplane: crossplaneFields } })),
    crossplaneFields,
  );
  assert.deepEqual(crossplaneFieldsOf(new CompositeObject({ spec: crossplaneFields })), crossplaneFields);
  const empty = {
    ...Object.fromEntries(Object.keys(crossplaneFields).map((key) => [key, undefined])),
    resourceRefs: [],
  };
  for (const source of [{}, { spec: null }, { spec: { crossplane: "x", compositionUpdatePolicy: "Sometimes" } }]) {
    assert.deepEqual(crossplaneFieldsOf(new CompositeObject(source)), empty);
  }
});

const styles: Record<string, { from: object; legacy: boolean }> = {
  EmptyIsModern: { from: {}, legacy: false },
  UserFieldsAreModern: { from: { spec: { size: 1 } }, legacy: false },
  ModernStays: { from: { spec: { crossplane: {} } }, legacy: false },
  BothIsModern: { from: { spec: { crossplane: {}, claimRef: {} } }, legacy: false },
  ClaimIsLegacy: { from: { spec: { claimRef: { name: "c" } } }, legacy: true },
  CompositionIsLegacy: { from: { spec: { compositionRef: { name: "c" } } }, legacy: true },
};

for (const [name, { from, legacy }] of Object.entries(styles)) {
  test(`setters keep to the style the composite has: ${name}`, () => {
    const xr = new CompositeObject(Struct.from(from));
    fill(xr);
    assert.deepEqual(xr.getObject(legacy ? "spec" : "spec.crossplane")["compositionRevisionRef"], { name: "c-1" });
    assert.equal(xr.has(legacy ? "spec.crossplane" : "spec.compositionRevisionRef"), false);
    assert.deepEqual(crossplaneFieldsOf(xr), crossplaneFields);
  });
}

test("claim, environment and publishing time live where legacy composites have them", () => {
  const xr = new CompositeObject({});
  assert.deepEqual([xr.claimRef, xr.connectionDetailsLastPublishedTime], [undefined, undefined]);
  assert.deepEqual(xr.environmentConfigRefs, []);
  xr.claimRef = { apiVersion: "v1", kind: "Claim", namespace: "ns", name: "c" };
  xr.environmentConfigRefs = [{ name: "e" }];
  xr.connectionDetailsLastPublishedTime = "2024-01-01T00:00:00Z";
  assert.deepEqual(xr.object, {
    spec: {
      claimRef: { apiVersion: "v1", kind: "Claim", namespace: "ns", name: "c" },
      environmentConfigRefs: [{ name: "e" }],
    },
    status: { connectionDetails: { lastPublishedTime: "2024-01-01T00:00:00Z" } },
  });
  assert.equal(xr.claimRef?.name, "c");
  assert.deepEqual(xr.environmentConfigRefs, [{ name: "e" }]);
  assert.equal(xr.connectionDetailsLastPublishedTime, "2024-01-01T00:00:00Z");
  xr.claimRef = undefined;
  xr.compositionRef = undefined;
  assert.equal(xr.claimRef, undefined);
});
