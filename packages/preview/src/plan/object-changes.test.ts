// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { appDefinition, entryOf, memoryPass } from "../../test/overlay-stage.ts";
import type { OverlayEntry } from "../overlay/overlay-entry.ts";
import { Mask } from "./mask.ts";
import { type ChangeContext, objectChange, projected, schemaIn } from "./object-changes.ts";
import type { PlannedChange } from "./plan.ts";

const map = (data: JsonObject, metadata: JsonObject = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "one", namespace: "default", ...metadata },
  data,
});
const context = (more: Partial<ChangeContext> = {}): ChangeContext => ({
  pass: memoryPass({ forecastFrom: 3 }),
  mask: new Mask(),
  projection: { status: false, owners: false },
  ignores: () => false,
  newUids: new Set(),
  newNames: new Set(),
  stepOf: () => undefined,
  ...more,
});
const changeOf = (entry: OverlayEntry, more: Partial<ChangeContext> = {}): Promise<PlannedChange | undefined> =>
  objectChange(entry, context(more));
const classOf = async (entry: OverlayEntry): Promise<string | undefined> => (await changeOf(entry))?.class;

const owner = { apiVersion: "example.org/v1", kind: "App", name: "web", uid: "u1", controller: true };
const owned = { ownerReferences: [owner] };
const going = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["a/b"] };

describe("the class of a change", () => {
  const cases: Readonly<Record<string, readonly [OverlayEntry, string | undefined]>> = {
    "a new object": [entryOf(undefined, map({})), "create"],
    "an object that is gone": [entryOf(map({}), undefined), "delete"],
    "an object that waits for its finalizers": [entryOf(map({}), map({}, going)), "delete"],
    "an object that was in deletion already": [entryOf(map({}, going), map({}, going)), undefined],
    "another value": [entryOf(map({ a: "1" }), map({ a: "2" })), "update"],
    "no other value": [entryOf(map({ a: "1" }), map({ a: "1" })), undefined],
    "a controller for an object without one": [entryOf(map({}), map({}, owned)), "adopt"],
    "another controller": [entryOf(map({}, owned), map({}, { ownerReferences: [{ ...owner, name: "db" }] })), "update"],
    "an object that is made again": [entryOf(map({}), map({}), { wasRemoved: true }), "recreate"],
    "another version of the API": [entryOf({ ...map({}), apiVersion: "v1beta1" }, map({})), undefined],
    "a refused write": [entryOf(map({}), map({}), { refusal: { text: "no", isInvalid: false } }), "refused"],
    "an object that was made and deleted": [entryOf(undefined, undefined), undefined],
  };
  for (const [title, [entry, expected]] of Object.entries(cases)) {
    test(title, async () => assert.equal(await classOf(entry), expected));
  }

  test("deletions, replacements and what is left behind are destructive", async () => {
    const destructive = async (entry: OverlayEntry): Promise<boolean | undefined> =>
      (await changeOf(entry))?.isDestructive;
    assert.equal(await destructive(entryOf(map({}), undefined)), true);
    assert.equal(await destructive(entryOf(map({}), map({}), { wasRemoved: true })), true);
    assert.equal(await destructive(entryOf(undefined, map({}))), false);
    assert.equal(await destructive(entryOf(map({ a: "1" }), map({ a: "2" }))), false);
    const refused = (before: KubeObject | undefined, text: string): OverlayEntry =>
      entryOf(before, before ?? map({}), { refusal: { text, isInvalid: true } });
    const immutable = 'ConfigMap "one" is invalid: data: Forbidden: field is immutable when `immutable` is set';
    assert.equal(await destructive(refused(map({}), immutable)), true);
    assert.equal(await destructive(refused(undefined, immutable)), false);
    assert.equal(await destructive(refused(map({}), "spec.size: Invalid value: 0: must be positive")), false);
    const others =
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'template' are forbidden";
    assert.equal(await destructive(refused(map({}), others)), true);
  });

  test("a refused update is destructive where a rule of the schema keeps the value", async () => {
    const rules = (rule: string, message?: string): JsonObject => ({
      "x-kubernetes-validations": [{ rule, ...(message !== undefined && { message }) }],
    });
    const properties = {
      zone: rules("self == oldSelf", "the zone stays"),
      size: rules("self >= oldSelf", "the size grows"),
      net: { properties: { name: rules("oldSelf == self") } },
    };
    const pass = memoryPass({ crd: appDefinition({ box: { properties, ...rules("self.id == oldSelf.id") } }) });
    const web: KubeObject = { apiVersion: "example.org/v1", kind: "App", metadata: { name: "web" } };
    const isDestructive = async (text: string): Promise<boolean | undefined> =>
      (await changeOf(entryOf(web, web, { refusal: { text, isInvalid: true } }), { pass }))?.isDestructive;
    assert.equal(await isDestructive('spec.zone: Invalid value: "b": the zone stays'), true);
    assert.equal(await isDestructive('spec.net.name: Invalid value: "b": failed rule: oldSelf == self'), true);
    assert.equal(await isDestructive("spec: Invalid value: failed rule: self.id == oldSelf.id"), true);
    assert.equal(await isDestructive("spec.size: Invalid value: 1: the size grows"), false);
  });
});

