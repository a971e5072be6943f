// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "@purlin/kube-apiserver/kinds";
import { objectCodec, openStore, tempDirectory } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { ServicePlaces } from "./service-places.ts";

function open(): Store<JsonObject> {
  return openStore<JsonObject>({ directory: tempDirectory(), codec: objectCodec });
}

async function put(store: Store<JsonObject>, name: string, spec: JsonObject): Promise<void> {
  await store.write(`//services/ns/${name}`, () => ({ action: "put", value: { metadata: { name }, spec } }));
}

const service = (address: string, port: number): JsonObject => ({ clusterIP: address, ports: [{ nodePort: port }] });

test("places are taken while a Service has them", async () => {
  const store = open();
  await put(store, "before", service("10.0.0.5", 30_005));
  const places = new ServicePlaces(store);
  assert.deepEqual([places.isAddressTaken("10.0.0.5"), places.isPortTaken(30_005)], [true, true]);
  assert.deepEqual([places.isAddressTaken("10.0.0.6"), places.isPortTaken(30_006)], [false, false]);

  await put(store, "after", { ...service("10.0.0.6", 30_006), healthCheckNodePort: 30_007 });
  assert.deepEqual([places.isAddressTaken("10.0.0.6"), places.isPortTaken(30_007)], [true, true]);

  await put(store, "after", { clusterIP: "10.0.0.6", ports: [{ port: 80 }] });
  assert.deepEqual(
    [places.isAddressTaken("10.0.0.6"), places.isPortTaken(30_006)],
    [true, false],
    "only its ports went",
  );

  await store.write("//services/ns/after", () => ({ action: "delete" }));
  assert.equal(places.isAddressTaken("10.0.0.6"), false);
  await store.close();
});

test("a place that two have is free when both are gone", async () => {
  const store = open();
  const places = new ServicePlaces(store);
  await put(store, "one", service("10.0.0.5", 0));
  await put(store, "two", service("10.0.0.5", 0));
  await store.write("//services/ns/one", () => ({ action: "delete" }));
  assert.equal(places.isAddressTaken("10.0.0.5"), true);
  await store.write("//services/ns/two", () => ({ action: "delete" }));
  assert.equal(places.isAddressTaken("10.0.0.5"), false);
  await store.close();
});

test("None and 0 are not counted", async () => {
  const store = open();
  const places = new ServicePlaces(store);
  await put(store, "headless", { clusterIP: "None", ports: [{ port: 80 }] });
  assert.deepEqual([places.isAddressTaken("None"), places.isPortTaken(0)], [false, false]);
  await store.close();
});

test("places stay known when the history is compacted", async () => {
  const store = open();
  const places = new ServicePlaces(store);
  assert.equal(places.isAddressTaken("10.0.1.1"), false);
  for (let n = 1; n <= 50; n += 1) await put(store, `s${n}`, service(`10.0.1.${n}`, 30_000 + n));
  store.compact(store.revision);
  assert.deepEqual([places.isAddressTaken("10.0.1.50"), places.isPortTaken(30_001)], [true, true]);
  await store.close();
});
