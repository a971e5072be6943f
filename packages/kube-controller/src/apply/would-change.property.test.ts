// SPDX-License-Identifier: Apache-2.0
// The prediction against the field manager of our API server, which is held to the reference's by its own tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFieldManager, customResourceType, type FieldManager, fieldSetOfPaths } from "@purlin/kube-objects/apply";
import { isConflict } from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { deepFreeze, type KubeObject } from "@purlin/kube-objects/object";
import fc from "fast-check";
import { wouldApplyChange } from "./would-change.ts";

const apiVersion = "example.org/v1";
const kind = "Widget";
const string = { type: "string" };
const integer = { type: "integer" };
const items = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
  items: {
    type: "object",
    properties: {
      name: string,
      size: integer,
      tags: { type: "array", "x-kubernetes-list-type": "set", items: string },
      parts: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: { type: "object", properties: { name: string, size: integer } },
      },
    },
  },
};
const ports = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["port", "protocol"],
  items: { type: "object", properties: { port: integer, protocol: string, name: string } },
};
const body = {
  type: "object",
  properties: {
    text: string,
    count: integer,
    nested: { type: "object", properties: { x: string, y: { type: "object", properties: { z: integer } } } },
    words: { type: "object", additionalProperties: string },
    structs: { type: "object", additionalProperties: { type: "object", properties: { x: string } } },
    lists: { type: "object", additionalProperties: { type: "array", items: string } },
    items,
    ports,
    set: { type: "array", "x-kubernetes-list-type": "set", items: string },
    atomic: { type: "array", items: { type: "object", properties: { name: string } } },
    whole: { type: "object", "x-kubernetes-map-type": "atomic", properties: { x: string, y: string } },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};
const type = customResourceType({ type: "object", properties: { spec: body, status: body } });

function managerOf(endpoint: "main" | "status"): FieldManager {
  const reset = endpoint === "main" ? [["status"]] : [["metadata"], ["spec"]];
  return createFieldManager({
    apiVersion,
    kind,
    versions: { typeAt: () => type },
    ...(endpoint === "status" && { subresource: "status" }),
    resetFields: new Map([[apiVersion, fieldSetOfPaths(reset)]]),
    now: () => new Date(0),
  });
}
const managers = { main: managerOf("main"), status: managerOf("status") };

const word = fc.constantFrom("a", "b", "c");
const number = fc.constantFrom(1, 2, 3);
const optional = <T extends Record<string, fc.Arbitrary<unknown>>>(model: T) => fc.record(model, { requiredKeys: [] });
const uniqueBy = <T>(arbitrary: fc.Arbitrary<T>, selector: (value: T) => unknown) =>
  fc.uniqueArray(arbitrary, { maxLength: 3, selector });
const namedOf = (rest: Record<string, fc.Arbitrary<unknown>>) =>
  uniqueBy(fc.record({ name: word, ...rest }, { requiredKeys: ["name"] }), ({ name }) => name);
const free = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    word,
    number,
    fc.constant([]),
    fc.dictionary(word, tie("value"), { maxKeys: 2 }),
    fc.array(word, { maxLength: 2 }),
  ),
}));
const port = fc.record({ port: number, protocol: word, name: word }, { requiredKeys: ["port", "protocol"] });
const content = optional({
  text: word,
  count: number,
  nested: optional({ x: word, y: optional({ z: number }) }),
  words: fc.dictionary(word, word, { maxKeys: 3 }),
  structs: fc.dictionary(word, optional({ x: word }), { maxKeys: 2 }),
  lists: fc.dictionary(word, fc.array(word, { maxLength: 2 }), { maxKeys: 2 }),
  items: namedOf({
    size: number,
    tags: fc.uniqueArray(word, { maxLength: 3 }),
    parts: namedOf({ size: number }),
  }),
  ports: uniqueBy(port, (one) => `${one.port}/${one.protocol}`),
  set: fc.uniqueArray(word, { maxLength: 3 }),
  atomic: fc.array(fc.record({ name: word }), { maxLength: 2 }),
  whole: optional({ x: word, y: word }),
  free: fc.dictionary(word, free.value, { maxKeys: 2 }),
});
const metadata = optional({
  labels: fc.dictionary(word, word, { maxKeys: 2 }),
  finalizers: fc.uniqueArray(word, { maxLength: 2 }),
});
const wanted = fc
  .record({ metadata, spec: content, status: content }, { requiredKeys: ["metadata"] })
  .map(
    ({ metadata: meta, ...rest }) => ({ apiVersion, kind, metadata: { name: "w", ...meta }, ...rest }) as KubeObject,
  );

