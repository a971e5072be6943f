// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildGraph, findCycle, firstMissing, incompatibilities, satisfies, transitiveOf } from "./dependency-graph.ts";
import { commonDigest, highestAllowed, type LockEntry, nearestAllowed } from "./lock-store.ts";

/** `a@v1 b:>=1 c:*` is package a in version v1 that needs b and c. */
function entry(text: string): LockEntry {
  const [own = "", ...needs] = text.split(" ");
  const [source = "", version = ""] = own.split("@");
  const dependencies = needs.map((need) => {
    const [target = "", constraint = ""] = need.split(":");
    return { source: target, kind: "Function" as const, constraint };
  });
  return { name: `${source}-1`, kind: "Configuration", source, version, dependencies };
}

const graph = (...texts: string[]) => buildGraph(texts.map(entry));

test("everything needed, and what of it is missing", () => {
  const packages = graph("a@v1 b:* c:*", "b@v1 d:*", "d@v1");
  const { found, missing } = transitiveOf(packages, entry("a@v1 b:* c:*"));
  assert.deepEqual([found, missing.map(({ source }) => source)], [["b", "d", "c"], ["c"]]);
});

test("two packages of one source are an error for all of them", () => {
  assert.throws(() => graph("a@v1", "a@v2"), /node a already exists/);
});

test("circles are found, however deep", () => {
  assert.equal(findCycle(graph("a@v1 b:*", "b@v1 c:*", "c@v1")), undefined);
  assert.deepEqual(findCycle(graph("a@v1 b:*", "b@v1 c:*", "c@v1 b:*")), ["b", "c", "b"]);
  assert.deepEqual(findCycle(graph("a@v1 a:*")), ["a", "a"]);
  const chain = Array.from({ length: 20_000 }, (_, at) => `p${at}@v1 p${at + 1}:*`);
  assert.equal(findCycle(graph(...chain)), undefined);
  assert.equal(findCycle(graph(...chain, "p20000@v1 p0:*"))?.length, 20_002);
});

test("many ways to one package cost no more than one", () => {
  const layers = Array.from({ length: 60 }, (_, at) => [
    `a${at}@v1 a${at + 1}:* b${at + 1}:*`,
    `b${at}@v1 a${at + 1}:* b${at + 1}:*`,
  ]);
  assert.equal(findCycle(graph(...layers.flat())), undefined);
  assert.equal(transitiveOf(graph(...layers.flat()), entry("x a0:*")).found.length, 121);
});

test("the first missing dependency names every package that requires it", () => {
  const found = firstMissing(graph("a@v1 b:>=1", "c@v1 b:<2"));
  assert.equal(found?.dependency.source, "b");
  assert.deepEqual(
    found?.parents.map(({ source }) => source),
    ["a", "c"],
  );
  assert.equal(firstMissing(graph("a@v1 b:*", "b@v1")), undefined);
});

test("versions that will not do are named", () => {
  const packages = graph("b@v1.0.0", "c@sha256:1");
  const problems = incompatibilities(packages, entry("a@v1 b:>=v2 c:*"));
  assert.deepEqual(problems, [
    "existing package b@v1.0.0 is incompatible with constraint >=v2",
    "existing package c@sha256:1 is incompatible with constraint *",
  ]);
  const digest = `sha256:${"0".repeat(64)}`;
  assert.equal(satisfies(digest, digest), true);
  assert.equal(satisfies("v1.0.0", digest), false);
});

test("the highest whole version that will do", () => {
  const tags = ["v1", "v1.1.0", "v2.0.0-rc.1", "latest", "v1.2", "v1.0.5"];
  assert.equal(highestAllowed(tags, [">=v1.0.0"]), "v1.1.0");
  assert.equal(highestAllowed(tags, [">=v1.0.0", "<v1.1.0"]), "v1.0.5");
  assert.equal(highestAllowed(tags, [">=v3"]), undefined);
});

test("an upgrade goes up as little as possible, down only where that is allowed", () => {
  const tags = ["v0.9.0", "v1.0.0", "v1.1.0", "v1.5.0", "v2.0.0"];
  const move = (constraints: string[], allowDowngrade = false) =>
    nearestAllowed(tags, { installed: "v1.0.0", constraints, allowDowngrade });
  assert.equal(move([">=1.1", "<2"]), "v1.1.0");
  assert.equal(move(["<1.0.0"]), undefined);
  assert.equal(move(["<1.0.0"], true), "v0.9.0");
  assert.equal(move([">=3"], true), undefined);
});

test("all constraints have the same digest, or none has one", () => {
  const [one, two] = [`sha256:${"1".repeat(64)}`, `sha256:${"2".repeat(64)}`];
  assert.equal(commonDigest([">=1"], "a"), undefined);
  assert.equal(commonDigest([one, one], "a"), one);
  assert.throws(() => commonDigest([one, two], "a"), /a is wanted in different digests/);
  assert.throws(() => commonDigest([one, ">=1"], "a"), /both by digest and by version/);
});
