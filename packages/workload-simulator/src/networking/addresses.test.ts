// SPDX-License-Identifier: Apache-2.0
// Addresses of Services, Ingresses and Gateways in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, memberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { gatewayController, ingressController, loadBalancerController } from "./addresses.ts";

const ingressOf = (object: KubeObject) => objectsAt(object, ["status", "loadBalancer", "ingress"]);
const testRange = /^198\.1[89]\.\d{1,3}\.\d{1,3}$/;

test("a Service of type LoadBalancer gets an address of the range for tests, and keeps it", async () => {
  const world = new World();
  world.put(kinds.service, "lb", { spec: { type: "LoadBalancer" } });
  await world.reconcile(loadBalancerController, "lb");
  const [first] = ingressOf(world.get(kinds.service, "lb"));
  assert.match(stringAt(first ?? {}, ["ip"]), testRange);
  assert.equal(first?.["ipMode"], "VIP");
  assert.deepEqual(world.takeEvents(), [
    "EnsuringLoadBalancer: Ensuring load balancer",
    "EnsuredLoadBalancer: Ensured load balancer",
  ]);
  world.takeWrites();
  await world.reconcile(loadBalancerController, "lb");
  assert.deepEqual(world.takeWrites(), []);
  world.change(kinds.service, "lb", { spec: { type: "ClusterIP" } });
  await world.reconcile(loadBalancerController, "lb");
  assert.deepEqual(memberAt(world.get(kinds.service, "lb"), ["status", "loadBalancer"]), {});
});

test("Services of other types, with a class, or that are being deleted get no address", async () => {
  const world = new World();
  world.put(kinds.service, "plain", { spec: { type: "ClusterIP" } });
  world.put(kinds.service, "class", { spec: { type: "LoadBalancer", loadBalancerClass: "example.org/own" } });
  world.put(kinds.service, "gone", {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
    spec: { type: "LoadBalancer" },
  });
  for (const name of ["plain", "class", "gone"]) await world.reconcile(loadBalancerController, name);
  assert.deepEqual(world.takeWrites(), []);
  assert.deepEqual(world.takeEvents(), []);
});

test("an Ingress gets an address once", async () => {
  const world = new World();
  world.put(kinds.ingress, "web", { spec: {} });
  await world.reconcile(ingressController, "web");
  const [address] = ingressOf(world.get(kinds.ingress, "web"));
  assert.match(stringAt(address ?? {}, ["ip"]), testRange);
  assert.deepEqual(world.takeEvents(), ["Sync: Scheduled for sync"]);
  world.takeWrites();
  await world.reconcile(ingressController, "web");
  assert.deepEqual(world.takeWrites(), []);
});

test("objects have addresses of their own", async () => {
  const world = new World();
  const names = ["a", "b", "c"];
  for (const name of names) {
    world.put(kinds.ingress, name, { spec: {} });
    await world.reconcile(ingressController, name);
  }
  const addresses = names.map((name) => stringAt(ingressOf(world.get(kinds.ingress, name))[0] ?? {}, ["ip"]));
  assert.equal(new Set(addresses).size, 3);
});

test("a Gateway and its listeners are accepted, again after each change", async () => {
  const world = new World();
  world.put(kinds.gateway, "gw", { spec: { listeners: [{ name: "http" }, { name: "https" }] } });
  await world.reconcile(gatewayController, "gw");
  const gateway = world.get(kinds.gateway, "gw");
  const types = (from: object) => objectsAt(from, ["conditions"]).map((one) => `${one["type"]}=${one["status"]}`);
  assert.deepEqual(types(memberAt(gateway, ["status"]) as object), ["Accepted=True", "Programmed=True"]);
  const listeners = objectsAt(gateway, ["status", "listeners"]);
  assert.deepEqual(
    listeners.map((one) => one["name"]),
    ["http", "https"],
  );
  assert.deepEqual(types(listeners[0] ?? {}), ["Accepted=True", "Programmed=True", "ResolvedRefs=True"]);
  const [address] = objectsAt(gateway, ["status", "addresses"]);
  assert.equal(address?.["type"], "IPAddress");
  world.takeWrites();
  await world.reconcile(gatewayController, "gw");
  assert.deepEqual(world.takeWrites(), []);
  world.change(kinds.gateway, "gw", { spec: { listeners: [{ name: "http" }] } });
  await world.reconcile(gatewayController, "gw");
  assert.equal(objectsAt(world.get(kinds.gateway, "gw"), ["status", "listeners"]).length, 1);
});
