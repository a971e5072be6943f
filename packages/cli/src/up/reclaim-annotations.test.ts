// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import { mastersGroup } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { functionCrds } from "@purlin/package-manager";
import { startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { applyManifests } from "../manifests/apply-manifests.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { hasSharedAnnotations, reclaimAnnotations } from "./apply-files.ts";
import { functionType, sourceFolders, upTrust } from "./source-functions.ts";

test("files take back annotations that other field managers set too, unless another object controls the Function", async () => {
  using folder = tempFolder();
  const signal = AbortSignal.timeout(60_000);
  await using embedded = await startEmbeddedServer({ directory: join(folder.path, "d"), port: 0, warn: () => {} });
  const operator = { name: "admin", groups: [mastersGroup] };
  const client = createKubeClient(createDirectTransport(embedded.server.handle, operator));
  await installCrds(client, functionCrds({ functionRevisionSelectors: false }), { signal });
  const controller = { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "u", controller: true };
  for (const [name, ownerReferences] of [
    ["free", []],
    ["composed", [controller]],
  ] as const) {
    const annotations = { "purlin.dev/source": "/project/fn.ts" };
    const object = { ...functionType, metadata: { name, annotations }, spec: { package: "example.org/x:v1" } };
    // An older version of this program, or a user.
    await client.create({ ...object, metadata: { ...object.metadata, ownerReferences } }, { fieldManager: "older" });
    const manifest: Manifest = { object, file: "f.yaml", at: () => "f.yaml:1:1" };
    const options = { waitMs: 1, signal };
    await applyManifests(client, [manifest], options);
    const stored = await client.get(functionType, { name });
    const isHonored = (of: typeof stored): boolean => honoredDevelopmentOf(of, upTrust) !== undefined;
    assert.equal(isHonored(stored), false, `${name}: set by two`);
    assert.equal(hasSharedAnnotations(stored), name === "free");
    if (!hasSharedAnnotations(stored)) continue;
    await reclaimAnnotations(client, new Map([[manifest, stored]]), options);
    const reclaimed = await client.get(functionType, { name });
    assert.equal(isHonored(reclaimed), true);
    assert.equal(hasSharedAnnotations(reclaimed), false);
    assert.deepEqual(reclaimed.metadata.annotations, annotations);
  }
  await client.close();
});

test("source files lie in the folders of the command line, or in those of the last one that named any", async () => {
  using folder = tempFolder({ "project/fn.yaml": "", "data/kept": "" });
  const directory = join(folder.path, "data");
  const of = (...paths: string[]) => sourceFolders({ paths, directory }, folder.path);
  const except = [directory];
  assert.deepEqual(await of(), { folders: [], except });
  const project = join(folder.path, "project");
  assert.deepEqual(await of("project", "project/fn.yaml"), { folders: [project], except });
  assert.deepEqual(await of(), { folders: [project], except });
  const file = join(directory, "folders.json");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(await of("project/../data"), { folders: [directory], except });
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), [directory]);
  for (const damaged of ["", "{", "{}", "null", "[1, null]"]) {
    writeFileSync(file, damaged);
    assert.deepEqual(await of(), { folders: [], except }, damaged);
  }
});
