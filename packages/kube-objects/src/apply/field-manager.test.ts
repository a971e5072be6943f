// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isConflict } from "../errors/status-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ManagedFieldsEntry } from "../object/kube-object.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { createFieldManager, type FieldManager } from "./field-manager.ts";
import { difference, emptySet, equalSets, type FieldSet, intersection, isEmptySet, union } from "./field-set.ts";
import { decodeFieldsV1 } from "./fields-v1.ts";
import { decodeManagers, encodeManagers, managedFieldsOf, managerName } from "./managers.ts";
import { changedVersions, widgetVersions } from "./testdata/widget.ts";
import { compareTyped } from "./typed-compare.ts";
import { fieldSetOf } from "./typed-field-set.ts";

const v1 = "example.org/v1";
const at = (seconds: number): Date => new Date(Date.UTC(2030, 0, 1, 0, 0, seconds));

function managerAt(seconds: number): FieldManager {
  return createFieldManager({ apiVersion: v1, kind: "Widget", versions: widgetVersions, now: () => at(seconds) });
}

const widget = (spec: Record<string, JsonValue>, metadata: Record<string, JsonValue> = {}): JsonObject =>
  deepFreeze({ apiVersion: v1, kind: "Widget", metadata: { name: "w", namespace: "ns", uid: "u", ...metadata }, spec });

const entriesOf = (object: JsonObject): readonly ManagedFieldsEntry[] => managedFieldsOf(object) ?? [];
const namesOf = (object: JsonObject): string[] =>
  entriesOf(object).map(({ manager, operation }) => `${manager}:${operation}`);

test("an update that changes nothing leaves entries and times alone", () => {
  const live = managerAt(1).update(undefined, widget({ replicas: 1 }), "a").object;
  const { object } = managerAt(9).update(deepFreeze(live), widget({ replicas: 1 }), "b");
  assert.deepEqual(object, live);
});

test("an update's entry gets a new time when it gains fields, and others keep theirs", () => {
  const one = deepFreeze(managerAt(1).update(undefined, widget({ replicas: 1, name: "x" }), "a").object);
  const two = managerAt(2).update(one, widget({ replicas: 2, name: "x" }), "b").object;
  assert.deepEqual(
    entriesOf(two).map(({ manager, time }) => [manager, time]),
    [
      ["a", "2030-01-01T00:00:01Z"],
      ["b", "2030-01-01T00:00:02Z"],
    ],
  );
});

test("a manager that applies what is there already owns it, without a time", () => {
  const live = deepFreeze(managerAt(1).apply(undefined, widget({ replicas: 1 }), { manager: "a", force: false }));
  const shared = managerAt(5).apply(live, widget({ replicas: 1 }), { manager: "b", force: false });
  assert.deepEqual(
    entriesOf(shared).map(({ manager, time }) => [manager, time]),
    [
      ["b", undefined],
      ["a", "2030-01-01T00:00:01Z"],
    ],
  );
});

test("a manager without a name is unknown", () => {
  assert.deepEqual(namesOf(managerAt(1).update(undefined, widget({ replicas: 1 }), "").object), ["unknown:Update"]);
});

test("applying nothing that is recorded leaves no entry", () => {
  const applied = managerAt(1).apply(
    undefined,
    { apiVersion: v1, kind: "Widget", metadata: { name: "w" } },
    {
      manager: "a",
      force: false,
    },
  );
  assert.deepEqual(entriesOf(applied), []);
});

test("twelve updaters become ten: the oldest are counted together", () => {
  let live = managerAt(0).update(undefined, widget({ tags: { t0: "x" } }), "m0").object;
  for (let i = 1; i < 12; i++) {
    const tags = Object.fromEntries(Array.from({ length: i + 1 }, (_, n) => [`t${n}`, "x"]));
    live = managerAt(i).update(deepFreeze(live), widget({ tags }), `m${i}`).object;
  }
  assert.equal(entriesOf(live).length, 10);
  const ancient = entriesOf(live).find(({ manager }) => manager === "ancient-changes");
  assert.equal(ancient?.time, "2030-01-01T00:00:02Z");
  assert.deepEqual(ancient?.fieldsV1, {
    "f:spec": { ".": {}, "f:tags": { ".": {}, "f:t0": {}, "f:t1": {}, "f:t2": {} } },
  });
});

