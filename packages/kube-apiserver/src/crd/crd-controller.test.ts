// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { testTypes } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { Registry } from "../registry/registry.ts";
import { objectCodec } from "../rest/object-codec.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { isConditionTrue } from "./crd-conditions.ts";
import { CrdController } from "./crd-controller.ts";
import { cleanupFinalizer, crdRules } from "./crd-rules.ts";
import { initialCrdStatus, withCrdDefaults } from "./crd-spec.ts";

const eventually = (t: TestContext, check: () => void): Promise<void> => t.waitFor(check, { timeout: 60_000 });

const prefix = "/apiextensions.k8s.io/customresourcedefinitions/";
const time = (): Date => new Date("2026-01-01T00:00:00Z");
const conversion = { client: { post: () => assert.fail("no kind has a conversion webhook") }, newUid: () => "" };

function crd(plural: string, kind: string, change: JsonObject = {}): JsonObject {
  const filled = withCrdDefaults({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.org`, uid: plural, generation: 1 },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { plural, kind },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } },
          subresources: { status: {} },
        },
      ],
      ...change,
    },
  });
  return { ...filled, status: initialCrdStatus(filled) };
}

function setUp(t: TestContext, directory: string = tempDirectory()) {
  const store = openStore<JsonObject>({ directory, codec: objectCodec });
  const registry = new Registry(testTypes);
  const ended: string[] = [];
  const deleted: string[] = [];
  const controller = new CrdController({
    conversion,
    store,
    registry,
    now: time,
    onError: (error) => assert.fail(String(error)),
    endWatches: (group, resource) => ended.push(`${resource}.${group}`),
    deleteObjects: async (type) => {
      deleted.push(type.resource);
      for (const { key, value } of store.list({ prefix: `/example.org/${type.resource}/` }).entries) {
        const held = (value["metadata"] as { finalizers?: string[] }).finalizers?.length;
        if (!held) await store.write(key, () => ({ action: "delete" }));
      }
    },
  });
  const watch = store.watch({ scope: prefix, after: store.revision, onReady: () => {} });
  const put = async (
    object: JsonObject,
    key = `${prefix}${(object["metadata"] as { name: string }).name}`,
  ): Promise<void> => {
    await store.write(key, () => ({ action: "put", value: object }));
  };
  const conditions = (name: string): string[] => {
    const status = store.get(`${prefix}${name}.example.org`)?.value["status"] as
      | { conditions?: Record<string, string>[] }
      | undefined;
    return (status?.conditions ?? []).map((one) => `${one["type"]}=${one["status"]} ${one["reason"]}`);
  };
  t.after(async () => {
    watch.close();
    await controller.stop();
    await store.close();
  });
  controller.start();
  return { store, registry, controller, put, conditions, ended, deleted, watch, directory };
}

const established = ["NamesAccepted=True NoConflicts", "Established=True InitialNamesAccepted"];

test("a definition is named, served and then established, and watchers see each step", async (t) => {
  const { put, conditions, registry, watch } = setUp(t);
  await put(crd("widgets", "Widget"));
  await eventually(t, () => assert.deepEqual(conditions("widgets"), established));
  const seen: string[][] = [];
  for (let changes = watch.take(); changes.length > 0; changes = watch.take()) {
    for (const { entry } of changes) {
      const status = entry?.value["status"] as { conditions?: Record<string, string>[] | null };
      seen.push((status.conditions ?? []).map((one) => `${one["type"]}=${one["status"]}`));
    }
  }
  assert.deepEqual(seen, [[], ["NamesAccepted=True", "Established=False"], ["NamesAccepted=True", "Established=True"]]);
  const type = registry.catalog.find("example.org", "v1", "widgets");
  assert.deepEqual(
    [type?.kind, type?.listKind, type?.subresources.map(({ name }) => name)],
    ["Widget", "WidgetList", ["status"]],
  );
});

test("the kind of a definition is served before the definition is established", async (t) => {
  const { put, registry, store } = setUp(t);
  const served: boolean[] = [];
  const changed = store.watch({
    scope: prefix,
    after: store.revision,
    onReady: () => {
      for (let changes = changed.take(); changes.length > 0; changes = changed.take()) {
        const isEstablished = changes.some(
          ({ entry }) => entry !== undefined && isConditionTrue(entry.value, "Established"),
        );
        if (isEstablished) served.push(registry.catalog.find("example.org", "v1", "widgets") !== undefined);
      }
    },
  });
  // Before the end of the test, which closes the store under its watchers.
  using _ = { [Symbol.dispose]: () => changed.close() };
  await put(crd("widgets", "Widget"));
  await eventually(t, () => assert.deepEqual(served, [true]));
});

test("a kind that is taken is refused until its owner goes", async (t) => {
  const { put, conditions, store } = setUp(t);
  await put(crd("widgets", "Widget"));
  await eventually(t, () => assert.deepEqual(conditions("widgets"), established));
  await put(
    crd("gadgets", "Widget", {
      names: { plural: "gadgets", singular: "gadget", kind: "Widget", listKind: "GadgetList" },
    }),
  );
  await eventually(t, () =>
    assert.deepEqual(conditions("gadgets"), ["NamesAccepted=False KindConflict", "Established=False NotAccepted"]),
  );
  const status = store.get(`${prefix}gadgets.example.org`)?.value["status"] as { conditions: Record<string, string>[] };
  assert.equal(status.conditions[0]?.["message"], '"Widget" is already in use');
  await store.write(`${prefix}widgets.example.org`, () => ({ action: "delete" }));
  await eventually(t, () => assert.deepEqual(conditions("gadgets"), established));
});

test("the served kinds change once for each definition that comes or goes", async (t) => {
  const { put, conditions, store, registry, controller } = setUp(t);
  const names = ["as", "bs", "cs"];
  const before = registry.catalog.generation;
  for (const name of names) await put(crd(name, name.toUpperCase()));
  for (const name of names) await eventually(t, () => assert.deepEqual(conditions(name), established));
  await controller.settled();
  assert.equal(registry.catalog.generation, before + names.length);
  await store.write(`${prefix}as.example.org`, () => ({ action: "delete" }));
  await eventually(t, () => assert.equal(registry.catalog.find("example.org", "v1", "as"), undefined));
  await controller.settled();
  assert.equal(registry.catalog.generation, before + names.length + 1);
});

test("a definition with an integer beyond 2^53 is established", async (t) => {
  const { put, conditions } = setUp(t);
  const openAPIV3Schema = { type: "object", properties: { a: { type: "integer", default: 9007199254740993n } } };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  await put(crd("widgets", "Widget", { versions }));
  await eventually(t, () => assert.deepEqual(conditions("widgets"), established));
});

test("what was established is served again right after a restart", async (t) => {
  const first = setUp(t);
  await first.put(crd("widgets", "Widget"));
  await eventually(t, () => assert.deepEqual(first.conditions("widgets"), established));
  await first.controller.stop();
  await first.store.close();
  const second = setUp(t, first.directory);
  assert.equal(second.registry.catalog.find("example.org", "v1", "widgets")?.kind, "Widget");
});

test("a changed definition ends the watches of its objects and changes how they are read", async (t) => {
  const { put, conditions, controller, registry, ended, store } = setUp(t);
  await put(crd("widgets", "Widget"));
  await eventually(t, () => assert.deepEqual(conditions("widgets"), established));
  const type = registry.catalog.find("example.org", "v1", "widgets");
  assert.ok(type);
  const decode = (): unknown =>
    controller
      .strategyOf(type)
      .decoder.decode({ apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "w" }, spec: {}, extra: 1 });
  assert.deepEqual((decode() as { unknownFields: string[] }).unknownFields, ["extra"]);
  const current = store.get(`${prefix}widgets.example.org`)?.value as JsonObject;
  const spec = structuredClone(current["spec"]) as {
    versions: { schema: { openAPIV3Schema: { properties: Record<string, JsonObject> } } }[];
  };
  const [version] = spec.versions;
  if (version) version.schema.openAPIV3Schema.properties["extra"] = { type: "integer", default: 7 };
  const metadata = { ...(current["metadata"] as JsonObject), generation: 2 };
  await put({ ...current, metadata, spec: spec });
  // At once: the writer may send an object with the new field next.
  assert.deepEqual((decode() as { unknownFields: string[] }).unknownFields, []);
  assert.deepEqual(ended, ["widgets.example.org"]);
});

test("a definition goes after its objects, and waits for one that is held", async (t) => {
  const { put, conditions, registry, store, deleted } = setUp(t);
  await put(crd("widgets", "Widget"));
  await eventually(t, () => assert.deepEqual(conditions("widgets"), established));
  const object = (finalizers: string[]): JsonObject => ({
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: { name: "w", finalizers },
  });
  await put(object(["held"]), "/example.org/widgets/ns/w");
  const current = store.get(`${prefix}widgets.example.org`)?.value as JsonObject;
  const metadata = { ...(current["metadata"] as JsonObject), deletionTimestamp: "2026-01-01T00:00:00Z" };
  const marked = crdRules(time).markDeleted?.({ ...current, metadata }) as JsonObject;
  assert.deepEqual((marked["metadata"] as { finalizers: string[] }).finalizers, [cleanupFinalizer]);
  await put(marked);
  await eventually(t, () => assert.ok(conditions("widgets").includes("Terminating=True InstanceDeletionInProgress")));
  await eventually(t, () =>
    assert.deepEqual(registry.catalog.find("example.org", "v1", "widgets")?.verbs, [
      "delete",
      "deletecollection",
      "get",
      "list",
      "watch",
    ]),
  );
  await put(object([]), "/example.org/widgets/ns/w");
  await eventually(t, () => assert.equal(store.get(`${prefix}widgets.example.org`), undefined));
  await eventually(t, () => assert.equal(registry.catalog.find("example.org", "v1", "widgets"), undefined));
  assert.ok(deleted.length >= 2);
});

/** A store whose disk is full for its first writes. */
function fullAtFirst(store: Store<JsonObject>, refusals: number): Store<JsonObject> {
  let left = refusals;
  const write: Store<JsonObject>["write"] = (key, decide) => {
    left -= 1;
    if (left >= 0) return Promise.reject(new StoreError("unavailable", "the disk is full"));
    return store.write(key, decide);
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "write") return write;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

test("a definition whose status could not be written is looked at again", async (t) => {
  const store = openStore<JsonObject>({ directory: tempDirectory(), codec: objectCodec });
  const failures: unknown[] = [];
  const controller = new CrdController({
    conversion,
    store: fullAtFirst(store, 3),
    registry: new Registry(testTypes),
    now: time,
    retryDelayMs: 1,
    onError: (error) => failures.push(error),
    endWatches: () => {},
    deleteObjects: () => Promise.resolve(),
  });
  t.after(async () => {
    await controller.stop();
    await store.close();
  });
  controller.start();
  const key = `${prefix}widgets.example.org`;
  await store.write(key, () => ({ action: "put", value: crd("widgets", "Widget") }));
  await eventually(t, () => assert.ok(isConditionTrue(store.get(key)?.value ?? {}, "Established")));
  assert.equal(failures.length, 3);
});