describe("what a change shows", () => {
  test("an update has its fields, both forms, and the names of the object", async () => {
    const annotations = { "crossplane.io/composition-resource-name": "map" };
    const change = await changeOf(
      entryOf(
        map({ a: "1" }, { annotations, ...owned, uid: "x", resourceVersion: "5" }),
        map({ a: "2", b: "3" }, { annotations, ...owned }),
        {
          writers: [{ controller: "composite/apps", key: "default/web", round: 2 }],
          approximate: new Set(["new-kind", "forbidden"]),
        },
      ),
    );
    const { digest: _, ...rest } = change ?? assert.fail();
    const metadata = { name: "one", namespace: "default", annotations };
    assert.deepEqual(rest, {
      class: "update",
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace: "default",
      name: "one",
      isNameGenerated: false,
      resource: "map",
      round: 2,
      approximate: ["forbidden", "new-kind"],
      external: undefined,
      isDestructive: false,
      fields: [
        { path: "data.a", op: "replace", old: "1", new: "2" },
        { path: "data.b", op: "add", new: "3" },
      ],
      old: { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } },
      new: { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "2", b: "3" } },
    });
  });

  test("rounds of the forecast come after an assumption", async () => {
    const after = async (round: number): Promise<string | undefined> =>
      (await changeOf(entryOf(undefined, map({}), { writers: [{ controller: "c", key: "k", round }] })))?.after;
    assert.deepEqual([await after(2), await after(3)], [undefined, "composed resources are ready"]);
  });

  test("an object in deletion waits for its finalizers, and has no new form", async () => {
    const change = await changeOf(entryOf(map({ a: "1" }), map({ a: "1" }, going)));
    assert.deepEqual([change?.waitsFor, change?.new], [["a/b"], undefined]);
  });

  test("fields that are ignored do not make a change", async () => {
    const entry = entryOf(map({ a: "1", b: "1" }), map({ a: "2", b: "2" }));
    const asked: string[] = [];
    const some = await changeOf(entry, {
      ignores: ({ path, kind, apiVersion }) => asked.push(`${apiVersion} ${kind} ${path}`) > 0 && path === "data.a",
    });
    assert.deepEqual(
      some?.fields.map(({ path }) => path),
      ["data.b"],
    );
    assert.deepEqual(asked, ["v1 ConfigMap data.a", "v1 ConfigMap data.b"]);
    assert.equal(await changeOf(entry, { ignores: () => true }), undefined);
  });

  test("values that contain a uid of the preview are not known yet", async () => {
    const change = await changeOf(entryOf(map({ a: "1", b: "1" }), map({ a: "id-u7-x", b: "2" })), {
      newUids: new Set(["u7"]),
    });
    assert.deepEqual(
      change?.fields.map(({ unknown }) => unknown),
      [true, undefined],
    );
  });

  test("values of Secrets are not shown, also not in texts of refusals", async () => {
    const secret = (value: string): KubeObject => ({ ...map({ key: value }), kind: "Secret" });
    const change = await changeOf(
      entryOf(secret("canary-one"), secret("canary-two"), { refusal: { text: "bad canary-two", isInvalid: true } }),
    );
    assert.deepEqual(change?.fields, [{ path: "data.key", op: "replace", sensitive: true }]);
    assert.deepEqual(change?.refusal, { text: "bad (sensitive)", isInvalid: true });
    assert.doesNotMatch(JSON.stringify(change), /canary/);
  });

  test("equal changes have equal digests, and changes of hidden values other ones", async () => {
    const digest = async (from: string, to: string): Promise<string | undefined> =>
      (await changeOf(entryOf({ ...map({ k: from }), kind: "Secret" }, { ...map({ k: to }), kind: "Secret" })))?.digest;
    assert.equal(await digest("a", "b"), await digest("a", "b"));
    assert.notEqual(await digest("a", "b"), await digest("a", "c"));
  });
});

