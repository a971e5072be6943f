// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { toTypedForm } from "./typed-form.ts";
import { inTypedOrder } from "./typed-order.ts";

const keys = (value: unknown): string[] => Object.keys(value as object);

test("members come as their types have them, at every depth", () => {
  const object: JsonObject = {
    spec: { template: { spec: { dnsPolicy: "Default", containers: [{ image: "i", name: "n" }] } }, replicas: 1 },
    metadata: { uid: "u", name: "a", managedFields: [{ time: "t", manager: "m" }] },
    apiVersion: "apps/v1",
    kind: "Deployment",
  };
  assert.equal(
    JSON.stringify(inTypedOrder(object)),
    '{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","uid":"u","managedFields":[{"manager":"m","time":"t"}]},' +
      '"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"n","image":"i"}],"dnsPolicy":"Default"}}}}',
  );
});

test("fields of structs in structs have the place of the struct", () => {
  const volume = { emptyDir: {}, name: "v" };
  const pod = inTypedOrder({ kind: "Pod", apiVersion: "v1", spec: { volumes: [volume] } });
  assert.equal(JSON.stringify(pod["spec"]), '{"volumes":[{"name":"v","emptyDir":{}}]}');
});

test("what is in order is not copied, and what a type has written is in order", () => {
  const { object } = toTypedForm({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "a", labels: { b: "1", a: "2" } },
    spec: { type: "ClusterIP", ports: [{ protocol: "TCP", port: 1 }] },
  });
  const { apiVersion, kind, ...rest } = object as JsonObject & Record<"apiVersion" | "kind", string>;
  const written = { kind, apiVersion, ...rest };
  assert.equal(inTypedOrder(written), written);
});

test("free parts, maps of texts and unknown members stay as they are", () => {
  const object = {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: "a" },
    data: { z: "1", a: "2" },
    odd: { z: 1, a: 2 },
  };
  assert.deepEqual(keys(inTypedOrder(object)["data"]), ["z", "a"]);
  const { odd, ...rest } = object;
  assert.deepEqual(keys(inTypedOrder({ odd, ...rest })), ["kind", "apiVersion", "metadata", "data", "odd"]);
  const unknown = { b: 1, a: 2, kind: "Nope", apiVersion: "nope/v1" };
  assert.deepEqual(keys(inTypedOrder(unknown)), ["kind", "apiVersion", "b", "a"]);
});

test("a name from outside is only a name", () => {
  const object = JSON.parse('{"__proto__":{"x":1},"kind":"ConfigMap","apiVersion":"v1"}') as JsonObject;
  assert.deepEqual(keys(inTypedOrder(object)), ["kind", "apiVersion", "__proto__"]);
});
