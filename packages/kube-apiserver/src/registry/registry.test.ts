// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testTypes } from "@purlin/kube-builtin/testing";
import fc from "fast-check";
import { compareApiVersions, Registry, type ResourceType } from "./registry.ts";

test("versions come in the order Kubernetes documents", () => {
  const ordered = [
    "v10",
    "v2",
    "v1",
    "v11beta2",
    "v10beta3",
    "v3beta1",
    "v12alpha1",
    "v11alpha2",
    "foo1",
    "foo10",
    "v0",
    "v1beta0",
  ];
  const shuffled = [...ordered].reverse();
  assert.deepEqual(shuffled.sort(compareApiVersions), ordered);
});

test("the order of versions is an order", () => {
  const version = fc.oneof(
    fc.stringMatching(/^v[0-9]{1,2}((alpha|beta)[0-9])?$/),
    fc.constantFrom("a", "v", "v1gamma1"),
  );
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      assert.equal(Math.sign(compareApiVersions(a, b)), -Math.sign(compareApiVersions(b, a)) || 0);
      if (compareApiVersions(a, b) <= 0 && compareApiVersions(b, c) <= 0) assert.ok(compareApiVersions(a, c) <= 0);
    }),
  );
});

test("built-in types are complete and each has a path of its own", () => {
  const paths = testTypes.map(({ group, version, resource }) => `${group}/${version}/${resource}`);
  assert.equal(new Set(paths).size, paths.length);
  for (const type of testTypes) {
    assert.equal(type.listKind, `${type.kind}List`);
    assert.deepEqual([...type.verbs], [...type.verbs].sort(), `verbs of ${type.resource}`);
  }
  const [core, named] = ["", "events.k8s.io"].map((group) =>
    testTypes.find((t) => t.group === group && t.resource === "events"),
  );
  assert.deepEqual(core?.storage, named?.storage, "both events are the same objects");
});

function custom(group: string, version: string, resource: string): ResourceType {
  const [configMap] = testTypes;
  return { ...(configMap as ResourceType), group, version, resource, custom: true };
}

test("custom types join and leave, groups and versions in their order", () => {
  const registry = new Registry(testTypes);
  const before = registry.catalog;
  assert.equal(before.groups[0]?.name, "");
  registry.setCustom([
    custom("z.io", "v1beta1", "b"),
    custom("a.io", "v1", "x"),
    custom("z.io", "v1", "b"),
    custom("z.io", "v1", "a"),
  ]);
  const { catalog } = registry;
  assert.deepEqual(
    catalog.groups
      .slice(before.groups.length)
      .map(({ name, versions }) => [
        name,
        versions.map(({ version, resources }) => [version, resources.map((r) => r.resource)]),
      ]),
    [
      ["a.io", [["v1", ["x"]]]],
      [
        "z.io",
        [
          ["v1", ["a", "b"]],
          ["v1beta1", ["b"]],
        ],
      ],
    ],
  );
  assert.equal(catalog.find("z.io", "v1", "a")?.resource, "a");
  assert.equal(before.find("z.io", "v1", "a"), undefined, "a moment never changes");
  assert.ok(catalog.generation > before.generation);
  registry.setCustom([]);
  assert.equal(registry.catalog.group("z.io"), undefined);
  assert.equal(registry.catalog.find("apps", "v1", "deployments")?.kind, "Deployment");
});