// The main endpoint drops a status that is applied; to the prediction it is a field we do not own, so none is wanted.
const step = fc
  .record({
    by: fc.constantFrom("us", "them", "others"),
    how: fc.constantFrom("apply", "force", "update"),
    endpoint: fc.constantFrom("main" as const, "status" as const),
    object: wanted,
  })
  .map(({ object: { status, ...main }, ...rest }) => ({
    ...rest,
    object: (rest.endpoint === "main" || status === undefined ? main : { ...main, status }) as KubeObject,
  }));
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const json = (object: KubeObject): JsonObject => object;

/** What the server does around a field manager: an endpoint changes its own part only. */
function take(live: JsonObject, { by, how, endpoint, object }: Step): JsonObject {
  const manager = managers[endpoint];
  try {
    const after =
      how === "update"
        ? manager.update(live, onlyThrough(endpoint, live, { ...json(object), metadata: owned(object, live) }), by)
            .object
        : manager.apply(live, json(object), { manager: by, force: how === "force" });
    return deepFreeze(onlyThrough(endpoint, live, after));
  } catch (error) {
    if (isConflict(error)) return live;
    throw error;
  }
}

function onlyThrough(endpoint: "main" | "status", live: JsonObject, next: JsonObject): JsonObject {
  const [main, status] = endpoint === "main" ? [next, live] : [live, next];
  const { status: _status, ...rest } = main;
  const { managedFields: _before, ...meta } = main["metadata"] as JsonObject;
  const owners = managedFields(next);
  const metadata = { ...meta, uid: "u", ...(owners !== undefined && { managedFields: owners }) };
  return { ...rest, metadata, ...(status["status"] !== undefined && { status: status["status"] }) } as JsonObject;
}

/** An update sends back the managers that it read. */
function owned(object: KubeObject, live: JsonObject): JsonObject {
  const owners = managedFields(live);
  return { ...object.metadata, ...(owners !== undefined && { managedFields: owners }) };
}

const managedFields = (object: JsonObject): JsonValue | undefined =>
  (object["metadata"] as JsonObject)["managedFields"];

const bare: JsonObject = { apiVersion, kind, metadata: { name: "w", uid: "u", annotations: { by: "creator" } } };
const born: JsonObject = deepFreeze(managers.main.update(undefined, bare, "creator").object);

/** Histories that end with us wanting something: what we wanted last, that with a change, or anything. */
const history = fc.record({ steps: fc.array(step, { minLength: 1, maxLength: 5 }), final: step, again: fc.boolean() });

function finalStep({ steps, final, again }: { steps: readonly Step[]; final: Step; again: boolean }): Step {
  const last = steps.findLast(({ by, how }) => by === "us" && how !== "update");
  return again && last !== undefined ? { ...last, by: "us" } : { ...final, by: "us" };
}

/** An empty list may have no owned items, or be owned as a whole: the object does not say which. */
function hasEmptyList(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0 || value.some(hasEmptyList);
  return typeof value === "object" && value !== null && Object.values(value).some(hasEmptyList);
}

test("a predicted change happens, and no other change does", () => {
  const seen = { changed: 0, unchanged: 0 };
  fc.assert(
    fc.property(history, (one) => {
      const live = one.steps.reduce(take, born);
      // For an object without managers the prediction is always that an apply changes it.
      fc.pre(managedFields(live) !== undefined);
      const { endpoint, object } = finalStep(one);
      const predicted = wouldApplyChange(live as KubeObject, object, {
        fieldManager: "us",
        ...(endpoint === "status" && { subresource: "status" }),
      });
      const after = take(live, { by: "us", how: "force", endpoint, object });
      const changed = !jsonEqual(after, live);
      seen[changed ? "changed" : "unchanged"]++;
      const why = (): string => JSON.stringify({ live, wanted: object, endpoint, after }, null, 1);
      if (!predicted && changed) assert.fail(`a change was not foreseen: ${why()}`);
      if (predicted && !changed && !hasEmptyList(object)) assert.fail(`a change was foreseen in vain: ${why()}`);
    }),
    { numRuns: 1000 },
  );
  assert.ok(seen.changed > 100 && seen.unchanged > 100, `both sides are tried: ${JSON.stringify(seen)}`);
});

test("repeated applies of the same configuration are predicted as no change after the second one at the latest", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 4 }), step, (steps, last) => {
      const ours = { ...last, by: "us", how: "force" } as Step;
      // Once is not enough where the reference leaves a null behind: that becomes the empty map with the second apply.
      const live = take(take(steps.reduce(take, born), ours), ours);
      fc.pre(managedFields(live) !== undefined);
      const subresource = last.endpoint === "status" ? "status" : undefined;
      const { object } = last;
      fc.pre(!hasEmptyList(object));
      const predicted = wouldApplyChange(live as KubeObject, object, { fieldManager: "us", subresource });
      assert.equal(predicted, false, JSON.stringify({ live, wanted: object }, null, 1));
    }),
    { numRuns: 150 },
  );
});