describe("names that the API server decides", () => {
  const generated = async (
    now: KubeObject,
    more: Partial<OverlayEntry> = {},
    newUids: readonly string[] = [],
  ): Promise<boolean | undefined> =>
    (await changeOf(entryOf(undefined, now, more), { newUids: new Set(newUids) }))?.isNameGenerated;

  test("of objects with generateName whose owner is new, or that have none", async () => {
    assert.equal(await generated(map({}, { generateName: "one-" })), true);
    assert.equal(await generated(map({}, { generateName: "one-", ...owned }), {}, ["u1"]), true);
    assert.equal(await generated(map({}, { generateName: "one-", ...owned }), {}, ["other"]), false);
    assert.equal(await generated(map({})), false);
  });

  test("of composite resources of claims", async () => {
    assert.equal(
      await generated(map({}), { writers: [{ controller: "claim/shops", key: "default/web", round: 1 }] }),
      true,
    );
  });

  test("of no connection secret of a claim", async () => {
    const writers = [{ controller: "claim/shops", key: "default/web", round: 1 }];
    assert.equal(await generated({ ...map({}), kind: "Secret" }, { writers }), false);
  });

  test("of objects whose names contain a generated one", async () => {
    const newNames = new Set(["web-x1y2z"]);
    const derived = await changeOf(entryOf(undefined, map({}, { name: "web-x1y2z-db" })), { newNames });
    assert.deepEqual([derived?.isNameGenerated, derived?.generatedFrom], [true, "web-x1y2z"]);
    const before = map({ a: "1" }, { name: "web-x1y2z-db" });
    const existing = await changeOf(entryOf(before, map({ a: "2" }, { name: "web-x1y2z-db" })), { newNames });
    assert.deepEqual([existing?.isNameGenerated, existing?.generatedFrom], [false, undefined]);
  });

  test("are not known in values either", async () => {
    const change = await changeOf(entryOf(map({ ref: "" }), map({ ref: "web-x1y2z" })), {
      newNames: new Set(["web-x1y2z"]),
    });
    assert.equal(change?.fields[0]?.unknown, true);
  });

  test("of no object that exists", async () => {
    const change = await changeOf(
      entryOf(map({ a: "1" }, { generateName: "o-" }), map({ a: "2" }, { generateName: "o-" })),
    );
    assert.equal(change?.isNameGenerated, false);
  });
});

