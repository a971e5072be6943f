// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";
import { caughtUp, type PackageCluster, startPackageCluster } from "../../test/package-cluster.ts";
import { otherKinds } from "../package-kinds.ts";
import { type DependencyCounts, registerPackage, unregisterPackage } from "./dependency-graph.ts";
import { getLock, type LockEntry, lockName, putLock, readLock } from "./lock-store.ts";

const signal = new AbortController().signal;

/** `a@v1 b:>=1` is package a in version v1 that needs b. */
function entry(text: string, name = ""): LockEntry {
  const [own = "", ...needs] = text.split(" ");
  const [source = "", version = ""] = own.split("@");
  const dependencies = needs.map((need) => {
    const [target = "", constraint = ""] = need.split(":");
    return { source: `r.io/${target}`, kind: "Function" as const, constraint };
  });
  return { name: name || `${source}-1`, kind: "Function", source: `r.io/${source}`, version, dependencies };
}

suite("entering packages into the Lock", () => {
  let cluster: PackageCluster;
  before(async () => {
    cluster = await startPackageCluster();
  });
  after(() => cluster[Symbol.asyncDispose]());
  beforeEach(async () => {
    const lock = await getLock(cluster.client, signal);
    await putLock(cluster.client, lock, { next: [], signal });
    cluster.takeWrites();
  });

  const register = (own: LockEntry, siblings: string[] = []): Promise<DependencyCounts> =>
    registerPackage(cluster.client, { own, siblings: new Set(siblings) }, signal);
  const entries = async (): Promise<string[]> =>
    readLock(await cluster.kube.get(otherKinds.lock, { name: lockName })).map(
      ({ name, version }) => `${name} ${version}`,
    );

  const rows: { why: string; there: string[]; own: string; counts: [number, number, number]; problem?: string }[] = [
    { why: "a package that needs nothing", there: [], own: "a@v1", counts: [0, 0, 0] },
    { why: "all is there", there: ["b@v1.0.0"], own: "a@v1 b:>=1", counts: [1, 1, 0] },
    {
      why: "direct ones that are missing are counted and named",
      there: ["b@v1.0.0"],
      own: "a@v1 b:>=1 c:>=2",
      counts: [2, 1, 0],
      problem: 'missing dependencies: "r.io/c" (>=2)',
    },
    {
      why: "three are named, in order, the others counted",
      there: [],
      own: "a@v1 e:* d:* c:* b:* f:*",
      counts: [5, 0, 0],
      problem: 'missing dependencies: "r.io/b" (*), "r.io/c" (*), "r.io/d" (*), and 2 more',
    },
    {
      why: "what a dependency needs counts as well",
      there: ["b@v1.0.0 c:*"],
      own: "a@v1 b:*",
      counts: [2, 1, 0],
      problem: 'missing dependencies: "r.io/c" (*)',
    },
    { why: "deep, and all there", there: ["b@v1.0.0 c:*", "c@v1.0.0"], own: "a@v1 b:*", counts: [2, 2, 0] },
    {
      why: "direct ones in the wrong version, each named",
      there: ["b@v1.0.0", "c@v1.0.0", "d@v2.0.0"],
      own: "a@v1 b:>=2 c:<1 d:>=2",
      counts: [3, 3, 2],
      problem:
        "incompatible dependencies: existing package r.io/b@v1.0.0 is incompatible with constraint >=2; existing package r.io/c@v1.0.0 is incompatible with constraint <1",
    },
    {
      why: "what a dependency thinks of its own is its affair",
      there: ["b@v1.0.0 c:>=2", "c@v1.0.0"],
      own: "a@v1 b:*",
      counts: [2, 2, 0],
    },
    {
      why: "an invalid version satisfies nothing",
      there: ["b@latest"],
      own: "a@v1 b:*",
      counts: [1, 1, 1],
      problem: "incompatible dependencies: existing package r.io/b@latest is incompatible with constraint *",
    },
  ];

  for (const { why, there, own, counts, problem } of rows) {
    test(why, async () => {
      const lock = await getLock(cluster.client, signal);
      await putLock(cluster.client, lock, { next: there.map((text) => entry(text)), signal });
      const { found, installed, invalid, problem: reported } = await register(entry(own));
      assert.deepEqual([found, installed, invalid], counts);
      assert.equal(reported, problem);
    });
  }

  test("an entry is written once; a new version, and a new source, take its place", async () => {
    await register(entry("a@v1"));
    cluster.takeWrites();
    await register(entry("a@v1"));
    assert.deepEqual(cluster.takeWrites(), []);
    await register(entry("a@v2"));
    assert.deepEqual(await entries(), ["a-1 v2"]);
    await register({ ...entry("other@v3"), name: "a-1" });
    assert.deepEqual(await entries(), ["a-1 v3"]);
  });

  test("a revision replaces every other revision of its package, and no revision of another package", async () => {
    const lock = await getLock(cluster.client, signal);
    const next = [entry("x@v1"), entry("a@v1"), entry("a@v0", "a-0"), entry("y@v1")];
    await putLock(cluster.client, lock, { next, signal });
    await register(entry("a@v2", "a-2"), ["a-0", "a-1", "a-2"]);
    assert.deepEqual(await entries(), ["x-1 v1", "a-2 v2", "y-1 v1"]);
  });

  test("two of one source fail for all until one is deleted", async () => {
    await register(entry("a@v1"));
    await assert.rejects(register(entry("a@v1", "other")), /the packages in the lock: node r\.io\/a already exists/);
    await assert.rejects(register(entry("b@v1")), /already exists/);
    await unregisterPackage(cluster.client, "other", signal);
    assert.equal((await register(entry("b@v1"))).problem, undefined);
  });

  test("a revision that is removed is gone, and removing it twice writes nothing", async () => {
    await register(entry("a@v1"));
    await unregisterPackage(cluster.client, "a-1", signal);
    assert.deepEqual(await entries(), []);
    cluster.takeWrites();
    await unregisterPackage(cluster.client, "a-1", signal);
    assert.deepEqual(cluster.takeWrites(), []);
  });

  test("the first package that needs the Lock creates it", async () => {
    await cluster.kube.delete({ ...otherKinds.lock, name: lockName });
    await caughtUp(cluster, [otherKinds.lock]);
    const locks = await Promise.all([1, 2, 3].map(() => getLock(cluster.client, signal)));
    assert.equal(new Set(locks.map(({ object }) => object.metadata.uid)).size, 1);
  });
});
