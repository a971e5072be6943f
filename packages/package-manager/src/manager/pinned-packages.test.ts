// SPDX-License-Identifier: Apache-2.0
// What was fetched once is what runs, whatever a registry serves under the same tag later, also after a restart.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { functionPackage, type PackageCluster, startPackageCluster } from "../../test/package-cluster.ts";
import { applyPackage, install, managePackage, revisions, states } from "../../test/package-scene.ts";
import { openImagePins, pinFetched } from "../fetch/image-pins.ts";
import { referenceOfRevision, requestOf } from "../fetch/package-request.ts";

const signal = new AbortController().signal;

/** The control plane as it is after a start: what it remembers is what is on disk. */
async function started(cluster: PackageCluster, folder: string): Promise<PackageCluster> {
  const packages = pinFetched(cluster.deps.packages, await openImagePins(join(folder, "pins.json")));
  return { ...cluster, deps: { ...cluster.deps, packages } };
}

for (const functionRevisionSelectors of [false, true]) {
  const flag = functionRevisionSelectors ? "on" : "off";

  test(`a restart does not look a tag up again, with or without a registry (selectors ${flag})`, async () => {
    await using cluster = await startPackageCluster({ functionRevisionSelectors });
    using folder = tempFolder();
    await cluster.push("acme/f:v1", functionPackage("one"));
    await install(await started(cluster, folder.path), "Function", "f");
    const before = await revisions(cluster, "Function", "f");
    await cluster.push("acme/f:v1", functionPackage("two"));
    await managePackage(await started(cluster, folder.path), "Function", "f");
    await cluster.closeRegistry();
    await managePackage(await started(cluster, folder.path), "Function", "f");
    const after = await revisions(cluster, "Function", "f");
    assert.deepEqual(
      after.map(({ metadata }) => metadata.name),
      before.map(({ metadata }) => metadata.name),
    );
  });

  test(`each revision stays what it was made of when its tag moves (selectors ${flag})`, async () => {
    await using cluster = await startPackageCluster({ functionRevisionSelectors });
    using folder = tempFolder();
    const plane = await started(cluster, folder.path);
    const digests = [await cluster.push("acme/f:v1", functionPackage("one"))];
    await install(plane, "Function", "f", { revisionHistoryLimit: 5 });
    digests.push(await cluster.push("acme/f:v1", functionPackage("two")));
    await install(plane, "Function", "f", { revisionHistoryLimit: 6 });
    await cluster.push("acme/f:v1", functionPackage("three"));
    const { deps } = await started(cluster, folder.path);
    const found = [];
    for (const revision of await revisions(cluster, "Function", "f")) {
      for (const packagePullPolicy of ["IfNotPresent", "Always", "Never"]) {
        const spec = { ...(revision["spec"] as object), packagePullPolicy };
        const request = requestOf({ ...revision, spec }, referenceOfRevision(revision), signal);
        found.push((await deps.packages.resolve(request)).digest);
      }
    }
    const [one, two] = digests;
    assert.deepEqual(found, [two, two, two, one, one, one]);
  });
}

const lookedUp: Record<string, { readonly spec: object; readonly metadata?: object; readonly reason: string }> = {
  Always: { spec: { packagePullPolicy: "Always" }, reason: "that is what Always means" },
  Edited: { spec: { revisionHistoryLimit: 7 }, reason: "a change of the package has it looked up again" },
  Labelled: { spec: {}, metadata: { labels: { channel: "moved" } }, reason: "as any other change" },
  Annotated: { spec: {}, metadata: { annotations: { again: "please" } }, reason: "as any other change" },
};

for (const [name, { spec, metadata = {}, reason }] of Object.entries(lookedUp)) {
  test(`a moved tag makes a new revision: ${name}`, async () => {
    await using cluster = await startPackageCluster();
    using folder = tempFolder();
    await cluster.push("acme/f:v1", functionPackage("one"));
    const first = name === "Edited" ? {} : spec;
    await install(await started(cluster, folder.path), "Function", "f", first);
    await cluster.push("acme/f:v1", functionPackage("two"));
    await applyPackage(cluster, { kind: "Function", name: "f", spec, metadata });
    await managePackage(await started(cluster, folder.path), "Function", "f");
    assert.equal((await states(cluster, "Function", "f")).length, 2, reason);
  });
}

test("a package that could not be read is looked up again", async () => {
  await using cluster = await startPackageCluster();
  using folder = tempFolder();
  await cluster.push("acme/f:v1", "a: b\n");
  await applyPackage(cluster, { kind: "Function", name: "f", spec: {} });
  const plane = await started(cluster, folder.path);
  await assert.rejects(managePackage(plane, "Function", "f"), /package\.yaml/);
  await cluster.push("acme/f:v1", functionPackage("one"));
  await managePackage(plane, "Function", "f");
  assert.equal((await states(cluster, "Function", "f")).length, 1);
});
