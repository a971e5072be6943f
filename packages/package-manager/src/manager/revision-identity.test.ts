// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { currentByDigest, currentByGeneration, numberOfCurrent } from "./revision-identity.ts";

const hex = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const identity = { packageName: "function-bucket", digest: `sha256:${hex}`, generation: 1 };

const revision = (name: string, number: number, digest?: string): KubeObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "FunctionRevision",
  metadata: { name },
  spec: { revision: number, ...(digest !== undefined && { digest }) },
});

test("each generation has a revision of its own", () => {
  const first = currentByGeneration(identity, []);
  assert.deepEqual([first.name, first.existing], ["function-bucket-5d16ee38ddf6", undefined]);
  const made = revision(first.name, 1);
  assert.equal(currentByGeneration(identity, [made]).existing, made);
  const second = currentByGeneration({ ...identity, generation: 2 }, [made]);
  assert.deepEqual([second.name, second.existing], ["function-bucket-70c0d022c734", undefined]);
});

test("with digests, only the content makes a revision, whatever it is called", () => {
  const fresh = currentByDigest(identity, []);
  assert.equal(fresh.name, "function-bucket-2cf24dba5fb0");
  const renamed = revision("anything", 3, identity.digest);
  const older = revision("older", 2, identity.digest);
  const other = revision("function-bucket-2cf24dba5fb0", 4, `sha256:${"0".repeat(64)}`);
  assert.equal(currentByDigest({ ...identity, generation: 9 }, [older, renamed, other]).name, "anything");
});

test("a revision from before digests were noted is known by either name", () => {
  for (const name of ["function-bucket-2cf24dba5fb0", "function-bucket-5d16ee38ddf6"]) {
    assert.equal(currentByDigest(identity, [revision(name, 1)]).existing?.metadata.name, name);
  }
  assert.equal(currentByDigest(identity, [revision("function-bucket-70c0d022c734", 1)]).existing, undefined);
});

test("the current revision always has the highest number", () => {
  const a = revision("a", 1);
  const b = revision("b", 2);
  assert.equal(numberOfCurrent({ name: "a", existing: undefined }, []), 1);
  assert.equal(numberOfCurrent({ name: "b", existing: b }, [a, b]), 2);
  assert.equal(numberOfCurrent({ name: "a", existing: a }, [a, b]), 3, "going back renumbers");
  assert.equal(numberOfCurrent({ name: "c", existing: undefined }, [a, b]), 3);
});
