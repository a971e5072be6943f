// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ControllerClient } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { publishConnection } from "./connection.ts";

const connectionType = "connection.crossplane.io/v1alpha1";
const owner = {
  apiVersion: "example.org/v1",
  kind: "Database",
  name: "db",
  uid: "u-1",
  controller: true,
  blockOwnerDeletion: true,
};
const managed = (ref: JsonObject | undefined, namespace: string | undefined = "team"): KubeObject =>
  ({
    apiVersion: "example.org/v1",
    kind: "Database",
    metadata: { name: "db", uid: "u-1", ...(namespace !== "" && { namespace }) },
    spec: ref === undefined ? {} : { writeConnectionSecretToRef: ref },
  }) as KubeObject;
const secret = (more: JsonObject = {}, metadata: JsonObject = {}): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "conn", namespace: "team", resourceVersion: "7", ...metadata },
    type: connectionType,
    ...more,
  }) as unknown as KubeObject;
const owned = { ownerReferences: [owner] };

/** The calls of a publication; reads find the given Secret. */
async function calls(
  object: KubeObject,
  details: Parameters<typeof publishConnection>[1],
  existing?: KubeObject,
): Promise<unknown[]> {
  const made: unknown[] = [];
  const record = async (...call: readonly unknown[]): Promise<undefined> => void made.push(call);
  const client = {
    get: async (_type: object, key: object) => {
      made.push(["get", key]);
      return existing;
    },
    create: (written: object, { fieldManager }: { fieldManager: string }) => record("create", written, fieldManager),
    update: (written: object, { fieldManager }: { fieldManager: string }) => record("update", written, fieldManager),
  } as unknown as ControllerClient;
  await publishConnection(object, details, { client, fieldManager: "me", signal: new AbortController().signal });
  return made;
}

const read = ["get", { name: "conn", namespace: "team" }];
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("the Secret of a managed resource", () => {
  test("is in its own namespace, whatever the reference says", async () => {
    assert.deepEqual((await calls(managed({ name: "conn", namespace: "other" }), {}, secret({}, owned)))[0], read);
  });

  test("of a cluster-scoped one is in the namespace of the reference", async () => {
    assert.deepEqual((await calls(managed({ name: "conn", namespace: "team" }, ""), {}, secret({}, owned)))[0], read);
  });

  test("is not written without a name, or without a namespace", async () => {
    for (const object of [managed(undefined), managed({}), managed({ name: "conn" }, "")])
      assert.deepEqual(await calls(object, { a: "b" }), []);
  });
});

describe("publication", () => {
  const object = managed({ name: "conn" });

  test("creates the Secret with its owner, texts and bytes in base64", async () => {
    const details = { password: "p\u00e4ss", key: Uint8Array.of(0xff, 0, 1), empty: "" };
    assert.deepEqual(await calls(object, details), [
      read,
      [
        "create",
        {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "conn", namespace: "team", ownerReferences: [owner] },
          type: connectionType,
          data: { password: base64("p\u00e4ss"), key: "/wAB", empty: "" },
        },
        "me",
      ],
    ]);
  });

  test("creates an empty Secret before there are details", async () => {
    const [, [verb, written] = []] = (await calls(object, undefined)) as [unknown, [string, JsonObject]];
    assert.deepEqual([verb, written?.["data"]], ["create", {}]);
  });

  test("adds and replaces keys, and keeps all others", async () => {
    const before = secret({ data: { old: base64("1"), port: base64("1") } }, owned);
    const [, [verb, written] = []] = (await calls(object, { port: "2", host: "h" }, before)) as [
      unknown,
      [string, JsonObject],
    ];
    assert.deepEqual(
      [verb, written],
      [
        "update",
        secret({ data: { old: base64("1"), port: base64("2"), host: base64("h") } }, owned) as unknown as JsonObject,
      ],
    );
  });

  test("writes nothing when nothing is new", async () => {
    const before = secret({ data: { port: base64("1"), old: base64("2") } }, owned);
    assert.deepEqual(await calls(object, { port: "1" }, before), [read]);
    assert.deepEqual(await calls(object, undefined, before), [read]);
    assert.deepEqual(await calls(object, undefined, secret({}, owned)), [read]);
  });

  test("takes a connection Secret without a controller, also when its data stays", async () => {
    const other = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "u-9" };
    const before = secret({ data: { port: base64("1") } }, { ownerReferences: [other] });
    const [, [verb, written] = []] = (await calls(object, { port: "1" }, before)) as [unknown, [string, KubeObject]];
    assert.equal(verb, "update");
    assert.deepEqual(written?.metadata.ownerReferences, [other, owner]);
    assert.equal(written?.metadata.resourceVersion, "7");
  });

  const refused: Readonly<Record<string, readonly [KubeObject, string]>> = {
    "of another type without a controller": [
      secret({ type: "Opaque" }),
      'refusing to modify uncontrolled secret of type "Opaque"',
    ],
    "of another controller": [
      secret({}, { ownerReferences: [{ ...owner, uid: "u-2" }] }),
      'existing secret is not controlled by UID "u-1"',
    ],
  };
  for (const [name, [existing, why]] of Object.entries(refused)) {
    test(`refuses a Secret ${name}`, () =>
      assert.rejects(calls(object, { a: "b" }, existing), {
        message: `cannot create or update connection secret: ${why}`,
      }));
  }
});
