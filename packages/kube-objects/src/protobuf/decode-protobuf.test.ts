// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { parseJson } from "../json/json-text.ts";
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
        assert.match((error as Error).name, /^(ProtobufError|JsonSyntaxError|Error|RangeError)$/);
      }
    }),
    { numRuns: 2000 },
  );
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