describe("the external resource of a deleted one", () => {
  const cases: Readonly<Record<string, readonly [JsonObject, string | undefined]>> = {
    "a managed resource": [{ forProvider: {} }, "deleted"],
    "one with a provider config": [{ providerConfigRef: { name: "a" } }, "deleted"],
    "the policy Orphan": [{ forProvider: {}, deletionPolicy: "Orphan" }, "kept"],
    "the policy Delete": [{ forProvider: {}, deletionPolicy: "Delete" }, "deleted"],
    "policies without Delete": [{ forProvider: {}, managementPolicies: ["Observe", "Create"] }, "kept"],
    "policies with Delete": [{ forProvider: {}, managementPolicies: ["Observe", "Delete"] }, "deleted"],
    "all policies": [{ forProvider: {}, managementPolicies: ["*"] }, "deleted"],
    "any other object": [{}, undefined],
  };
  for (const [title, [spec, expected]] of Object.entries(cases)) {
    test(`${title}: ${expected ?? "none"}`, async () => {
      assert.equal((await changeOf(entryOf({ ...map({}), spec }, undefined)))?.external, expected);
    });
  }

  test("whether an update replaces it is not known, and of other objects there is none", async () => {
    const updated = async (spec: JsonObject): Promise<string | undefined> =>
      (await changeOf(entryOf({ ...map({ a: "1" }), spec }, { ...map({ a: "2" }), spec })))?.external;
    assert.deepEqual([await updated({ forProvider: {} }), await updated({})], ["unknown", undefined]);
  });
});

describe("the part of an object that is compared", () => {
  const show = (object: KubeObject, status = false, owners = false): JsonObject =>
    projected(object, { status, owners });

  test("has nothing that the server writes", () => {
    const written = {
      resourceVersion: "1",
      uid: "u",
      generation: 2,
      creationTimestamp: "t",
      managedFields: [],
      selfLink: "/",
      deletionTimestamp: "t",
      deletionGracePeriodSeconds: 0,
    };
    const labels = { a: "b" };
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", c: "d" };
    assert.deepEqual(show(map({}, { ...written, labels, annotations, finalizers: ["f"] })), {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "one", namespace: "default", labels, annotations: { c: "d" }, finalizers: ["f"] },
      data: {},
    });
  });

  test("has the controller as one text, or all owners without uids", () => {
    const other = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u2" };
    const object = map({}, { ownerReferences: [other, owner] });
    assert.equal((show(object)["metadata"] as JsonObject)["controller"], "App.example.org/web");
    const { uid: _, ...shownOwner } = owner;
    assert.deepEqual((show(object, false, true)["metadata"] as JsonObject)["ownerReferences"], [
      { apiVersion: "v1", kind: "Pod", name: "p" },
      shownOwner,
    ]);
    assert.equal("controller" in (show(map({}, { ownerReferences: [other] }))["metadata"] as JsonObject), false);
  });

  test("has a status only if it is wanted", () => {
    const object = { ...map({}), status: { ready: true } };
    assert.equal("status" in show(object), false);
    assert.deepEqual(show(object, true)["status"], { ready: true });
    assert.equal("status" in show(map({}), true), false);
  });

  test("has no references to composed resources, which every reconcile writes", () => {
    const spec = (value: JsonObject): unknown => show({ ...map({}), spec: value })["spec"];
    assert.deepEqual(spec({ resourceRefs: [1], a: 1 }), { a: 1 });
    assert.deepEqual(spec({ crossplane: { resourceRefs: [1] }, a: 1 }), { a: 1 });
    assert.deepEqual(spec({ crossplane: { resourceRefs: [1], compositionRef: {} } }), {
      crossplane: { compositionRef: {} },
    });
    assert.deepEqual(spec({ crossplane: "odd" }), { crossplane: "odd" });
  });
});

test("the schema of a kind is that of its version", () => {
  const crd: KubeObject = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {},
    spec: {
      versions: [
        { name: "v1", schema: { openAPIV3Schema: { type: "object" } } },
        { name: "v2", schema: { openAPIV3Schema: { type: "string" } } },
        { name: "v3" },
      ],
    },
  };
  assert.deepEqual(schemaIn(crd, "example.org/v2"), { type: "string" });
  assert.deepEqual(schemaIn(crd, "example.org/v3"), {});
  assert.equal(schemaIn(crd, "example.org/v4"), undefined);
  assert.equal(schemaIn(undefined, "v1"), undefined);
});
