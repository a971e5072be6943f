// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { judgeCrdCase, undescribedFields } from "@purlin/kube-controller/testing";
import { packageCrdCases } from "../../test/package-crd-cases.ts";
import { builtInSchema, packageCrds } from "./package-crds.ts";

suite("the CRDs of packages", () => {
  let client: KubeClient;
  let stop: () => Promise<void>;
  before(async () => {
    const directory = mkdtempSync(join(tmpdir(), "package-crds-"));
    const server = await startApiServer({ kinds: builtinKinds, directory });
    client = createKubeClient(createDirectTransport(server.handle, { name: "admin", groups: [mastersGroup] }));
    stop = async () => {
      await client.close();
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    };
    await installCrds(client, packageCrds({ functionRevisionSelectors: true }));
  });
  after(() => stop());

  for (const [name, one] of Object.entries(packageCrdCases)) {
    test(`${name}: ${one.reason}`, () => judgeCrdCase(client, one));
  }

  test("installed twice, nothing is written the second time", async () => {
    const seen = new Set<string>();
    await installCrds(client, packageCrds({ functionRevisionSelectors: true }), {
      onProgress: ({ what }) => seen.add(what),
    });
    assert.deepEqual([...seen].sort(), ["established", "unchanged"]);
  });
});

suite("a built-in schema inside a CRD", () => {
  test("holds nothing that a structural schema may not", () => {
    const text = JSON.stringify(builtInSchema("apis/apps/v1", "io.k8s.api.apps.v1.DeploymentSpec"));
    for (const keyword of ["$ref", "oneOf", "x-kubernetes-patch", "x-kubernetes-unions", '"enum"', "managedFields"]) {
      assert.ok(!text.includes(keyword), keyword);
    }
  });

  test("names the unknown document or component", () => {
    assert.throws(() => builtInSchema("apis/none/v1", "x"), /there is no built-in document "apis\/none\/v1"/);
    assert.throws(() => builtInSchema("apis/apps/v1", "io.k8s.none"), /io\.k8s\.none/);
  });
});

for (const crd of packageCrds({ functionRevisionSelectors: true, functionRollouts: true })) {
  test(`every field of ${crd.metadata.name} has a description`, () => assert.deepEqual(undescribedFields(crd), []));
}
