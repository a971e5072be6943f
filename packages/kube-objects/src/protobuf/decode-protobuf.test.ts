// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { parseJson } from "../json/json-text.ts";
import type { JsonValue } from "../json/json-value.ts";
import { decodeProtobuf, isKubernetesProtobuf } from "./decode-protobuf.ts";

interface Answer {
  readonly protobuf: string;
  readonly json: string;
}

// One object in both forms, as a kube-apiserver 1.36.3 served them.
const answers = JSON.parse(
  readFileSync(new URL("./testdata/real-server.json", import.meta.url), "utf8"),
) as readonly Answer[];

for (const { protobuf, json } of answers) {
  const { kind, apiVersion } = JSON.parse(json) as { readonly kind: string; readonly apiVersion: string };
  test(`${apiVersion} ${kind}: the JSON form the reference server gives`, () => {
    assert.deepEqual(decodeProtobuf(Buffer.from(protobuf, "base64")), { known: true, object: parseJson(json) });
  });
}

function field(number: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
}

function body(apiVersion: string, kind: string, raw: Buffer): Buffer {
  const typeMeta = Buffer.concat([field(1, apiVersion), field(2, kind)]);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, typeMeta), field(2, raw)]);
}

test("options of a delete are read under any group", () => {
  const preconditions = field(1, "uid-1");
  for (const apiVersion of ["v1", "apps/v1", "example.org/v1"]) {
    const decoded = decodeProtobuf(body(apiVersion, "DeleteOptions", field(2, preconditions)));
    assert.deepEqual(decoded, {
      known: true,
      object: { apiVersion, kind: "DeleteOptions", preconditions: { uid: "uid-1" } },
    });
  }
});

test("a pointer that is zero stays, a plain value that is zero goes", () => {
  // DeploymentSpec: replicas is a pointer (field 1), minReadySeconds is not (field 5), paused is not (field 7).
  const spec = Buffer.from([8, 0, 40, 0, 56, 0]);
  const decoded = decodeProtobuf(body("apps/v1", "Deployment", field(2, spec)));
  const object = decoded.known ? (decoded.object as { readonly spec?: Record<string, unknown> }) : {};
  assert.deepEqual(
    [object.spec?.["replicas"], object.spec?.["minReadySeconds"], object.spec?.["paused"]],
    [0, undefined, undefined],
  );
});

test("a map entry without a value has the empty one, and any key is only a key", () => {
  const data = Buffer.concat([
    field(2, field(1, "empty")),
    field(2, Buffer.concat([field(1, "__proto__"), field(2, "x")])),
  ]);
  const decoded = decodeProtobuf(body("v1", "ConfigMap", data));
  const object = decoded.known ? (decoded.object as { readonly data?: object }) : {};
  assert.deepEqual(Object.entries(object.data ?? {}), [
    ["empty", ""],
    ["__proto__", "x"],
  ]);
});

test("unknown field numbers are passed over", () => {
  const decoded = decodeProtobuf(body("v1", "ConfigMap", field(15, "whatever")));
  assert.deepEqual(decoded, { known: true, object: { apiVersion: "v1", kind: "ConfigMap", metadata: {} } });
});

test("a kind without known field numbers is an error, not a guess", () => {
  assert.deepEqual(decodeProtobuf(body("example.org/v1", "Widget", Buffer.alloc(0))), {
    known: false,
    apiVersion: "example.org/v1",
    kind: "Widget",
  });
});

test("a malformed apiVersion is an unknown kind", () => {
  const malformed = { known: false, apiVersion: "a/b/c", kind: "Pod" };
  assert.deepEqual(decodeProtobuf(body("a/b/c", "Pod", Buffer.alloc(0))), malformed);
});

test("a body that does not start like one is refused in the reference's words", () => {
  assert.ok(!isKubernetesProtobuf(Buffer.from("{}")));
  assert.throws(() => decodeProtobuf(Buffer.from('{"a":1}')), {
    message: "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
  });
});

test("damaged bodies end in an error or another object, never in a crash", () => {
  const bodies = answers.map(({ protobuf }) => Buffer.from(protobuf, "base64"));
  const damage = fc.tuple(fc.constantFrom(...bodies), fc.nat(), fc.nat(255), fc.boolean());
  fc.assert(
    fc.property(damage, ([original, at, value, cut]) => {
      const damaged = cut ? original.subarray(0, at % original.length) : Buffer.from(original);
      if (!cut) damaged[at % damaged.length] = value;
      try {
        decodeProtobuf(damaged);
      } catch (error) {
        assert.match((error as Error).name, /^ProtobufError$/);
      }
    }),
    { numRuns: 2000 },
  );
});

const number = (at: number, value: bigint): Buffer =>
  Buffer.concat([Buffer.from([at << 3]), varintOf(BigInt.asUintN(64, value))]);

function varintOf(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

test("times may lie before 1970 and after 9999; others are refused", () => {
  // Event.firstTimestamp (field 6).
  const at = (seconds: bigint): JsonValue => {
    const decoded = decodeProtobuf(body("v1", "Event", field(6, number(1, seconds))));
    return decoded.known ? (decoded.object["firstTimestamp"] ?? null) : null;
  };
  assert.equal(at(-1n), "1969-12-31T23:59:59Z");
  assert.equal(at(253_402_300_800n), "10000-01-01T00:00:00Z");
  assert.equal(at(-62_167_219_201n), "-0001-12-31T23:59:59Z");
  for (const seconds of [2n ** 62n, -(2n ** 62n)]) assert.throws(() => at(seconds), { name: "ProtobufError" });
});

test("fields of managers that are not JSON are refused as the rest of the body is", () => {
  // ObjectMeta.managedFields (field 17) of ConfigMap.metadata (field 1); fieldsV1 (field 7) has its bytes in field 1.
  const entry = Buffer.concat([Buffer.from([0x8a, 0x01]), varintOf(7n), field(7, field(1, "{x}"))]);
  assert.throws(() => decodeProtobuf(body("v1", "ConfigMap", field(1, entry))), { name: "ProtobufError" });
});

test("nesting is bounded", () => {
  // JSONSchemaProps.not (field 28) inside itself, 5,000 deep.
  let schema: Buffer = Buffer.alloc(0);
  for (let i = 0; i < 5000; i++) schema = Buffer.concat([Buffer.from([0xe2, 0x01]), varint(schema.length), schema]);
  const validation = Buffer.concat([Buffer.from([10]), varint(schema.length), schema]);
  const version = Buffer.concat([Buffer.from([34]), varint(validation.length), validation]);
  const spec = Buffer.concat([Buffer.from([58]), varint(version.length), version]);
  const raw = Buffer.concat([Buffer.from([18]), varint(spec.length), spec]);
  const typeMeta = Buffer.concat([field(1, "apiextensions.k8s.io/v1"), field(2, "CustomResourceDefinition")]);
  const whole = Buffer.concat([Buffer.from("k8s\0"), field(1, typeMeta), Buffer.from([18]), varint(raw.length), raw]);
  assert.throws(() => decodeProtobuf(whole), /nested too deeply/);
});

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    bytes.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
    if (rest < 0x80) return Buffer.from(bytes);
  }
}
