// SPDX-License-Identifier: Apache-2.0
// Objects whose lists and maps are as long as a request allows, against every schema keyword that costs something per item: created,
// replaced, merged and applied. The server stays responsive, uses a bounded amount of memory, and answers as an API server answers.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countJsonValues, type JsonObject } from "@purlin/kube-objects/json";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, objectNamed, objectsOf, sendJson, sendText } from "./attacked-kind.ts";
import { type FieldAttack, fieldAttacks } from "./field-attacks.ts";

const server = await startAttackedServer();
const properties = Object.fromEntries(fieldAttacks.map(({ field, schema }) => [field, schema]));
await define(server.target, "Attacked", definition("Attacked", properties));
after(() => server[Symbol.asyncDispose]());

const path = objectsOf("Attacked");
const nameOf = (attack: FieldAttack, how: string): string => `${attack.field}-${how}`.toLowerCase();

/** The ways to write an object: a new one, and changes of one that is there. */
const writes: Record<string, (name: string, spec: JsonObject) => Parameters<typeof sendJson>> = {
  create: (name, spec) => [server.target, ["POST", path], objectNamed("Attacked", name, spec)],
  merge: (name, spec) => [server.target, ["PATCH", `${path}/${name}`], { spec }, "application/merge-patch+json"],
  apply: (name, spec) => [
    server.target,
    ["PATCH", `${path}/${name}?fieldManager=hostile&force=true`],
    objectNamed("Attacked", name, spec),
    "application/apply-patch+yaml",
  ],
  json: (name, spec) => [
    server.target,
    ["PATCH", `${path}/${name}`],
    [{ op: "add", path: "/spec", value: spec }],
    "application/json-patch+json",
  ],
};

/** Formats differ in nothing but one function: one way to write them is enough. */
const waysOf = ({ field }: FieldAttack): string[] => (field.startsWith("format") ? ["create"] : Object.keys(writes));

/** As many items as the attack has, or as many as a body may have values. */
function countOf({ count, fitting }: FieldAttack): number {
  const sample = fitting?.(100);
  if (sample === undefined || typeof sample === "string") return count;
  return Math.min(count, Math.floor(90_000 / (countJsonValues(JSON.stringify(sample)) / 100)));
}

for (const attack of fieldAttacks) {
  const count = countOf(attack);
  for (const how of ["fitting", "wrong"] as const) {
    const makeValue = attack[how];
    if (makeValue === undefined) continue;
    for (const way of waysOf(attack)) {
      test(`${count} items of ${attack.field}, ${how}, by ${way}`, async () => {
        const name = nameOf(attack, `${how}-${way}`);
        const isNew = way === "create";
        if (!isNew) assert.equal((await sendJson(...call("create", name, {}))).code, 201);
        const { code, text } = await server.during(name, () =>
          sendJson(...call(way, name, { [attack.field]: makeValue(count) })),
        );
        // As Kubernetes says it of an apply that the schema does not allow.
        const isUntyped = code === 500 && way === "apply" && text.includes("failed to create typed patch object");
        assert.ok(isUntyped || [200, 201, 400, 413, 422].includes(code), `${code}: ${text.slice(0, 300)}`);
        const isRefused = attack.field === "longPattern" || (way === "apply" && attack.field.startsWith("unknown"));
        if (how === "fitting" && !isRefused) assert.ok(code < 300, `${code}: ${text.slice(0, 300)}`);
        if (code === 422) assert.ok(text.length < 1_500_000, `the response has ${text.length} characters`);
        await sendJson(server.target, ["DELETE", `${path}/${name}`]);
      });
    }
  }
}

function call(way: string, name: string, spec: JsonObject): Parameters<typeof sendJson> {
  const write = writes[way];
  assert.ok(write);
  return write(name, spec);
}

test("the findings of a list are a hundred, in the words of Kubernetes, and say that there may be more", async () => {
  const spec = { numbers: Array.from({ length: 95_000 }, () => 9) };
  const { code, body } = await sendJson(...call("create", "bounded", spec));
  const { message, details } = body as { readonly message: string; readonly details: { readonly causes: unknown[] } };
  assert.equal(code, 422);
  assert.match(
    message,
    /spec\.numbers\[0\]: Invalid value: 9: spec\.numbers\[0\] in body should be less than or equal to 5/,
  );
  assert.match(message, /only the first 100 errors are shown: correct them to see whether there are more/);
  assert.equal(details.causes.length, 101);
});

test("an update of an object that is wrong in a hundred places is still refused for another one", async () => {
  const loose = definition("Ratcheted", {
    numbers: { type: "array", items: { type: "integer" }, "x-kubernetes-list-type": "atomic" },
    one: { type: "integer" },
  });
  await define(server.target, "Ratcheted", loose);
  const objects = objectsOf("Ratcheted");
  const numbers = Array.from({ length: 500 }, () => 9);
  assert.equal(
    (await sendJson(server.target, ["POST", objects], objectNamed("Ratcheted", "a", { numbers }))).code,
    201,
  );
  const strict = definition("Ratcheted", {
    numbers: { type: "array", items: { type: "integer", maximum: 5 }, "x-kubernetes-list-type": "atomic" },
    one: { type: "integer", maximum: 5 },
  });
  const patch = { spec: strict["spec"] };
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ratcheteds.hostile.example.org";
  assert.equal((await sendJson(server.target, ["PATCH", crds], patch, "application/merge-patch+json")).code, 200);
  const change = (spec: JsonObject): ReturnType<typeof sendJson> =>
    sendJson(server.target, ["PATCH", `${objects}/a`], { spec }, "application/merge-patch+json");
  while ((await sendJson(server.target, ["POST", objects], objectNamed("Ratcheted", "b", { one: 9 }))).code !== 422);
  assert.equal((await change({ one: 1 })).code, 200, "what was wrong before is not blamed on the update");
  assert.equal((await change({ one: 9 })).code, 422, "what the update makes wrong is");
});

test("more values than an object may have are refused before anything is made of them", async () => {
  for (const items of ["0,".repeat(1_400_000), '"",'.repeat(900_000), "[],".repeat(900_000), "{},".repeat(900_000)]) {
    const body = `{"apiVersion":"hostile.example.org/v1","kind":"Attacked","metadata":{"name":"x"},"spec":{"numbers":[${items}0]}}`;
    const { code, text } = await server.during(`refused ${items.slice(0, 3)}`, () =>
      sendText(server.target, ["POST", path], body, "application/json"),
    );
    assert.equal(code, 413, text.slice(0, 300));
    assert.match(text, /limit is 100000 values/);
  }
});

test("memory stayed below the figure stated", () => {
  server.requireBoundedMemory();
});
