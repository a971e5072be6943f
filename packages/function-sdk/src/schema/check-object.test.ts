// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, Struct } from "@purlin/function-protocol";
import { isFunctionError } from "../errors/function-error.ts";
import * as request from "../request.ts";
import { ComposedObject, fromObject } from "../resource/convert.ts";
import { newRequest } from "../testing/new-request.ts";
import { checkObject, decodeBySchema, requireValidObject } from "./check-object.ts";

const schema: JsonObject = {
  type: "object",
  required: ["spec"],
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    spec: {
      type: "object",
      required: ["replicas"],
      properties: {
        replicas: { type: "integer", minimum: 0 },
        mode: { type: "string", enum: ["a", "b"] },
        ports: {
          type: "array",
          items: { type: "object", properties: { port: { type: "integer" }, name: { type: "string" } } },
        },
      },
    },
  },
};

const good = { apiVersion: "v1", kind: "K", spec: { replicas: 1, mode: "a", ports: [{ port: 80 }] } };

const cases: Record<string, { object: object; paths: string[] }> = {
  Good: { object: good, paths: [] },
  WrongType: { object: { spec: { replicas: "three" } }, paths: ["spec.replicas"] },
  DeepWrongType: {
    object: { spec: { replicas: 1, ports: [{ port: 1 }, { port: "x" }] } },
    paths: ["spec.ports[1].port"],
  },
  Missing: { object: { spec: {} }, paths: ["spec.replicas"] },
  MissingAtRoot: { object: {}, paths: ["spec"] },
  BelowMinimum: { object: { spec: { replicas: -1 } }, paths: ["spec.replicas"] },
  NotInEnum: { object: { spec: { replicas: 1, mode: "c" } }, paths: ["spec.mode"] },
  Unknown: { object: { spec: { replicas: 1, replica: 1 } }, paths: ["spec.replica"] },
  UndefinedIsNotThere: { object: { spec: { replicas: 1, replica: undefined } }, paths: [] },
  Several: {
    object: { spec: { mode: "c", ports: [{ nam: "x" }] } },
    paths: ["spec.mode", "spec.replicas", "spec.ports[0].nam"],
  },
};

for (const [name, { object, paths }] of Object.entries(cases)) {
  test(`an object is checked against a schema: ${name}`, () => {
    const problems = checkObject(schema, object);
    assert.deepEqual(problems.map(({ path }) => path).sort(), [...paths].sort());
    for (const problem of problems) assert.equal(String(problem), `${problem.path}: ${problem.message}`);
  });
}

test("options: a part of an object, and unknown fields", () => {
  assert.deepEqual(checkObject(schema, {}, { partial: true }), []);
  assert.deepEqual(checkObject(schema, { spec: { replicas: 1, other: 1 } }, { unknownFields: "ignore" }), []);
});

test("an empty schema accepts anything", () => {
  assert.deepEqual(checkObject({}, good), []);
});

test("whatever holds the object is checked", () => {
  const bad = { spec: { replicas: "x" } };
  const struct = Struct.from(bad);
  for (const source of [bad, struct, new ComposedObject(struct), fromObject(bad), { toJSON: () => bad }]) {
    assert.deepEqual(
      checkObject(schema, source).map(({ path }) => path),
      ["spec.replicas"],
    );
  }
  assert.throws(
    () => checkObject(schema, { at: new Date(0) }),
    (error: unknown) => isFunctionError(error, "INVALID_RESOURCE"),
  );
});

test("requireValidObject throws everything that is wrong at once", () => {
  requireValidObject(schema, good);
  assert.throws(
    () => requireValidObject(schema, { spec: { replicas: "x", mod: "a" } }),
    (error: unknown) =>
      isFunctionError(error, "INVALID_OBJECT") &&
      error.message.includes("spec.replicas: ") &&
      error.message.includes('did you mean "mode"?'),
  );
});

test("an input is decoded by its schema", () => {
  interface Input {
    readonly spec: { readonly replicas: number };
  }
  const decode = decodeBySchema<Input>(schema);
  assert.equal(request.requireInput(newRequest({ input: good }), decode).spec.replicas, 1);
  assert.throws(
    () => request.getInput(newRequest({ input: { spec: {} } }), decode),
    (error: unknown) => isFunctionError(error, "INVALID_INPUT") && error.message.includes("spec.replicas"),
  );
});
