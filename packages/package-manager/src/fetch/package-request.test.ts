// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { pinNameOf, referenceOfRevision, requestOf } from "./package-request.ts";

const signal = new AbortController().signal;
const object = (spec?: object): KubeObject =>
  ({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name: "f" },
    ...(spec && { spec }),
  }) as KubeObject;

const requests: { why: string; spec?: object; secrets?: string[]; policy?: string }[] = [
  { why: "no policy is set" },
  { why: "Always", spec: { packagePullPolicy: "Always" }, policy: "Always" },
  { why: "Never", spec: { packagePullPolicy: "Never" }, policy: "Never" },
  { why: "an unknown policy is the default", spec: { packagePullPolicy: "Sometimes" } },
  { why: "secrets", spec: { packagePullSecrets: [{ name: "a" }, { name: "b" }] }, secrets: ["a", "b"] },
  {
    why: "secrets without a name are ignored",
    spec: { packagePullSecrets: [{}, { name: "" }, null, "x", { name: "a" }] },
    secrets: ["a"],
  },
  { why: "secrets that are not a list", spec: { packagePullSecrets: "a" } },
];
for (const { why, spec, secrets = [], policy = "IfNotPresent" } of requests) {
  test(`how a package is fetched: ${why}`, () => {
    assert.deepEqual(requestOf(object(spec), "r.io/f:v1", signal), {
      reference: "r.io/f:v1",
      pullSecrets: secrets,
      pullPolicy: policy,
      pin: pinNameOf(object(spec)),
      signal,
    });
  });
}

const named = (kind: string, metadata: object): string =>
  pinNameOf({ apiVersion: "pkg.crossplane.io/v1", kind, metadata } as KubeObject).name;

test("what is remembered for a package counts until the package changes, for a revision for ever", () => {
  const first = named("Function", { uid: "u", generation: 1, name: "f" });
  const changes = [
    { uid: "other", generation: 1 },
    { uid: "u", generation: 2 },
    { uid: "u", generation: 1, labels: { a: "b" } },
    { uid: "u", generation: 1, annotations: { a: "b" } },
  ];
  for (const changed of changes) assert.notEqual(named("Function", { ...changed, name: "f" }), first);
  assert.equal(named("Function", { uid: "u", generation: 1, name: "f", resourceVersion: "9" }), first);
  const labels = (map: object): string => named("Function", { uid: "u", labels: map });
  assert.equal(labels({ a: "1", b: "2" }), labels({ b: "2", a: "1" }));
  const revision = { name: "f-1", uid: "u" };
  assert.equal(named("FunctionRevision", { ...revision, generation: 2 }), named("FunctionRevision", revision));
  assert.ok(!first.includes(" "));
});

const digest = `sha256:${"0".repeat(64)}`;
const references: { why: string; spec: object; reference: string }[] = [
  { why: "with the flag off, the tag is followed", spec: { image: "r.io/f:v1" }, reference: "r.io/f:v1" },
  {
    why: "with it on, what it was made of",
    spec: { image: "r.io/f:v1", digest },
    reference: `r.io/f:v1@${digest}`,
  },
  {
    why: "a reference that has a digest is one",
    spec: { image: `r.io/f@${digest}`, digest },
    reference: `r.io/f@${digest}`,
  },
  { why: "nothing", spec: {}, reference: "" },
];
for (const { why, spec, reference } of references) {
  test(`what a revision is made of: ${why}`, () => assert.equal(referenceOfRevision(object(spec)), reference));
}
