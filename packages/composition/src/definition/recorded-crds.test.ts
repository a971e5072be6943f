// SPDX-License-Identifier: Apache-2.0
// The CRDs that Crossplane makes of the same definitions, recorded by `npm run record -- definitions`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt } from "@purlin/kube-objects/object";
import { deriveClaimCrd, deriveCompositeCrd } from "./derive-crd.ts";

const flagOff = { functionRevisions: false };

function example(name: string): KubeObject {
  const file = new URL(`testdata/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8")) as KubeObject;
}

function rootOf(crd: KubeObject): JsonObject {
  const [version = {}] = memberAt(crd, ["spec", "versions"]) as readonly JsonObject[];
  return objectAt(version, ["schema", "openAPIV3Schema"]);
}

/** What our composite resources have beyond those of Crossplane. */
const own = {
  claimConditions: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
  lastHandledReconcileAt: { type: "string" },
};

function withOwn(crd: KubeObject, names: readonly (keyof typeof own)[]): KubeObject {
  const copy = structuredClone(crd);
  const status = objectAt(rootOf(copy), ["properties", "status", "properties"]) as Record<string, JsonValue>;
  for (const name of names) status[name] = own[name];
  return copy;
}

test("a v1 definition with claims", () => {
  const xrd = example("app-definition");
  const wanted = withOwn(example("app-composite-crd"), ["claimConditions", "lastHandledReconcileAt"]);
  assert.deepEqual(deriveCompositeCrd(xrd, flagOff), wanted);
  assert.deepEqual(deriveClaimCrd(xrd), example("app-claim-crd"));
});

const cacheCrd = withOwn(example("cache-composite-crd"), ["lastHandledReconcileAt"]);

test("a v2 definition, namespaced", () => {
  assert.deepEqual(deriveCompositeCrd(example("cache-definition"), flagOff), cacheCrd);
});

test("a v2 definition for the whole cluster differs in scope and in what references may name", () => {
  const xrd = example("cache-definition");
  const cluster = { ...xrd, spec: { ...objectAt(xrd, ["spec"]), scope: "Cluster" } };
  const wanted = structuredClone(cacheCrd) as unknown as {
    spec: { scope: string };
  };
  wanted.spec.scope = "Cluster";
  const path = ["properties", "crossplane", "properties", "resourceRefs", "items", "properties"];
  const spec = objectAt(rootOf(wanted as unknown as KubeObject), ["properties", "spec"]);
  (objectAt(spec, path) as Record<string, JsonValue>)["namespace"] = { type: "string" };
  assert.deepEqual(deriveCompositeCrd(cluster, flagOff), wanted);
});
