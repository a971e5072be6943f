// SPDX-License-Identifier: Apache-2.0
// The order in which manifests are applied, and the lines that report them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { appliedLine, applyStages, inApplyOrder } from "./apply-manifests.ts";
import type { Manifest } from "./manifest.ts";

const object = (apiVersion: string, kind: string, name = "a"): KubeObject => ({ apiVersion, kind, metadata: { name } });
const manifest = (one: KubeObject): Manifest => ({ object: one, file: "files.yaml", at: () => "files.yaml:1:1" });
const configMap = (name: string): KubeObject => object("v1", "ConfigMap", name);

describe("the order of manifests", () => {
  const kinds = (all: readonly Manifest[]): string[] =>
    all.map(({ object: { kind, metadata } }) => `${kind} ${metadata.name}`);
  const written = [
    object("example.org/v1", "App"),
    object("v1", "ConfigMap"),
    object("apiextensions.crossplane.io/v1", "Composition"),
    object("pkg.crossplane.io/v1", "Function"),
    object("pkg.crossplane.io/v1beta1", "DeploymentRuntimeConfig"),
    object("apiextensions.crossplane.io/v2", "CompositeResourceDefinition"),
    object("v1", "Namespace"),
    object("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    object("v1", "Secret"),
    object("apps/v1", "Deployment"),
    object("example.org/v1", "ConfigMap", "custom"),
  ].map((one) => manifest(one));

  test("is what defines kinds, packages, compositions, what they read, and then everything else as written", () => {
    assert.deepEqual(kinds(inApplyOrder(written)), [
      ...["Namespace a", "CustomResourceDefinition a", "CompositeResourceDefinition a", "Function a"],
      ...["DeploymentRuntimeConfig a", "Composition a", "ConfigMap a", "Secret a", "App a", "Deployment a"],
      "ConfigMap custom",
    ]);
  });

  test("has stages, without empty ones, and does not change the list", () => {
    const before = [...written];
    assert.deepEqual(
      applyStages(written).map((stage) => stage.length),
      [2, 1, 2, 1, 2, 3],
    );
    assert.deepEqual(written, before);
    assert.deepEqual(applyStages([]), []);
  });
});

test("a line of progress names the object, without characters that a terminal obeys", () => {
  assert.equal(appliedLine(manifest(configMap("a")), "created"), "ConfigMap a created");
  const hostile = { ...configMap("a\u001b[2J"), metadata: { name: "a\u001b[2J", namespace: "n" } };
  assert.equal(appliedLine(manifest(hostile), "unchanged"), "ConfigMap n/a\\x1b[2J unchanged");
});