test("managedFields in an update: left out they stay, edited they replace, spoiled they stay, reset they go", () => {
  const manager = managerAt(3);
  const live = deepFreeze(manager.apply(undefined, widget({ replicas: 1 }), { manager: "a", force: false }));
  const send = (managedFields: JsonValue): JsonObject =>
    manager.update(live, widget({ replicas: 1 }, { managedFields }), "x").object;
  const edited = [{ ...entriesOf(live)[0], manager: "renamed" }];
  assert.deepEqual(namesOf(manager.update(live, widget({ replicas: 1 }), "x").object), ["a:Apply"]);
  assert.deepEqual(namesOf(send(edited)), ["renamed:Apply"]);
  assert.deepEqual(namesOf(send([{ manager: "broken" }])), ["a:Apply"]);
  assert.deepEqual(namesOf(send("nonsense")), ["a:Apply"]);
  assert.deepEqual(namesOf(send([])), []);
  assert.deepEqual(namesOf(send([{}])), []);
  assert.deepEqual(namesOf(send([{ manager: "", time: null }])), []);
  const viaStatus = createFieldManager({
    apiVersion: v1,
    kind: "Widget",
    versions: widgetVersions,
    subresource: "status",
    now: () => at(4),
  });
  assert.deepEqual(namesOf(viaStatus.update(live, widget({ replicas: 1 }, { managedFields: [] }), "x").object), [
    "a:Apply",
  ]);
});

test("edited managedFields are written in canonical order", () => {
  const manager = managerAt(3);
  const live = manager.update(undefined, widget({ replicas: 1, name: "n" }), "a").object;
  const shuffled = { ...entriesOf(live)[0], manager: "b", fieldsV1: { "f:spec": { "f:replicas": {}, "f:name": {} } } };
  const sent = widget({ replicas: 1, name: "n" }, { managedFields: [shuffled] });
  const { object } = manager.update(deepFreeze(live), sent, "x");
  assert.equal(JSON.stringify(entriesOf(object)[0]?.fieldsV1), '{"f:spec":{"f:name":{},"f:replicas":{}}}');
});

test("an object that does not fit its schema loses its managedFields, and says why", () => {
  const live = deepFreeze(managerAt(1).update(undefined, widget({ replicas: 1 }), "a").object);
  const { object, problem } = managerAt(2).update(live, widget({ replicas: "many" }), "b");
  assert.deepEqual(entriesOf(object), []);
  assert.equal(
    problem?.message,
    "failed to convert new object (ns/w; example.org/v1, Kind=Widget) to smd typed: .spec.replicas: expected numeric (int or float), got string",
  );
});

test("apply refuses a live object whose managedFields make no sense, and one that does not fit its schema", () => {
  const apply = (live: JsonObject): unknown =>
    managerAt(1).apply(live, widget({ replicas: 1 }), { manager: "a", force: true });
  const entry = { manager: "x", operation: "Update", apiVersion: v1, fieldsType: "FieldsV1" };
  const broken = (fields: Record<string, JsonValue>): JsonObject =>
    widget({}, { managedFields: [{ ...entry, ...fields }] });
  const rows: ReadonlyArray<readonly [JsonObject, RegExp]> = [
    [broken({ operation: "Create" }), /^failed to decode managed fields: operation must be `Apply` or `Update`$/],
    [broken({ apiVersion: "" }), /^failed to decode managed fields: apiVersion must not be empty$/],
    [broken({ fieldsType: "" }), /missing fieldsType in managed fields entry 0$/],
    [broken({ fieldsType: "V2" }), /invalid fieldsType "V2" in managed fields entry 0$/],
    [broken({ fieldsV1: { x: {} } }), /error decoding set of managed fields entry 0: key must be 2 characters long:$/],
    [widget({ replicas: "x" }), /^failed to create manager for existing fields: failed to convert new object/],
  ];
  for (const [live, message] of rows) assert.throws(() => apply(live), { message });
});

