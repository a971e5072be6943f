// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects";
import { decodeTyped } from "./decode-typed.ts";
import { messageOf } from "./typed-struct.ts";

const configMap = "core.v1.ConfigMap";
const deployment = "apps.v1.Deployment";

const cases: Record<
  string,
  { reason: string; message: string; given: JsonObject; want: JsonObject; unknown?: string[] }
> = {
  Plain: {
    reason: "type first, then fields in the order of the type",
    message: configMap,
    given: { data: { a: "1" }, metadata: { namespace: "ns", name: "x" }, kind: "ConfigMap", apiVersion: "v1" },
    want: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", namespace: "ns" }, data: { a: "1" } },
  },
  Empties: {
    reason: "empty maps, lists and texts are left out where the type says so",
    message: configMap,
    given: {
      metadata: { name: "x", labels: {}, finalizers: [], generateName: "", creationTimestamp: null },
      data: {},
      immutable: false,
    },
    want: { metadata: { name: "x" }, immutable: false },
  },
  Nulls: {
    reason: "null is nothing",
    message: configMap,
    given: { metadata: null, data: { a: null, b: "" }, immutable: null },
    want: { metadata: {}, data: { a: "", b: "" } },
  },
  Unknown: {
    reason: "unknown fields go and are told, with indexes and in the order they came",
    message: deployment,
    given: {
      zzz: 1,
      metadata: { name: "x", nmae: "y" },
      spec: {
        selector: {},
        template: { spec: { containers: [{ name: "a" }, { name: "b", imag: "c" }] } },
        extra: true,
      },
    },
    want: {
      metadata: { name: "x" },
      spec: {
        selector: {},
        template: {
          metadata: {},
          spec: {
            containers: [
              { name: "a", resources: {} },
              { name: "b", resources: {} },
            ],
          },
        },
        strategy: {},
      },
      status: {},
    },
    unknown: ["zzz", "metadata.nmae", "spec.extra", "spec.template.spec.containers[1].imag"],
  },
  Pointers: {
    reason: "zero stays where it can be told from nothing",
    message: deployment,
    given: {
      spec: {
        replicas: 0,
        paused: false,
        minReadySeconds: 0,
        selector: { matchLabels: { a: "b" } },
        template: { spec: { containers: null } },
      },
    },
    want: {
      metadata: {},
      spec: {
        replicas: 0,
        selector: { matchLabels: { a: "b" } },
        template: { metadata: {}, spec: { containers: null } },
        strategy: {},
      },
      status: {},
    },
  },
  Inlined: {
    reason: "fields of inlined structs stand beside the others",
    message: "core.v1.Volume",
    given: { name: "v", configMap: { name: "c", optional: true } },
    want: { name: "v", configMap: { name: "c", optional: true } },
  },
  Times: {
    reason: "times are UTC, in seconds or microseconds",
    message: "coordination.v1.Lease",
    given: {
      metadata: { creationTimestamp: "2026-01-02T03:04:05.678+01:00" },
      spec: { renewTime: "2026-01-02T03:04:05.6781Z" },
    },
    want: {
      metadata: { creationTimestamp: "2026-01-02T02:04:05Z" },
      spec: { renewTime: "2026-01-02T03:04:05.678100Z" },
    },
  },
  Bytes: {
    reason: "base64 is made canonical",
    message: "core.v1.Secret",
    given: { data: { a: "aGVs\nbG8=", b: null, c: "" } },
    want: { metadata: {}, data: { a: "aGVsbG8=", b: "", c: "" } },
  },
  Quantities: {
    reason: "numbers are quantities too",
    message: "core.v1.ResourceRequirements",
    given: { limits: { cpu: 2, memory: "1Gi" } },
    want: { limits: { cpu: "2", memory: "1Gi" } },
  },
  IntOrString: {
    reason: "both stay what they are",
    message: "core.v1.ServicePort",
    given: { port: 80, targetPort: "http" },
    want: { port: 80, targetPort: "http" },
  },
  Zeros: {
    reason: "fields without omitempty are always written",
    message: "core.v1.ServicePort",
    given: {},
    want: { port: 0, targetPort: 0 },
  },
  Big: {
    reason: "64-bit integers survive",
    message: "meta.v1.ObjectMeta",
    given: { generation: 9007199254740993n },
    want: { generation: 9007199254740993n },
  },
  SchemaForms: {
    reason: "a schema or a boolean, a schema or a list of them, anything at all",
    message: "apiextensions.v1.JSONSchemaProps",
    given: {
      additionalProperties: false,
      items: { type: "string", nope: 1 },
      default: { any: [null, 1] },
      properties: { a: { additionalProperties: { type: "string" } } },
      "x-kubernetes-preserve-unknown-fields": true,
    },
    want: {
      default: { any: [null, 1] },
      items: { type: "string" },
      properties: { a: { additionalProperties: { type: "string" } } },
      additionalProperties: false,
      "x-kubernetes-preserve-unknown-fields": true,
    },
    unknown: ["items.nope"],
  },
  Prototype: {
    reason: "a key may have any name",
    message: configMap,
    given: JSON.parse('{"data":{"__proto__":"x","constructor":"y"}}') as JsonObject,
    want: JSON.parse('{"metadata":{},"data":{"__proto__":"x","constructor":"y"}}') as JsonObject,
  },
};

