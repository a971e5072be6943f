// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Manifest } from "../manifests/manifest.ts";
import { openInventory } from "./apply-files.ts";

function object(name: string, namespace?: string, apiVersion = "e.org/v1"): KubeObject {
  return { apiVersion, kind: "App", metadata: { name, ...(namespace && { namespace }) } };
}

const manifest = (written: KubeObject, file = "p/a.yaml"): Manifest => ({ object: written, file, at: () => file });

test("what was applied from files under the paths and is gone from them is found, also after a restart", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "applied.json");
  const inventory = await openInventory(path, folder.path);
  inventory.add(manifest(object("plain")), object("plain", "default"));
  inventory.add(manifest(object("other", "team")), object("other", "team"));
  inventory.add(manifest(object("cluster")), object("cluster"));
  inventory.add(manifest(object("elsewhere"), "q/b.yaml"), object("elsewhere", "default"));
  await inventory.save();

  const again = await openInventory(path, folder.path);
  const missing = (written: readonly KubeObject[], ...paths: readonly string[]): string[] =>
    again
      .missingFrom(
        written.map((one) => manifest(one)),
        paths,
      )
      .map(({ name }) => name);
  const all = [object("plain"), object("other", "team"), object("cluster")];
  assert.deepEqual(missing(all, "p"), []);
  assert.deepEqual(missing([], "p"), ["plain", "other", "cluster"]);
  assert.deepEqual(missing([], "p/a.yaml"), ["plain", "other", "cluster"]);
  assert.deepEqual(missing([]), [], "without paths nothing is known about files");
  const [, ...others] = all;
  assert.deepEqual(missing([object("plain", "default"), ...others], "p"), [], "the default namespace may be written");
  assert.deepEqual(missing([object("plain", undefined, "e.org/v2"), ...others], "p"), [], "so may another version");
  assert.deepEqual(missing([object("plain"), object("other"), object("cluster")], "p"), ["other"]);
  for (const entry of again.missingFrom([], ["p"])) again.remove(entry);
  await again.save();
  assert.deepEqual((await openInventory(path, folder.path)).missingFrom([], ["p"]), []);
});

test("an object is not missing because its manifest leaves out the project's namespace, or names one in vain", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "applied.json");
  const inventory = await openInventory(path, folder.path);
  const implied = object("implied");
  const cluster = object("cluster", "ignored");
  inventory.add(manifest(implied), object("implied", "team-a"));
  inventory.add(manifest(cluster), object("cluster"));
  await inventory.save();
  const again = await openInventory(path, folder.path);
  assert.deepEqual(again.missingFrom([manifest(implied), manifest(cluster)], ["p"]), []);
  assert.deepEqual(
    again.missingFrom([manifest(object("implied", "team-b"))], ["p"]).map(({ name }) => name),
    ["implied", "cluster"],
  );
});

test("a damaged inventory is empty", async () => {
  using folder = tempFolder({ "a.json": "[{]", "b.json": '[null, {"kind": 1}]' });
  for (const name of ["a.json", "b.json"]) {
    const inventory = await openInventory(join(folder.path, name), folder.path);
    assert.deepEqual(inventory.missingFrom([], ["."]), []);
  }
});
