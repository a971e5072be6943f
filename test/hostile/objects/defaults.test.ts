// SPDX-License-Identifier: Apache-2.0
// Objects that ask for far more defaults than they are large: every item of a list gets those of its schema.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, definitions, objectNamed, objectsOf, sendJson } from "./attacked-kind.ts";

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

const texts = (count: number, value: JsonObject | string): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, value]));
const listOf = (properties: JsonObject): JsonObject => ({
  items: { type: "array", items: { type: "object", properties } },
});
const withDefaults = (count: number): JsonObject => listOf(texts(count, { type: "string", default: "d" }));

/** Name of the kind, its schema, items of the list, and the code of the response. */
const attacks: readonly (readonly [string, JsonObject, number, number])[] = [
  ["Few", withDefaults(9), 11_000, 201],
  ["Some", withDefaults(20), 40_000, 413],
  ["Many", withDefaults(10_000), 40_000, 413],
  [
    "Large",
    listOf({
      a: { type: "object", additionalProperties: { type: "string" }, default: texts(20_000, "d") },
    }),
    100,
    413,
  ],
];

for (const [kind, properties, items, code] of attacks) {
  test(`${items} empty items of ${kind}`, async () => {
    await define(server.target, kind, definition(kind, properties));
    const object = objectNamed(kind, "one", { items: Array.from({ length: items }, () => ({})) });
    await server.during(`create ${kind}`, async () => {
      const response = await sendJson(server.target, ["POST", objectsOf(kind)], object);
      assert.equal(response.code, code, response.text.slice(0, 1000));
      if (code === 413) assert.match(response.text, /the defaults of its schema add more than 100000 values/);
    });
    await server.during(`apply ${kind}`, async () => {
      const path = `${objectsOf(kind)}/two?fieldManager=hostile`;
      const applied = { ...object, metadata: { name: "two" } };
      const response = await sendJson(server.target, ["PATCH", path], applied, "application/apply-patch+yaml");
      assert.equal(response.code, code, response.text.slice(0, 1000));
    });
  });
}

test("an object that was stored before its schema had defaults stays readable and writable", async () => {
  const kind = "Later";
  const path = `${objectsOf(kind)}/one`;
  const plain = definition(kind, listOf(texts(10_000, { type: "string" })));
  await define(server.target, kind, plain);
  const items = Array.from({ length: 40_000 }, () => ({}));
  const object = objectNamed(kind, "one", { items });
  const held = { ...object, metadata: { name: "one", finalizers: ["hostile.example.org/held"] } };
  assert.equal((await sendJson(server.target, ["POST", objectsOf(kind)], held)).code, 201);
  const name = String((plain["metadata"] as JsonObject)["name"]);
  const current = (await sendJson(server.target, ["GET", `${definitions}/${name}`])).body as JsonObject;
  const { spec } = definition(kind, withDefaults(10_000));
  const changed = await sendJson(server.target, ["PUT", `${definitions}/${name}`], { ...current, spec: spec ?? {} });
  assert.equal(changed.code, 200, changed.text.slice(0, 1000));
  const written = async (request: readonly [string, string], body: JsonObject, type?: string): Promise<void> => {
    const { code, text } = await sendJson(server.target, request, body, type);
    assert.equal(code, 200, text.slice(0, 1000));
  };
  await server.during("get, list and delete", async () => {
    assert.equal((await sendJson(server.target, ["GET", path])).code, 200);
    assert.equal((await sendJson(server.target, ["GET", objectsOf(kind)])).code, 200);
    assert.equal((await sendJson(server.target, ["DELETE", path])).code, 200);
  });
  await server.during("update, patch and apply", async () => {
    const read = (await sendJson(server.target, ["GET", path])).body as JsonObject;
    const { metadata } = read as { readonly metadata: JsonObject };
    await written(["PUT", path], { ...read, metadata: { ...metadata, labels: { a: "b" } } });
    const applied = { ...object, metadata: { name: "one", labels: { c: "d" } } };
    await written(["PATCH", `${path}?fieldManager=hostile&force=true`], applied, "application/apply-patch+yaml");
    const withoutFinalizers = { metadata: { finalizers: null } };
    await written(["PATCH", path], withoutFinalizers, "application/merge-patch+json");
  });
  assert.equal((await sendJson(server.target, ["GET", path])).code, 404, "deleted with its last finalizer");
});

test("an update cannot make an object ask for too many defaults", async () => {
  const kind = "Growing";
  await define(server.target, kind, definition(kind, withDefaults(9)));
  const grown = { items: Array.from({ length: 12_000 }, () => ({})) };
  const created = await sendJson(server.target, ["POST", objectsOf(kind)], objectNamed(kind, "one", { items: [{}] }));
  assert.equal(created.code, 201, created.text.slice(0, 1000));
  for (const [type, force] of [
    ["application/merge-patch+json", ""],
    ["application/apply-patch+yaml", "&force=true"],
  ] as const) {
    const path = `${objectsOf(kind)}/one?fieldManager=hostile${force}`;
    const { code, text } = await sendJson(server.target, ["PATCH", path], objectNamed(kind, "one", grown), type);
    assert.equal(code, 413, text.slice(0, 1000));
  }
});

test("memory stays bounded", () => {
  server.requireBoundedMemory();
});