test("a version that is gone takes its managers with it", () => {
  const entry = { manager: "old", operation: "Apply", apiVersion: "example.org/v0", fieldsType: "FieldsV1" };
  const live = widget({ name: "n" }, { managedFields: [{ ...entry, fieldsV1: { "f:spec": { "f:name": {} } } }] });
  const applied = managerAt(1).apply(live, widget({ name: "m" }), { manager: "a", force: false });
  assert.deepEqual(namesOf(applied), ["a:Apply"]);
});

test("a field that became atomic is owned as a whole by the managers of its parts", () => {
  const live = deepFreeze(managerAt(1).apply(undefined, widget({ tags: { a: "1" } }), { manager: "a", force: false }));
  const changed = createFieldManager({ apiVersion: v1, kind: "Widget", versions: changedVersions, now: () => at(2) });
  assert.throws(
    () => changed.apply(live, widget({ tags: { b: "1" } }), { manager: "b", force: false }),
    (error: unknown) => isConflict(error) && /\.spec\.tags$/.test((error as Error).message),
  );
});

test("kubectl moves from client-side to server-side apply without conflicts, and its annotation follows", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  const config = { apiVersion: v1, kind: "Widget", metadata: { name: "w", namespace: "ns" }, spec: { replicas: 1 } };
  const annotated = widget({ replicas: 1 }, { annotations: { [annotation]: `${JSON.stringify(config)}\n` } });
  const live = deepFreeze(managerAt(1).update(undefined, annotated, "kubectl-client-side-apply").object);
  const next = { ...config, spec: { replicas: 2 } };
  const apply = (manager: string): JsonObject => managerAt(2).apply(live, next, { manager, force: false });
  assert.throws(() => apply("third"), isConflict);
  const applied = apply("kubectl");
  const metadata = applied["metadata"] as JsonObject;
  assert.equal(
    (metadata["annotations"] as JsonObject)[annotation],
    '{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w","namespace":"ns"},"spec":{"replicas":2}}\n',
  );
});

test("names of managers from user agents", () => {
  const rows: ReadonlyArray<readonly [string | undefined, string | undefined, string]> = [
    ["mine", "kubectl/v1.36", "mine"],
    ["", "kubectl/v1.36 (linux)", "kubectl"],
    [undefined, "Mozilla 5.0", "Mozilla 5.0"],
    [undefined, undefined, ""],
    [undefined, "a\u0000b\u00a0c/1", "abc"],
    [undefined, "é".repeat(100), "é".repeat(64)],
  ];
  for (const [fieldManager, userAgent, want] of rows) assert.equal(managerName(fieldManager, userAgent), want);
});

test("entries are read and written the same", () => {
  const entries: ManagedFieldsEntry[] = [
    { manager: "b", operation: "Apply", apiVersion: v1, fieldsType: "FieldsV1", fieldsV1: { "f:a": {} } },
    {
      manager: "a",
      operation: "Apply",
      apiVersion: v1,
      time: "2020-01-01T00:00:00Z",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:b": {} },
      subresource: "status",
    },
    { operation: "Update", apiVersion: v1, fieldsType: "FieldsV1", fieldsV1: { "f:c": {} } },
  ];
  assert.deepEqual(encodeManagers(decodeManagers(entries, "client")), entries);
  assert.deepEqual(encodeManagers(decodeManagers(entries, "live")), entries);
});

