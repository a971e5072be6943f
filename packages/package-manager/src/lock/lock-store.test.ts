// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { entryOf, readLock, writeLock } from "./lock-store.ts";

const digest = `sha256:${"0".repeat(64)}`;
const meta = { kind: "Function", dependencies: [] } as const;

const images: { image: string; source: string; version: string; why: string }[] = [
  { image: "registry.example.org/acme/f:v1", source: "registry.example.org/acme/f", version: "v1", why: "a tag" },
  { image: `127.0.0.1:5000/f@${digest}`, source: "127.0.0.1:5000/f", version: digest, why: "a digest" },
  {
    image: `registry.example.org/acme/f:v1@${digest}`,
    source: "registry.example.org/acme/f",
    version: "v1",
    why: "both: the tag is not part of the source, and constraints apply to it",
  },
];

for (const { image, source, version, why } of images) {
  test(`the entry of ${why}`, () => {
    assert.deepEqual(entryOf({ name: "f-1", image }, meta), {
      name: "f-1",
      kind: "Function",
      source,
      version,
      dependencies: [],
    });
  });
}

test("the Lock names a package as its users do, before any rewriting", () => {
  const { source } = entryOf({ name: "f-1", image: "registry.example.org/acme/f:v1" }, meta);
  assert.equal(source, "registry.example.org/acme/f");
});

const lock = (packages: unknown): KubeObject => ({
  apiVersion: "pkg.crossplane.io/v1beta1",
  kind: "Lock",
  metadata: { name: "lock" },
  packages: packages as never,
});

test("what is written is read again", () => {
  const dependencies = [{ source: "registry.example.org/acme/p", kind: "Provider" as const, constraint: ">=v1" }];
  const entries = [
    { name: "c-1", kind: "Configuration" as const, source: "registry.example.org/acme/c", version: "v1", dependencies },
    {
      name: "f-1",
      kind: "Function" as const,
      source: "registry.example.org/acme/f",
      version: digest,
      dependencies: [],
    },
  ];
  assert.deepEqual(readLock(lock(writeLock(entries))), entries);
});

test("a Lock of an older release has kinds under type; whatever else it holds breaks nothing", () => {
  const old = {
    name: "f-1",
    type: "Function",
    source: "a.b/f",
    version: "v1",
    dependencies: [{ package: "a.b/p", type: "Provider", constraints: "*" }, "text"],
  };
  assert.deepEqual(readLock(lock([old, null, 7])), [
    {
      name: "f-1",
      kind: "Function",
      source: "a.b/f",
      version: "v1",
      dependencies: [{ source: "a.b/p", kind: "Provider", constraint: "*" }],
    },
  ]);
  assert.deepEqual([readLock(undefined), readLock(lock(undefined)), readLock(lock({}))], [[], [], []]);
  assert.deepEqual(readLock(lock([{}])), [
    { name: "", kind: "Configuration", source: "", version: "", dependencies: [] },
  ]);
});
