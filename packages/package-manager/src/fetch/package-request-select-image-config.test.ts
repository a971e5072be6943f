// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { applyImageConfigs, concernsFetching, concernsPulling, selectImageConfig } from "./package-request.ts";

const config = (name: string, prefixes: readonly string[], spec: object): KubeObject => ({
  apiVersion: "pkg.crossplane.io/v1beta1",
  kind: "ImageConfig",
  metadata: { name },
  spec: { matchImages: prefixes.map((prefix) => ({ type: "Prefix", prefix })), ...spec },
});

const rewrite = (prefix: string): object => ({ rewriteImage: { prefix } });
const secret = (name: string): object => ({ registry: { authentication: { pullSecretRef: { name } } } });
const verify = { verification: { provider: "Cosign", cosign: { authorities: [] } } };
const image = "registry.example.org/acme/f:v1";

test("the longest prefix wins for each purpose by itself", () => {
  const configs = [
    config("wide", ["registry.example.org/"], { ...rewrite("mirror.example.org/"), ...secret("wide") }),
    config("narrow", ["registry.example.org/acme/"], rewrite("near.example.org/a/")),
    config("mirror", ["near.example.org/", "nowhere/"], secret("near")),
    config("longer-but-silent", ["registry.example.org/acme/f"], {}),
  ];
  assert.deepEqual(applyImageConfigs(configs, image), {
    reference: "near.example.org/a/f:v1",
    applied: [
      { name: "narrow", reason: "RewriteImage" },
      { name: "mirror", reason: "SetImagePullSecret" },
    ],
    pullSecret: "near",
    verification: undefined,
  });
});

test("a rewrite happens once, and may change tag and digest", () => {
  const configs = [
    config("one", [image], rewrite("registry.example.org/acme/f:v2")),
    config("two", ["registry.example.org/acme/f:v2"], rewrite("never.example.org/f:v3")),
  ];
  assert.equal(applyImageConfigs(configs, image).reference, "registry.example.org/acme/f:v2");
});

test("of two equally long prefixes the first counts; without a match nothing changes", () => {
  const configs = [config("a", ["registry."], secret("a")), config("b", ["registry."], secret("b"))];
  assert.equal(selectImageConfig(configs, image, "SetImagePullSecret")?.config.metadata.name, "a");
  assert.deepEqual(applyImageConfigs(configs, "other.example.org/f:v1"), {
    reference: "other.example.org/f:v1",
    applied: [],
    pullSecret: undefined,
    verification: undefined,
  });
});

test("a rule for signatures concerns fetching, and is not among what was applied", () => {
  assert.equal(concernsFetching(config("v", [image], verify)), true);
  assert.equal(concernsPulling(config("v", [image], verify)), false);
  assert.equal(concernsFetching(config("s", [image], secret("x"))), true);
  const { applied, verification } = applyImageConfigs([config("v", [image], verify)], image);
  assert.deepEqual([applied, verification], [[], "v"]);
});