for (const [name, { reason, message, given, want, unknown = [] }] of Object.entries(cases)) {
  test(`typed: ${name}`, () => {
    const { object, unknownFields } = decodeTyped(given, message);
    assert.deepEqual(object, want, reason);
    assert.deepEqual(Object.keys(object), Object.keys(want), `${reason}: order`);
    assert.deepEqual(unknownFields, unknown, reason);
    assert.deepEqual(decodeTyped(object, message).object, want, "reading it again changes nothing");
  });
}

const refusals: Record<string, { message: string; given: JsonValue; want: string }> = {
  NumberForText: {
    message: configMap,
    given: { data: { a: 1 } },
    want: "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
  },
  TextForNumber: {
    message: deployment,
    given: { spec: { replicas: "3" } },
    want: "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
  },
  Fraction: {
    message: deployment,
    given: { spec: { replicas: 1.5 } },
    want: "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
  },
  TooLarge: {
    message: deployment,
    given: { spec: { replicas: 9007199254740993n } },
    want: "json: cannot unmarshal number 9007199254740993 into Go struct field DeploymentSpec.spec.replicas of type int32",
  },
  ListForMap: {
    message: configMap,
    given: { metadata: { labels: ["a"] } },
    want: "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
  },
  TextForList: {
    message: configMap,
    given: { metadata: { finalizers: "a" } },
    want: "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.finalizers of type []string",
  },
  TextForStruct: {
    message: deployment,
    given: { spec: "x" },
    want: "json: cannot unmarshal string into Go struct field Deployment.spec of type v1.DeploymentSpec",
  },
  TextForBool: {
    message: configMap,
    given: { immutable: "true" },
    want: "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool",
  },
  NotAnObject: {
    message: configMap,
    given: [],
    want: "json: cannot unmarshal array into Go value of type v1.ConfigMap",
  },
  BadBase64: { message: "core.v1.Secret", given: { data: { a: "a b" } }, want: "illegal base64 data at input byte 1" },
  BadTime: {
    message: configMap,
    given: { metadata: { creationTimestamp: "yesterday" } },
    want: 'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
  },
  BadQuantity: {
    message: "core.v1.ResourceRequirements",
    given: { limits: { cpu: "a lot" } },
    want: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  },
};

for (const [name, { message, given, want }] of Object.entries(refusals)) {
  test(`typed, refused in Go's words: ${name}`, () => {
    assert.throws(() => decodeTyped(given, message), { name: "TypeMismatch", message: want });
  });
}

test("every built-in kind has a message", () => {
  assert.equal(messageOf({ group: "", version: "v1", kind: "Pod" }), "core.v1.Pod");
  assert.equal(messageOf({ group: "rbac.authorization.k8s.io", version: "v1", kind: "Role" }), "rbac.v1.Role");
});
