// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import fc from "fast-check";
import { applyImageConfigs, longestPrefix, selectImageConfig } from "../fetch/package-request.ts";

const config = (name: string, prefixes: unknown, spec: object = {}): KubeObject =>
  ({
    apiVersion: "pkg.crossplane.io/v1beta1",
    kind: "ImageConfig",
    metadata: { name },
    spec: {
      matchImages: Array.isArray(prefixes) ? prefixes.map((prefix) => ({ type: "Prefix", prefix })) : prefixes,
      ...spec,
    },
  }) as KubeObject;
const rewrite = (prefix: string): object => ({ rewriteImage: { prefix } });

const digest = `sha256:${"0".repeat(64)}`;
const rewrites: { why: string; match: string; to: string; original: string; becomes: string }[] = [
  {
    why: "another registry",
    match: "xpkg.example.org/",
    to: "mirror.local/x/",
    original: "xpkg.example.org/a/f:v1",
    becomes: "mirror.local/x/a/f:v1",
  },
  {
    why: "a prefix is characters, not parts",
    match: "xpkg.example.org/a",
    to: "m.local/",
    original: "xpkg.example.org/ab/f:v1",
    becomes: "m.local/b/f:v1",
  },
  {
    why: "the whole reference, with another tag",
    match: "r.io/f:v1",
    to: "r.io/f:v2",
    original: "r.io/f:v1",
    becomes: "r.io/f:v2",
  },
  {
    why: "a tag for a digest",
    match: "r.io/f:v1",
    to: `r.io/f@${digest}`,
    original: "r.io/f:v1",
    becomes: `r.io/f@${digest}`,
  },
  {
    why: "digests go along",
    match: "r.io/",
    to: "m.local/",
    original: `r.io/f@${digest}`,
    becomes: `m.local/f@${digest}`,
  },
  {
    why: "a source without a tag, for the tags of a dependency",
    match: "r.io/",
    to: "m.local/",
    original: "r.io/f",
    becomes: "m.local/f",
  },
  { why: "an image of another registry", match: "r.io/", to: "m.local/", original: "q.io/f:v1", becomes: "q.io/f:v1" },
  {
    why: "the empty prefix matches every image",
    match: "",
    to: "proxy.local/",
    original: "q.io/f:v1",
    becomes: "proxy.local/q.io/f:v1",
  },
];
for (const { why, match, to, original, becomes } of rewrites) {
  test(`a rewrite: ${why}`, () =>
    assert.equal(applyImageConfigs([config("c", [match], rewrite(to))], original).reference, becomes));
}

test("the longest prefix of one config is replaced, not the first", () => {
  const made = config("c", ["r.io/", "r.io/acme/", "r.io/acme/other/"], rewrite("m.local/"));
  assert.equal(applyImageConfigs([made], "r.io/acme/f:v1").reference, "m.local/f:v1");
  assert.equal(longestPrefix(made, "r.io/acme/f:v1"), "r.io/acme/");
  assert.equal(longestPrefix(made, "q.io/f:v1"), undefined);
});

const odd: { why: string; config: KubeObject }[] = [
  { why: "no images", config: config("c", undefined, rewrite("m.local/")) },
  { why: "images that are not a list", config: config("c", { prefix: "r.io/" }, rewrite("m.local/")) },
  { why: "images without a prefix", config: config("c", [undefined, 7], rewrite("m.local/")) },
  { why: "a rewrite to nothing", config: config("c", ["r.io/"], { rewriteImage: {} }) },
  { why: "no spec", config: { apiVersion: "v1", kind: "ImageConfig", metadata: { name: "c" } } },
];
for (const { why, config: made } of odd) {
  test(`an empty config changes nothing: ${why}`, () => {
    assert.equal(applyImageConfigs([made], "r.io/f:v1").reference, "r.io/f:v1");
  });
}

test("whichever order they are listed in, the one with the longest prefix is selected", () => {
  const prefixes = fc.uniqueArray(
    fc.constantFrom("", "r", "r.io", "r.io/", "r.io/a", "r.io/acme/", "r.io/acme/f", "q.io/"),
    { minLength: 1 },
  );
  fc.assert(
    fc.property(prefixes, (drawn) => {
      const configs = drawn.map((prefix, at) => config(`c${at}`, [prefix], rewrite("m.local/")));
      const reference = "r.io/acme/f:v1";
      const longest = drawn.filter((prefix) => reference.startsWith(prefix)).toSorted((a, b) => b.length - a.length)[0];
      assert.equal(selectImageConfig(configs, reference, "RewriteImage")?.prefix, longest);
      assert.equal(selectImageConfig(configs.toReversed(), reference, "RewriteImage")?.prefix, longest);
    }),
  );
});

test("rewriting, authenticating, verifying and running may each be another config's affair", () => {
  const configs = [
    config("rewrites", ["r.io/"], rewrite("m.local/")),
    config("knows", ["m.local/"], { registry: { authentication: { pullSecretRef: { name: "s" } } } }),
    config("verifies", ["m.local/f"], { verification: { provider: "Cosign" } }),
    config("runs", ["m.local/"], { runtime: { configRef: { name: "r" } } }),
  ];
  assert.deepEqual(applyImageConfigs(configs, "r.io/f:v1"), {
    reference: "m.local/f:v1",
    applied: [
      { name: "rewrites", reason: "RewriteImage" },
      { name: "knows", reason: "SetImagePullSecret" },
    ],
    pullSecret: "s",
    verification: "verifies",
  });
  assert.equal(selectImageConfig(configs, "m.local/f:v1", "ConfigureRuntime")?.config.metadata.name, "runs");
});
