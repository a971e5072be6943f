// SPDX-License-Identifier: Apache-2.0
// A process that dies between any two writes: the next one reaches the same end, with nothing created twice and nothing lost.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { appDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { autoReady, mortalClient, type ResponseWish } from "../../test/test-doubles.ts";
import { kinds } from "../composite-resource/constants.ts";
import { resourceRefsOf } from "../composite-resource/crossplane-fields.ts";

const maps = { apiVersion: "v1", kind: "ConfigMap" };
let cluster: TestCluster;
let xrd: KubeObject;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  xrd = await cluster.define(appDefinition());
  const bench = createCompositeBench(cluster, xrd);
  await bench.compositionOf("c", ["compose", "ready"], { labels: { pick: "one" } });
  await bench.compositionOf("d", ["compose", "ready"], { labels: { pick: "one" } });
});
after(() => cluster[Symbol.asyncDispose]());

/** A control plane that dies before, or right after, its write number `at`. */
function mortal(
  at: number,
  when: "before" | "after",
  wish: ResponseWish,
): { bench: CompositeBench; writes: () => number } {
  const { client, writes } = mortalClient(cluster.client, at, when);
  // Which Composition is picked must not change with the process.
  const bench = createCompositeBench(cluster, xrd, { client, random: () => (number++ % 10) / 10 });
  bench.functions.set("compose", wish);
  bench.functions.set("ready", autoReady);
  return { bench, writes };
}

/** Everything that is stored of an XR, without what differs between runs. */
async function endState(bench: CompositeBench, name: string): Promise<JsonObject> {
  const xr = await bench.read(name);
  const refs = resourceRefsOf(xr, "legacy");
  const owned = (await cluster.kube.list(maps, { namespace: "default" })).items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => uid === xr.metadata.uid),
  );
  const going = owned.filter(({ metadata }) => typeof metadata.deletionTimestamp === "string");
  const names = owned.filter((object) => !going.includes(object)).map(({ metadata }) => metadata.name);
  return {
    finalizers: xr.metadata.finalizers ?? [],
    conditions: conditionsOf(xr)
      .map(({ type, status, reason }) => `${type} ${status} ${reason}`)
      .sort(),
    // Every reference leads to a resource, and every resource is referred to: none twice, none orphaned.
    dangling: refs.filter((ref) => !names.includes(ref.name)).length,
    orphaned: names.filter((owner) => !refs.some((ref) => ref.name === owner)).length,
    resources: owned
      .filter((object) => !going.includes(object))
      .map((object) => JSON.stringify(object["data"]))
      .sort(),
    secret: (memberAt(await cluster.kube.get(kinds.secret, { namespace: "default", name }), ["data"]) ??
      {}) as JsonObject,
    url: memberAt(xr, ["status", "url"]) ?? "",
  };
}

const wish: ResponseWish = {
  resources: {
    a: configMap({ r: "a" }, { namespace: "default" }),
    b: configMap({ r: "b" }, { namespace: "default" }),
  },
  composite: { status: { url: "u" } },
  connection: { user: "u" },
};
const smaller: ResponseWish = {
  resources: {
    b: configMap({ r: "b2" }, { namespace: "default" }),
    c: configMap({ r: "c" }, { namespace: "default" }),
  },
  composite: { status: { url: "u2" } },
  connection: { user: "u" },
};

async function freshXr(): Promise<string> {
  const name = `crash${number++}`;
  const { bench } = mortal(-1, "before", wish);
  await bench.xr(name, {
    compositionSelector: { matchLabels: { pick: "one" } },
    writeConnectionSecretToRef: { name, namespace: "default" },
  });
  return name;
}

/** Reconciles until nothing is written, as restarts and events would. */
async function settle(name: string, wanted: ResponseWish): Promise<JsonObject> {
  const { bench } = mortal(-1, "before", wanted);
  for (let pass = 0; pass < 6; pass++) {
    await bench.reconcile(name);
    for (const { apiVersion, kind, name: ref = "", namespace } of resourceRefsOf(await bench.read(name), "legacy")) {
      await bench.seen({ apiVersion, kind }, { name: ref, namespace });
    }
  }
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual(cluster.takeWrites(), [], "what has settled is not written");
  return endState(bench, name);
}

async function crashing(name: string, wanted: ResponseWish, at: number, when: "before" | "after"): Promise<boolean> {
  const { bench, writes } = mortal(at, when, wanted);
  try {
    await bench.reconcile(name);
    await bench.reconcile(name);
    return writes() > at;
  } catch {
    return true;
  }
}

for (const when of ["before", "after"] as const) {
  test(`dying ${when} any write of a fresh XR leads to the same end`, async () => {
    const want = await settle(await freshXr(), wish);
    assert.deepEqual([want["dangling"], want["orphaned"], want["url"]], [0, 0, "u"]);
    let crashes = 0;
    for (let at = 0; ; at++) {
      const name = await freshXr();
      if (!(await crashing(name, wish, at, when))) break;
      crashes++;
      assert.deepEqual(await settle(name, wish), want, `dying ${when} write ${at}`);
    }
    assert.ok(crashes >= 6, `${crashes} crashes`);
  });

  test(`dying ${when} any write of an XR that composes something else leads to the same end`, async () => {
    const example = await freshXr();
    await settle(example, wish);
    const want = await settle(example, smaller);
    assert.deepEqual([want["dangling"], want["orphaned"], want["url"]], [0, 0, "u2"]);
    let crashes = 0;
    for (let at = 0; ; at++) {
      const name = await freshXr();
      await settle(name, wish);
      if (!(await crashing(name, smaller, at, when))) break;
      crashes++;
      assert.deepEqual(await settle(name, smaller), want, `dying ${when} write ${at}`);
    }
    assert.ok(crashes >= 5, `${crashes} crashes`);
  });
}
