// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { hasMasked, isMasked, Mask, shownValue } from "./mask.ts";

const shown = (object: JsonObject, schema?: JsonObject): JsonValue => shownValue(new Mask().object(object, schema));
const secret = (data: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Secret",
  data,
  ...more,
});
const hidden = "(sensitive)";

describe("what is hidden", () => {
  test("the values of data and stringData of a Secret, and not its keys or type", () => {
    const object = secret({ a: "eA==", b: null }, { stringData: { c: "x" }, type: "Opaque", metadata: { name: "s" } });
    assert.deepEqual(shown(object), {
      ...object,
      data: { a: hidden, b: hidden },
      stringData: { c: hidden },
    });
  });

  test("Secrets inside of other objects", () => {
    assert.deepEqual(shown({ spec: { template: [secret({ a: "x" })] } }), {
      spec: { template: [secret({ a: hidden })] },
    });
  });

  test("data of other kinds, and of Secrets of other groups, is shown", () => {
    for (const object of [
      { apiVersion: "v1", kind: "ConfigMap", data: { a: "x" } },
      { apiVersion: "example.org/v1", kind: "Secret", data: { a: "x" } },
    ]) {
      assert.deepEqual(shown(object), object);
    }
  });

  test("annotations with the last applied configuration", () => {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", other: "x" };
    assert.deepEqual(shown({ metadata: { annotations } }), {
      metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": hidden, other: "x" } },
    });
  });

  const schemas: Readonly<Record<string, JsonObject>> = {
    "a password": { type: "string", format: "password" },
    "a field that is only written": { writeOnly: true },
    "a field that its author calls sensitive": { "x-purlin-sensitive": true },
  };
  for (const [title, schema] of Object.entries(schemas)) {
    test(`by the schema: ${title}`, () => {
      assert.deepEqual(shown({ spec: { a: "x", b: 1 } }, { properties: { spec: { properties: { a: schema } } } }), {
        spec: { a: hidden, b: 1 },
      });
    });
  }

  test("whole objects, items of lists and members of maps, by the schema", () => {
    const sensitive = { "x-purlin-sensitive": true };
    const schema = {
      properties: {
        whole: sensitive,
        list: { items: { properties: { key: sensitive } } },
        map: { additionalProperties: sensitive },
        both: { properties: { open: {} }, additionalProperties: sensitive },
      },
    };
    assert.deepEqual(
      shown({ whole: { a: 1 }, list: [{ key: "x", name: "n" }], map: { a: "x" }, both: { open: "o", b: "x" } }, schema),
      { whole: hidden, list: [{ key: hidden, name: "n" }], map: { a: hidden }, both: { open: "o", b: hidden } },
    );
  });

  test("false does not make a field sensitive, and a member named like one of Object is an ordinary one", () => {
    const object = JSON.parse('{"a":"x","__proto__":{"b":1},"constructor":"c"}') as JsonObject;
    const schema = { properties: { a: { writeOnly: false, "x-purlin-sensitive": false, format: "date" } } };
    assert.deepEqual(shown(object, schema), object);
  });

  test("the object itself is not changed", () => {
    const object = secret({ a: "x" });
    new Mask().object(object);
    assert.deepEqual(object, secret({ a: "x" }));
  });
});

describe("marks", () => {
  const data = (value: JsonValue): JsonValue | undefined =>
    (new Mask().object(secret({ a: value }))["data"] as JsonObject)["a"];

  test("are equal for equal values only", () => {
    assert.equal(data("one"), data("one"));
    assert.notEqual(data("one"), data("two"));
    assert.notEqual(data(1), data("2"));
  });

  test("do not contain the value, and are recognized", () => {
    assert.doesNotMatch(String(data("canary")), /canary/);
    assert.equal(isMasked(data("x")), true);
    for (const value of ["x", hidden, 1, null, undefined, {}]) assert.equal(isMasked(value), false);
  });

  test("are found at any depth", () => {
    const mark = data("x") ?? assert.fail();
    for (const value of [mark, [1, [mark]], { a: { b: mark } }]) assert.equal(hasMasked(value), true);
    for (const value of ["x", [1], { a: {} }, undefined, null]) assert.equal(hasMasked(value), false);
  });
});

describe("texts that repeat sensitive values", () => {
  const after = (values: readonly string[], text: string): string => {
    const mask = new Mask();
    mask.object(secret(Object.fromEntries(values.map((value, index) => [`k${index}`, value]))));
    return mask.text(text);
  };

  test("are scrubbed of the value, its encoded and its decoded form", () => {
    const plain = "correct horse";
    const encoded = Buffer.from(plain).toString("base64");
    const doubled = Buffer.from(encoded).toString("base64");
    assert.equal(after([encoded], `${plain}; ${encoded}; ${doubled}`), `${hidden}; ${hidden}; ${hidden}`);
  });

  test("of each occurrence", () => {
    assert.equal(after(["topsecret!"], "topsecret! is not topsecret!"), `${hidden} is not ${hidden}`);
  });

  test("of a value that begins with another one, as a whole, in either order", () => {
    for (const values of [
      ["password!", "password!-of-root"],
      ["password!-of-root", "password!"],
    ]) {
      assert.equal(after(values, "denied: password!-of-root"), `denied: ${hidden}`);
    }
  });

  test("values shorter than eight characters stay: they are part of ordinary words", () => {
    assert.equal(after(["1234567"], "port 1234567"), "port 1234567");
    assert.equal(after(["12345678"], "port 12345678"), `port ${hidden}`);
  });

  test("values are remembered only after they were seen", () => {
    assert.equal(new Mask().text("topsecret!"), "topsecret!");
  });
});
