// SPDX-License-Identifier: Apache-2.0
// Labels of a package that no object can have.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startPackageCluster } from "../../test/package-cluster.ts";
import { install, passRevision, revisionHealth, revisions } from "../../test/package-scene.ts";

test("a package whose labels are refused says so, instead of nothing", async () => {
  await using cluster = await startPackageCluster();
  const labels = '{team: "two words"}';
  const meta = `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f, labels: ${labels}}\nspec: {}\n`;
  await cluster.push("acme/f:v1", meta);
  await install(cluster, "Function", "f");
  const [revision] = await revisions(cluster, "Function", "f");
  cluster.takeEvents();
  const said = /cannot update package revision object metadata: .*metadata\.labels.*"two words"/;
  await assert.rejects(passRevision(cluster, "Function", revision), said);
  assert.match(await revisionHealth(cluster, "Function", "f"), said);
  const [event, ...more] = cluster.takeEvents();
  assert.match(event ?? "", /^Warning SyncPackage: cannot update package revision object metadata/);
  assert.deepEqual(more, []);
});
