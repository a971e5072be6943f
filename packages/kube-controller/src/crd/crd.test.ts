// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isInvalid } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type EmbeddedCluster, startEmbeddedCluster } from "../../test/test-server.ts";
import { type CrdShape, createCrd, isEstablished, refusalOf } from "./crd.ts";
import { installCrds } from "./install-crds.ts";
import {
  ageColumn,
  atomicMap,
  checked,
  choice,
  column,
  conditionColumn,
  defaulted,
  flag,
  free,
  immutable,
  integer,
  listOf,
  mapOf,
  object,
  text,
  wideColumn,
} from "./schema.ts";

const fields = { spec: object({ size: integer }) };
const shape: CrdShape = {
  group: "example.org",
  kind: "Widget",
  plural: "widgets",
  versions: [{ name: "v1", fields, columns: [ageColumn], hasStatus: true }],
};

test("a kind in short is a whole CRD", () => {
  assert.deepEqual(createCrd({ ...shape, shortNames: ["w"], categories: ["all"], isNamespaced: true }), {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.org" },
    spec: {
      group: "example.org",
      names: {
        kind: "Widget",
        listKind: "WidgetList",
        plural: "widgets",
        singular: "widget",
        shortNames: ["w"],
        categories: ["all"],
      },
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                apiVersion: { type: "string" },
                kind: { type: "string" },
                metadata: { type: "object" },
                spec: { type: "object", properties: { size: { type: "integer", format: "int64" } } },
              },
            },
          },
          subresources: { status: {} },
          additionalPrinterColumns: [{ name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" }],
        },
      ],
    },
  });
});

test("of several versions the one that says so is stored, and a deprecated one warns", () => {
  const old = { name: "v1beta1", fields, columns: [], hasStatus: false, deprecation: "use v1" };
  const current = { name: "v1", fields, columns: [], hasStatus: false, isStored: true };
  const { versions } = createCrd({ ...shape, versions: [old, current] })["spec"] as { versions: JsonObject[] };
  const seen = versions.map(({ name, storage, deprecated, deprecationWarning, subresources }) => ({
    name,
    storage,
    deprecated,
    deprecationWarning,
    subresources,
  }));
  const none = { deprecated: undefined, deprecationWarning: undefined, subresources: undefined };
  assert.deepEqual(seen, [
    { ...none, name: "v1beta1", storage: false, deprecated: true, deprecationWarning: "use v1" },
    { ...none, name: "v1", storage: true },
  ]);
});

test("columns show a field, a condition, or more with -o wide", () => {
  assert.deepEqual(column("SIZE", ".spec.size", "integer"), { name: "SIZE", type: "integer", jsonPath: ".spec.size" });
  assert.equal(wideColumn("DIGEST", ".spec.digest").priority, 1);
  assert.equal(conditionColumn("READY", "Ready").jsonPath, ".status.conditions[?(@.type=='Ready')].status");
});

const withConditions = (...conditions: readonly JsonObject[]): KubeObject =>
  ({ ...createCrd(shape), status: { conditions } }) as KubeObject;
const states: Readonly<Record<string, { crd: KubeObject; established: boolean; refusal?: string }>> = {
  Fresh: { crd: createCrd(shape), established: false },
  NoConditions: { crd: { ...createCrd(shape), status: { conditions: null } } as never, established: false },
  Established: { crd: withConditions({ type: "Established", status: "True" }), established: true },
  Conflict: {
    crd: withConditions({ type: "NamesAccepted", status: "False", message: '"widgets" is already in use' }),
    established: false,
    refusal: '"widgets" is already in use',
  },
  ConflictWithoutWords: {
    crd: withConditions({ type: "NamesAccepted", status: "False" }),
    established: false,
    refusal: "its names were not accepted",
  },
  NonStructural: {
    crd: withConditions({ type: "NonStructuralSchema", status: "True", message: "spec.x: must be structural" }),
    established: false,
    refusal: "spec.x: must be structural",
  },
};

for (const [name, { crd, established, refusal }] of Object.entries(states)) {
  test(`what the server says of a CRD, ${name}`, () => {
    assert.deepEqual([isEstablished(crd), refusalOf(crd)], [established, refusal]);
  });
}

let cluster: EmbeddedCluster;
before(async () => {
  cluster = await startEmbeddedCluster();
  const spec = object(
    {
      "name*": text,
      mode: defaulted(choice("Automatic", "Manual"), "Automatic"),
      once: immutable(text),
      tags: listOf(text, "set"),
      steps: listOf(object({ "step*": text, on: flag }), { mapBy: "step" }, { maxItems: 2 }),
      labels: atomicMap(mapOf()),
      input: free,
    },
    { description: "What it shall be." },
  );
  const rules = { "self.name != 'root'": "root is taken", "self.name.size() < 10": "a name is short" };
  const more = {
    ...shape,
    versions: [{ name: "v1", fields: { "spec*": checked(spec, rules) }, columns: [], hasStatus: false }],
  };
  await installCrds(cluster.client, [createCrd(more)]);
});
after(() => cluster[Symbol.asyncDispose]());

const widget = (name: string, spec: JsonObject): KubeObject =>
  ({ apiVersion: "example.org/v1", kind: "Widget", metadata: { name }, spec }) as KubeObject;

test("a schema in our words is one that an API server holds objects to", async () => {
  const input = { any: { thing: [1, { deep: true }] } };
  const steps = [{ step: "a", on: true, unknown: 1 }];
  const stored = await cluster.client.create(widget("good", { name: "good", input, steps, tags: ["a", "b"] }));
  assert.deepEqual(stored["spec"], {
    name: "good",
    mode: "Automatic",
    input,
    steps: [{ step: "a", on: true }],
    tags: ["a", "b"],
  });
});

const refused: Readonly<Record<string, { spec: JsonObject; message: RegExp }>> = {
  Missing: { spec: {}, message: /spec\.name: Required value/ },
  Choice: { spec: { name: "a", mode: "Often" }, message: /spec\.mode: Unsupported value: "Often"/ },
  Twice: { spec: { name: "a", tags: ["x", "x"] }, message: /spec\.tags\[1\]: Duplicate value: "x"/ },
  SameKey: { spec: { name: "a", steps: [{ step: "x" }, { step: "x" }] }, message: /spec\.steps\[1\]: Duplicate value/ },
  TooMany: { spec: { name: "a", steps: [{ step: "x" }, { step: "y" }, { step: "z" }] }, message: /Too many: 3/ },
  Rule: { spec: { name: "root" }, message: /root is taken/ },
  OtherRule: { spec: { name: "much-too-long" }, message: /a name is short/ },
};

for (const [name, { spec, message }] of Object.entries(refused)) {
  test(`a schema in our words refuses, ${name}`, async () => {
    const created = cluster.client.create(widget(name.toLowerCase(), spec));
    await assert.rejects(created, (error) => isInvalid(error) && message.test((error as Error).message));
  });
}

test("a field that is immutable once set can be set once", async () => {
  const stored = await cluster.client.create(widget("once", { name: "once", once: "first" }));
  const changed = { ...stored, spec: { ...(stored["spec"] as JsonObject), once: "second" } };
  await assert.rejects(cluster.client.update(changed), /spec\.once: Invalid value: .*Value is immutable/);
});
