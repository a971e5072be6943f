// SPDX-License-Identifier: Apache-2.0
// What happens to an old revision between the look and its removal, on a real API server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import { packageTypes } from "../package-kinds.ts";
import { caughtUp } from "../testing/caught-up.ts";
import { functionPackage, type PackageCluster, startPackageCluster } from "../testing/package-cluster.ts";
import { applyPackage, managePackage, revisions, serve, states } from "../testing/package-scene.ts";
import { reconcilePackage } from "../testing/reconcile.ts";

const type = packageTypes.Function;
const stopping = new AbortController().signal;

/** Three revisions that users activate, of which the history has room for two: the next pass takes the lowest. */
async function startCrowded(): Promise<PackageCluster> {
  const cluster = await startPackageCluster({ functionRevisionSelectors: true });
  for (const [at, tag] of ["v1", "v2", "v3"].entries()) {
    await cluster.push(`acme/f:${tag}`, functionPackage(tag));
    const spec = { package: `${cluster.registry}/acme/f:${tag}`, revisionActivationPolicy: "Manual" };
    await applyPackage(cluster, {
      kind: "Function",
      name: "f",
      spec: { ...spec, revisionHistoryLimit: at === 2 ? 1 : 9 },
    });
    if (at < 2) await managePackage(cluster, "Function", "f");
  }
  await managePackage(cluster, "Function", "f");
  await serve(cluster, { kind: "Function", name: "f", number: 3 });
  assert.deepEqual(await states(cluster, "Function", "f"), ["3 Inactive", "2 Inactive", "1 Inactive"]);
  await caughtUp(cluster, [type.package, type.revision]);
  cluster.takeEvents();
  return cluster;
}

/** A pass in which something happens to the lowest revision after it was looked at. */
async function passWhile(cluster: PackageCluster, happens: (lowest: KubeObject) => Promise<unknown>): Promise<void> {
  const revisionsInUse = async (): Promise<Set<string>> => {
    const lowest = (await revisions(cluster, "Function", "f")).at(-1);
    assert.ok(lowest);
    await happens(lowest);
    return new Set();
  };
  await reconcilePackage({ ...cluster.deps, revisionsInUse }, type, { key: { name: "f" }, stopping });
}

test("a revision that a user activates in the last moment is not collected", async () => {
  await using cluster = await startCrowded();
  const activate = (lowest: KubeObject): Promise<unknown> =>
    cluster.kube.update(withMember(lowest, ["spec", "desiredState"], "Active"));
  await assert.rejects(passWhile(cluster, activate), /cannot garbage collect old package revision: .*precondition/);
  assert.deepEqual(await states(cluster, "Function", "f"), ["3 Inactive", "2 Inactive", "1 Active"]);
  assert.deepEqual(cluster.takeEvents(), [], "the next pass sees what happened; there is nothing to tell");
  await managePackage(cluster, "Function", "f");
  assert.deepEqual(await states(cluster, "Function", "f"), ["3 Inactive", "1 Active"], "another one goes");
});

test("a revision that a user removed meanwhile is ignored", async () => {
  await using cluster = await startCrowded();
  await passWhile(cluster, ({ metadata }) => cluster.kube.delete({ ...type.revision, name: metadata.name ?? "" }));
  assert.deepEqual(await states(cluster, "Function", "f"), ["3 Inactive", "2 Inactive"]);
  assert.deepEqual(
    cluster.takeEvents().filter((event) => event.startsWith("Warning")),
    [],
  );
});
