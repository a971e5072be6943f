// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { keyOf } from "@purlin/kube-objects/object";
import { objectSetups } from "../test/object-setups.ts";
import { packageSetups } from "../test/package-setups.ts";
import { definitionOf } from "../test/platform.ts";
import { crdOf, established, type StaticCluster, startStaticCluster, stored } from "../test/static-cluster.ts";
import { explainObject } from "./explain.ts";
import { refText } from "./inspect/facts.ts";
import { explanationText } from "./print-explanation.ts";

let cluster: StaticCluster;
before(async () => {
  cluster = await startStaticCluster();
  const type = { apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision" };
  const name = "provider-taker";
  const spec = { desiredState: "Active", image: "registry.example.org/taker:v1", revision: 1 };
  await cluster.put({ ...type, metadata: { name }, spec });
  const { uid = "" } = (await cluster.client.get(type, { name })).metadata;
  const taker = { ...type, name, uid, controller: true };
  const taken = crdOf("Taken", "takens");
  await cluster.put({ ...taken, metadata: { ...taken.metadata, ownerReferences: [taker] } });
  await cluster.put(crdOf("Lost", "losts"), crdOf("Gone", "gones"), established(definitionOf("Gone")));
});
after(() => cluster[Symbol.asyncDispose]());

const tenMinutes = 600_000;

for (const [title, setup] of Object.entries({ ...objectSetups, ...packageSetups })) {
  test(`${setup.code}: ${title}`, async () => {
    const { root, others = [], deleted = [], code, says, at, systemNamespace = "nowhere" } = setup;
    await cluster.put(...others, root);
    for (const object of deleted) await cluster.client.delete({ ...object, ...keyOf(object) });
    const object = await stored(cluster, root);
    const options = { client: cluster.client, systemNamespace, now: () => Date.now() + tenMinutes };
    const explanation = await explainObject(object, options);
    const [cause] = explanation.causes;
    assert.equal(cause?.code, code, explanationText(explanation));
    assert.match(cause?.sentence ?? "", says);
    assert.equal(cause && refText(cause.object), at ?? explanation.causes[0]?.effects[0], explanationText(explanation));
    assert.equal(explanation.causes.length, 1, explanationText(explanation));
    assert.deepEqual(explanation.notRead, []);
    assert.ok(cause?.next[0]);
  });
}

test("an object whose deletion was refused has a note, and one of the same name elsewhere has none", async () => {
  const type = { apiVersion: "v1", kind: "ConfigMap" };
  const annotations = { "usage.crossplane.io/deletion-attempt-with-policy": "Background" };
  const maps = ["default", "kube-public"].map((namespace) => ({
    ...type,
    metadata: { name: "held", namespace, annotations },
  }));
  const usage = {
    apiVersion: "protection.crossplane.io/v1beta1",
    kind: "Usage",
    metadata: { name: "holder", namespace: "default" },
    spec: { of: { ...type, resourceRef: { name: "held" } }, reason: "it holds data" },
  };
  await cluster.put(usage, ...maps);
  const notes = await Promise.all(
    maps.map(async (map) => {
      const explanation = await explainObject(await stored(cluster, map), { client: cluster.client });
      assert.deepEqual(explanation.causes, []);
      return explanation.notes.map(({ code, text }) => `${code} ${text}`);
    }),
  );
  assert.deepEqual(notes, [
    [
      "E58 cannot be deleted: Usage default/holder says that it holds data; delete the object that uses it first, or usage.protection.crossplane.io/holder -n default",
    ],
    [],
  ]);
});
