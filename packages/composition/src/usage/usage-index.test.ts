// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { UsageIndex } from "./usage-index.ts";

const protection = "protection.crossplane.io/v1beta1";

function usage(name: string, spec: JsonObject, more: JsonObject = {}): JsonObject {
  return { apiVersion: protection, kind: "Usage", metadata: { name, namespace: "a", ...more }, spec };
}

function side(apiVersion: string, kind: string, resourceRef: JsonObject): JsonObject {
  return { apiVersion, kind, resourceRef };
}

suite("the index of Usages", () => {
  test("objects whose groups, kinds and names read alike are not confused", () => {
    const index = new UsageIndex();
    const names: readonly (readonly [string, string, string])[] = [
      ["example.org/v1", "Foo", "bar"],
      ["example/v1", "org.Foo", "bar"],
      ["example/v1", "Foo", "bar.a"],
      ["example/v1", "org/Foo", "bar"],
      ["v1", "example.org.Foo", "bar"],
    ];
    for (const [at, [apiVersion, kind, name]] of names.entries()) {
      index.written(`u${at}`, usage(`u${at}`, { of: side(apiVersion, kind, { name }), reason: "r" }));
    }
    for (const [at, [apiVersion, kind, name]] of names.entries()) {
      const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
      const held = index.holders({ group, kind, name, namespace: "a" });
      assert.deepEqual(
        held.map(({ key }) => key),
        [`u${at}`],
      );
    }
    assert.deepEqual(index.holders({ group: "example", kind: "Foo", name: "bar", namespace: "a" }), []);
    assert.deepEqual(index.holders({ group: "example.org", kind: "Foo", name: "bar", namespace: "b" }), []);
    assert.deepEqual(index.holders({ group: "example.org", kind: "foo", name: "bar", namespace: "a" }), []);
  });

  test("an edit moves the protection, and reports the object that has none any longer", () => {
    const index = new UsageIndex();
    const released: string[] = [];
    index.onRelease(({ name }) => released.push(name));
    const of = (name: string): JsonObject => usage("u", { of: side("v1", "ConfigMap", { name }), reason: "r" });
    const holders = (name: string): number =>
      index.holders({ group: "", kind: "ConfigMap", name, namespace: "a" }).length;
    index.written("u", of("one"));
    index.written("u", of("two"));
    assert.deepEqual([holders("one"), holders("two"), released], [0, 1, ["one"]]);
    index.written("u", undefined);
    assert.deepEqual([holders("two"), released], [0, ["one", "two"]]);
  });

  test("a name is known for as long as a Usage has it on one of its sides", () => {
    const index = new UsageIndex();
    const map = side("v1", "ConfigMap", { name: "one" });
    index.written("u", usage("u", { of: map, by: side("v1", "Secret", { name: "two" }) }));
    index.written("v", usage("v", { of: side("v1", "ConfigMap", { name: "three" }), by: map }));
    const known = (): string[] =>
      ["one", "two", "three", ""].filter((name) => index.names({ kind: "Pod", metadata: { name, namespace: "b" } }));
    assert.deepEqual(known(), ["one", "two", "three"]);
    index.written("u", usage("u", { of: side("v1", "ConfigMap", { name: "three" }), reason: "r" }));
    assert.deepEqual(known(), ["one", "three"]);
    index.written("v", undefined);
    assert.deepEqual(known(), ["three"]);
    index.written("u", undefined);
    assert.deepEqual(known(), []);
  });

  test("composed Usages that wait for each other are found, also across cluster-scoped objects", () => {
    const index = new UsageIndex();
    const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z", labels: { "crossplane.io/composite": "xr" } };
    const cluster = (name: string): JsonObject => side("example.org/v1", "Cluster", { name, namespace: "" });
    const by = (name: string): JsonObject => side("example.org/v1", "Cluster", { name });
    index.written("one", usage("one", { of: cluster("x"), by: by("y") }, deleted));
    const [one] = index.holders({ group: "example.org", kind: "Cluster", name: "x", namespace: "" });
    assert.ok(one);
    assert.equal(index.isCircular(one), false);
    index.written("two", usage("two", { of: cluster("y"), by: by("x") }, deleted));
    assert.equal(index.isCircular(one), true);
  });
});