// Random configurations of the widget, small enough to collide often.
const text = fc.constantFrom("a", "b", "c");
const spec = fc.record(
  {
    replicas: fc.nat(3),
    name: text,
    tags: fc.dictionary(text, text, { maxKeys: 3 }),
    args: fc.array(text, { maxLength: 3 }),
    zones: fc.uniqueArray(text, { maxLength: 3 }),
    atomicMap: fc.record({ k: text, v: text }, { requiredKeys: [] }),
    free: fc.dictionary(text, fc.dictionary(text, fc.nat(2), { maxKeys: 2 }), { maxKeys: 2 }),
    ports: fc.uniqueArray(
      fc.record({ port: fc.integer({ min: 80, max: 82 }), name: text }, { requiredKeys: ["port"] }),
      { selector: ({ port }) => port, maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
);
const actions = fc.array(
  fc.record({ who: fc.constantFrom("a", "b", "c"), spec, force: fc.boolean(), update: fc.boolean() }),
  { minLength: 1, maxLength: 6 },
);

type Actions = typeof actions extends fc.Arbitrary<infer T> ? T : never;

function play(list: Actions): JsonObject | undefined {
  let live: JsonObject | undefined;
  for (const [index, action] of list.entries()) {
    const manager = managerAt(index);
    const config = widget(action.spec as Record<string, JsonValue>);
    try {
      const next = action.update
        ? manager.update(live, config, action.who).object
        : manager.apply(live, config, { manager: action.who, force: action.force });
      live = deepFreeze(next);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
  return live;
}

const widgetType = widgetVersions.typeAt(v1);
const without = (object: JsonObject): JsonObject => {
  const { managedFields: _dropped, ...metadata } = object["metadata"] as JsonObject;
  return { ...object, metadata };
};

test("property: applying the same again returns the very object, at any later time", () => {
  fc.assert(
    fc.property(actions, spec, (list, wanted) => {
      const live = play(list);
      const config = widget(wanted as Record<string, JsonValue>);
      const once = deepFreeze(managerAt(20).apply(live, config, { manager: "me", force: true }));
      assert.equal(
        managerAt(30).apply(once, structuredClone(config) as JsonObject, { manager: "me", force: false }),
        once,
      );
    }),
    { numRuns: 300 },
  );
});

test("property: after a forced apply every field of the configuration has its value and its owner", () => {
  fc.assert(
    fc.property(actions, spec, (list, wanted) => {
      assert.ok(widgetType);
      const config = widget(wanted as Record<string, JsonValue>);
      const applied = managerAt(20).apply(play(list), config, { manager: "me", force: true });
      const { modified, removed } = compareTyped(widgetType, config, without(applied));
      const mentioned = fieldSetOf(widgetType, config);
      assert.ok(isEmptySet(intersection(mentioned, union(modified, removed))), "the configuration holds");
      const mine = entriesOf(applied).find(({ manager, operation }) => manager === "me" && operation === "Apply");
      const set = mine?.fieldsV1 ? decodeFieldsV1(mine.fieldsV1) : emptySet;
      assert.ok(isEmptySet(difference(set, mentioned)), "and nothing else is mine");
    }),
    { numRuns: 300 },
  );
});

test("property: every owned field exists, and every manager owns something", () => {
  fc.assert(
    fc.property(actions, (list) => {
      const live = play(list);
      if (!live || !widgetType) return;
      const present = presentFields(live);
      for (const { fieldsV1 } of entriesOf(live)) {
        const set = fieldsV1 ? decodeFieldsV1(fieldsV1) : emptySet;
        assert.ok(!isEmptySet(set), "no manager without fields");
        assert.ok(equalSets(intersection(set, present), set), JSON.stringify(fieldsV1));
      }
    }),
    { numRuns: 300 },
  );
});

// All paths of an object, containers too: those a create of it would own.
function presentFields(object: JsonObject): FieldSet {
  const { object: created } = managerAt(0).update(undefined, without(object), "all");
  const [entry] = entriesOf(created);
  return entry?.fieldsV1 ? decodeFieldsV1(entry.fieldsV1) : emptySet;
}

test("property: updates never share: a field that an update just changed has no other manager", () => {
  fc.assert(
    fc.property(actions, spec, (list, wanted) => {
      const live = play(list);
      const next = widget(wanted as Record<string, JsonValue>);
      const { object } = managerAt(20).update(live, next, "last");
      const last = entriesOf(object).find(({ manager, time }) => manager === "last" && time === "2030-01-01T00:00:20Z");
      if (!last?.fieldsV1 || !live || !widgetType) return;
      const { added, modified } = compareTyped(widgetType, without(live), without(object));
      for (const entry of entriesOf(object)) {
        if (entry === last || !isJsonObject(entry.fieldsV1)) continue;
        const shared = intersection(decodeFieldsV1(entry.fieldsV1), union(added, modified));
        assert.ok(isEmptySet(shared), JSON.stringify(entry.fieldsV1));
      }
    }),
    { numRuns: 300 },
  );
});

test("integers of 64 bits survive, and one more is a change", () => {
  const big = 9007199254740993n;
  const live = deepFreeze(
    managerAt(1).apply(undefined, widget({ replicas: big, nums: [big] }), { manager: "a", force: false }),
  );
  assert.equal((live["spec"] as JsonObject)["replicas"], big);
  assert.equal(managerAt(2).apply(live, widget({ replicas: big, nums: [big] }), { manager: "a", force: false }), live);
  const more = widget({ replicas: big + 1n, nums: [big] });
  assert.throws(() => managerAt(2).apply(live, more, { manager: "b", force: false }), isConflict);
  assert.deepEqual(entriesOf(live)[0]?.fieldsV1, {
    "f:spec": { "f:nums": { [`v:${big}`]: {} }, "f:replicas": {} },
  });
});

test("keys called __proto__ and constructor are fields like any other", () => {
  const spec = JSON.parse('{"tags":{"__proto__":"x","constructor":"y"},"free":{"__proto__":{"deep":1}}}') as JsonObject;
  const live = deepFreeze(managerAt(1).apply(undefined, widget({ ...spec }), { manager: "a", force: false }));
  const fields = JSON.stringify(entriesOf(live)[0]?.fieldsV1);
  assert.match(fields, /"f:tags":\{"f:__proto__":\{\},"f:constructor":\{\}\}/);
  assert.equal(JSON.stringify(live["spec"]), JSON.stringify(spec));
  const fewer = managerAt(2).apply(live, widget({ tags: { constructor: "y" } }), { manager: "a", force: false });
  assert.equal(JSON.stringify(fewer["spec"]), '{"tags":{"constructor":"y"}}');
});

test("objects as deep as any body may be are applied and updated", () => {
  let deep: JsonValue = { leaf: 1 };
  for (let i = 0; i < 980; i++) deep = { a: deep };
  const config = widget({ free: deep });
  const live = deepFreeze(managerAt(1).apply(undefined, config, { manager: "a", force: false }));
  assert.equal(managerAt(2).apply(live, widget({ free: structuredClone(deep) }), { manager: "a", force: false }), live);
  const { problem } = managerAt(3).update(live, widget({ free: { a: 1 } }), "b");
  assert.equal(problem, undefined);
  const emptied = managerAt(4).apply(live, widget({}), { manager: "a", force: false });
  assert.equal(emptied["spec"], null, "a container nothing is left in is null, for defaulting to decide about");
});

test("kubectl's annotation is given up when it would be too large", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  const config = widget({ name: "x".repeat(200_000) }, { annotations: { other: "y".repeat(100_000) } });
  const live = widget({ name: "n" }, { annotations: { [annotation]: "{}" } });
  const applied = managerAt(1).apply(live, config, { manager: "kubectl", force: true });
  assert.deepEqual(Object.keys((applied["metadata"] as JsonObject)["annotations"] as JsonObject), ["other"]);
});
