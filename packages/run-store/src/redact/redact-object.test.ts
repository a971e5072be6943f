// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { type JsonObject, Struct } from "@purlin/function-protocol";
import { maxDecodedBytes, omittedBytes, omittedStruct, redactStruct } from "./redact-object.ts";
import { type SensitiveFields, sensitiveFieldsAt } from "./sensitive-fields.ts";

/** Marks values with what they are, so that a test sees which were taken, and how. */
class Collector {
  readonly added: string[] = [];
  readonly marked: string[] = [];
  add(value: Uint8Array): string {
    this.added.push(Buffer.from(value).toString());
    return `<${Buffer.from(value).toString()}>`;
  }
  mark(value: Uint8Array): string {
    this.marked.push(Buffer.from(value).toString());
    return "<marked>";
  }
}

interface Rules {
  readonly sensitive?: SensitiveFields | undefined;
  readonly named?: SensitiveFields | undefined;
  readonly isComposite?: boolean;
}

function redacted(
  object: JsonObject,
  rules: Rules = {},
): { readonly value: JsonObject; readonly collector: Collector } {
  const collector = new Collector();
  const redacting = redactStruct(Struct.from(object), { scrubber: collector, ...rules });
  const struct = finish(redacting) ?? assert.fail("omitted");
  return { value: struct.value, collector };
}

const secret = (more: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s" },
  ...more,
});
const base64 = (text: string): string => Buffer.from(text).toString("base64");

test("the data of a Secret is hidden, decoded from base64, and its keys stay", () => {
  const { value, collector } = redacted(
    secret({ data: { user: base64("admin"), none: null }, stringData: { token: "abc" }, type: "Opaque" }),
  );
  assert.deepEqual(
    value,
    secret({ data: { user: "<admin>", none: null }, stringData: { token: "<abc>" }, type: "Opaque" }),
  );
  assert.deepEqual(collector.added, ["admin", "abc"]);
});

test("data that is not base64 is hidden as it is", () => {
  assert.deepEqual(redacted(secret({ data: { a: "not base64!" } })).value["data"], { a: "<not base64!>" });
  assert.deepEqual(redacted(secret({ data: { a: "YWRtaW4" } })).value["data"], { a: "<admin>" }, "without padding");
});

test("data of the wrong type is hidden as a whole", () => {
  assert.deepEqual(redacted(secret({ data: ["a", "b"] })).value["data"], '<["a","b"]>');
  assert.deepEqual(redacted(secret({ stringData: { a: 7, b: true, c: ["x"] } })).value["stringData"], {
    a: "<7>",
    b: "<true>",
    c: ["<x>"],
  });
});

test("a Secret is found inside another object, also as text", () => {
  const inner = secret({ data: { a: base64("x1") } });
  const object = {
    kind: "Object",
    spec: { manifests: [inner, "apiVersion: v1\nkind: Secret\n"], json: '{"kind":"Secret"}' },
  };
  assert.deepEqual(redacted(object).value["spec"], {
    manifests: [{ ...inner, data: { a: "<x1>" } }, "<apiVersion: v1\nkind: Secret\n>"],
    json: '<{"kind":"Secret"}>',
  });
});

test("other kinds with data, and references to Secrets, stay as they are", () => {
  const scrubber = new Collector();
  const objects: JsonObject[] = [
    { apiVersion: "v1", kind: "ConfigMap", data: { a: "b" } },
    { apiVersion: "example.org/v1", kind: "Secret", data: { a: "b" } },
    { kind: "Pod", spec: { volumes: [{ secret: { secretName: "s" } }], env: [{ secretKeyRef: { name: "Secret" } }] } },
    { kind: "SecretStore", metadata: { name: "x" } },
  ];
  for (const object of objects) {
    const struct = Struct.from(object);
    assert.equal(finish(redactStruct(struct, { scrubber })), struct, JSON.stringify(object));
  }
});

test("the copy of an object that kubectl keeps in an annotation is marked", () => {
  const annotations = {
    "kubectl.kubernetes.io/last-applied-configuration": '{"data":1}',
    other: "kind: Secret",
    plain: "x",
  };
  const { value, collector } = redacted({ kind: "ConfigMap", metadata: { annotations } });
  assert.deepEqual(value["metadata"], {
    annotations: {
      "kubectl.kubernetes.io/last-applied-configuration": "<marked>",
      other: "<kind: Secret>",
      plain: "x",
    },
  });
  assert.deepEqual(collector.marked, ['{"data":1}']);
});

test("fields that a schema declares sensitive are taken, those that an operator names are only marked", () => {
  const object = {
    spec: {
      users: [
        { name: "a", token: "t1" },
        { name: "b", token: "t2" },
      ],
      key: { a: "k", b: null },
    },
  };
  const sensitive = sensitiveFieldsAt(["spec.users[*].token"]);
  const named = sensitiveFieldsAt(["spec.key", "spec.none"]);
  const { value, collector } = redacted(object, { sensitive, named });
  assert.deepEqual(value, {
    spec: {
      users: [
        { name: "a", token: "<t1>" },
        { name: "b", token: "<t2>" },
      ],
      key: { a: "<marked>", b: null },
    },
  });
  assert.deepEqual([collector.added, collector.marked], [["t1", "t2"], ["k"]]);
});

test("a field path ends at a value of another type", () => {
  const sensitive = sensitiveFieldsAt(["spec.a.b", "spec.list.c"]);
  const object = { spec: { a: "text", list: [{ c: 1 }] } };
  assert.deepEqual(redacted(object, { sensitive }).value, object);
});

test("a composite resource with the shape of a Secret loses its data, another object does not", () => {
  const object = { apiVersion: "example.org/v1", kind: "App", data: { a: base64("abc") } };
  assert.deepEqual(redacted(object, { isComposite: true }).value["data"], { a: "<abc>" });
  assert.deepEqual(redacted(object).value, object);
  const plain = { apiVersion: "example.org/v1", kind: "App", data: "text" };
  assert.deepEqual(redacted(plain, { isComposite: true }).value, plain);
});

test("an object that may hold a secret and is too large to decode is omitted", () => {
  const large = "x".repeat(maxDecodedBytes);
  const scrubber = new Collector();
  assert.equal(finish(redactStruct(Struct.from(secret({ data: { a: large } })), { scrubber })), undefined);
  const harmless = Struct.from({ kind: "ConfigMap", text: large });
  assert.equal(finish(redactStruct(harmless, { scrubber })), harmless);
});

test("what stands for an omitted object has its size, and a mark that changes with it", () => {
  const mark = (value: Uint8Array): string => `mark of ${value.length}`;
  const struct = Struct.from({ a: "b" });
  const stub = omittedStruct(struct, mark);
  assert.equal(omittedBytes(stub.value), struct.bytes.length);
  assert.equal(stub.value["mark"], `mark of ${struct.bytes.length}`);
  assert.equal(omittedBytes({ a: 1 }), undefined);
});

test("an object with many values is redacted in parts", () => {
  const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, base64(`${index}`)]));
  const fields = sensitiveFieldsAt(["spec.list[*]", "spec.all"]);
  const spec = { list: Object.values(data), all: data };
  for (const [object, rules] of [
    [secret({ data }), {}],
    [{ spec }, { sensitive: fields }],
    [{ spec }, { named: fields }],
  ] as const) {
    const work = redactStruct(Struct.from(object), { scrubber: new Collector(), ...rules });
    let parts = 0;
    while (!work.next().done) parts++;
    assert.ok(parts > 30, `${parts} parts`);
  }
});
