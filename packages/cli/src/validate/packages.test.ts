// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageMeta } from "../../test/function-folder.ts";
import { TestIo } from "../../test/test-io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { cacheFolder, findPackages, inputKinds, type KnownPackage } from "./packages.ts";

const manifest = (object: JsonObject): Manifest => ({
  object: object as KubeObject,
  file: "f.yaml",
  at: () => "f.yaml:1:1",
});

test("the cache is in $XDG_CACHE_HOME, or below the home of the user", () => {
  assert.equal(cacheFolder({ env: { XDG_CACHE_HOME: "/c", HOME: "/h" } }, "packages"), "/c/purlin/packages");
  assert.equal(cacheFolder({ env: { XDG_CACHE_HOME: "", HOME: "/h" } }, "packages"), "/h/.cache/purlin/packages");
  assert.equal(cacheFolder({ env: {} }, "packages"), undefined);
  assert.equal(
    cacheFolder({ env: { XDG_CACHE_HOME: "relative" } }, "packages"),
    undefined,
    "as the specification says",
  );
});

test("the inputs of a function are the kinds that the CRDs of its package serve", () => {
  const crd = manifest({
    ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "inputs.a.org" } },
    spec: {
      ...{ group: "a.org", names: { kind: "Input" } },
      versions: [
        { name: "v1", served: true },
        { name: "v1beta1", served: true },
        { name: "v1alpha1", served: false },
      ],
    },
  });
  const of = (kind: KnownPackage["kind"], manifests: readonly Manifest[]): KnownPackage => ({
    name: "fn",
    kind,
    manifests,
    capabilities: [],
  });
  assert.deepEqual(inputKinds([of("Function", [crd, manifest({ apiVersion: "v1", kind: "Pod" })])], "fn"), [
    "a.org/v1 Input",
    "a.org/v1beta1 Input",
  ]);
  assert.deepEqual(inputKinds([of("Function", [])], "fn"), []);
  assert.equal(inputKinds([of("Provider", [crd])], "fn"), undefined, "a package of another kind");
  assert.equal(inputKinds([], "fn"), undefined);
});

const installed = (name: string, reference: string, more: JsonObject = {}): Manifest =>
  manifest({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name, ...more },
    spec: { package: reference },
  });
const cached = (reference: string): string =>
  `purlin/packages/${createHash("sha256").update(reference).digest("hex")}.yaml`;
const find = (manifests: readonly Manifest[], caches: string) =>
  findPackages(
    { files: [], manifests, isFetching: false },
    { args: [], options: {} },
    new TestIo({ env: { XDG_CACHE_HOME: caches } }),
  );

test("packages come from the cache; those that are not there, or are broken, are named", async () => {
  using folder = tempFolder({
    [cached("example.org/a:v1")]: packageMeta("function-of-a"),
    [cached("example.org/broken:v1")]: "kind: [",
  });
  const { packages, missing } = await find(
    [
      installed("a", "example.org/a:v1"),
      installed("b", "example.org/b:v1"),
      installed("c", "example.org/broken:v1"),
      installed("none", ""),
    ],
    folder.path,
  );
  assert.deepEqual(
    packages.map(({ name, kind }) => [name, kind]),
    [["a", "Function"]],
    "by the name it is installed under",
  );
  assert.equal(missing.length, 2);
  assert.equal(missing[0], "example.org/b:v1: not in the cache: run with --fetch-packages once, or add its .xpkg file");
  assert.match(missing[1] ?? "", /^example\.org\/broken:v1: ./);
});

test("functions that run from a source file, and other objects, name no package", async () => {
  const source = installed("a", "example.org/a:v1", { annotations: { "purlin.dev/source": "fn.ts" } });
  const pod = manifest({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } });
  assert.deepEqual(await find([source, pod], join("/", "nonexistent")), { packages: [], missing: [] });
});
