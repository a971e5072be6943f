// SPDX-License-Identifier: Apache-2.0
// A process that dies between any two writes around an approved plan: the approval counts once, and is not lost.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../../test/composite-bench.ts";
import { cacheDefinition } from "../../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../../test/test-control.ts";
import { mortalClient, type ResponseWish } from "../../../test/test-doubles.ts";
import { labels as labelNames } from "../../composite-resource/constants.ts";
import { resourceRefsOf } from "../../composite-resource/crossplane-fields.ts";
import { guardAnnotations } from "./guard.ts";

const maps = { apiVersion: "v1", kind: "ConfigMap" };
const { maxDeletes, approvePlan } = guardAnnotations;
const map = (): JsonObject => configMap({}, { namespace: "default" });
const both: ResponseWish = { resources: { a: map(), b: map() } };
const onlyB: ResponseWish = { resources: { b: map() } };

let cluster: TestCluster;
let xrd: KubeObject;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  xrd = await cluster.define(cacheDefinition("Cluster"));
  await createCompositeBench(cluster, xrd).compositionOf("c", ["f"], { annotations: { [maxDeletes]: "0" } });
});
after(() => cluster[Symbol.asyncDispose]());

/** When a process dies: before or after its write number `at`. */
interface Death {
  readonly at: number;
  readonly when: "before" | "after";
}
const never: Death = { at: -1, when: "before" };

/** One process that reconciles until it dies. Says whether it died, and how often it deleted a resource that nothing had deleted before. */
async function run(name: string, wish: ResponseWish, { at, when }: Death = never): Promise<[boolean, number]> {
  const { client, writes } = mortalClient(cluster.client, at, when);
  const bench = createCompositeBench(cluster, xrd, { client });
  bench.functions.set("f", wish);
  const existing = await uidsOf(name);
  try {
    for (let pass = 0; pass < 2; pass++) {
      await composedSeen(bench, name);
      await bench.reconcile(name);
    }
  } catch (error) {
    if (at < 0) throw error;
  }
  const left = await uidsOf(name);
  return [at >= 0 && writes() > at, existing.filter((uid) => !left.includes(uid)).length];
}

/** The uids of the composed resources of an XR that are not being deleted. */
async function uidsOf(name: string): Promise<readonly (string | undefined)[]> {
  const { items } = await cluster.kube.list(maps, { namespace: "default" });
  return items
    .map(({ metadata }) => metadata)
    .filter(
      ({ deletionTimestamp, labels }) => deletionTimestamp === undefined && labels?.[labelNames.composite] === name,
    )
    .map(({ uid }) => uid);
}

async function composedSeen(bench: CompositeBench, name: string): Promise<void> {
  for (const { apiVersion, kind, name: ref = "", namespace } of resourceRefsOf(await bench.read(name), "modern")) {
    await bench.seen({ apiVersion, kind }, { name: ref, namespace });
  }
}

/** An XR with two resources; with an approval of the deletion of one of them that comes before or after the XR is held. */
async function approvedXr(order: "before it is held" | "after it is held"): Promise<string> {
  const bench = createCompositeBench(cluster, xrd);
  const name = `xr${number++}`;
  await bench.xr(name, { crossplane: { compositionRef: { name: "c" } } });
  await run(name, both);
  await run(name, onlyB);
  const { message = "" } = await bench.condition(name, "Held");
  const hash = /to apply plan ([0-9a-f]{16})$/.exec(message)?.[1] ?? "";
  assert.match(hash, /./);
  if (order === "before it is held") await run(name, both);
  const annotations = { [approvePlan]: hash };
  await cluster.kube.patch({ ...bench.kind.type, name }, { metadata: { annotations } }, { type: "merge" });
  return name;
}

async function heldStatus(name: string): Promise<string> {
  return (await createCompositeBench(cluster, xrd).condition(name, "Held")).status;
}

for (const order of ["before it is held", "after it is held"] as const) {
  for (const when of ["before", "after"] as const) {
    test(`an approval given ${order} is not lost by dying ${when} any write`, async () => {
      let deaths = 0;
      for (let at = 0; ; at++) {
        const name = await approvedXr(order);
        const [died, first] = await run(name, onlyB, { at, when });
        const [, second] = await run(name, onlyB);
        assert.equal(first + second, 1, `dying ${when} write ${at}: deleted once`);
        assert.equal(await heldStatus(name), "False");
        const xr = await createCompositeBench(cluster, xrd).read(name);
        assert.equal(annotationOf(xr, approvePlan), undefined, `dying ${when} write ${at}: the approval is used`);
        if (!died) break;
        deaths++;
      }
      assert.ok(deaths >= 4, `${deaths} deaths`);
    });
  }
}

test("an approval counts once, when two processes die after any of their writes", async () => {
  let deaths = 0;
  for (let at = 0; ; at++) {
    let died = false;
    for (let next = 0; ; next++) {
      const name = await approvedXr("before it is held");
      const [firstDied, first] = await run(name, onlyB, { at, when: "after" });
      died = firstDied;
      // The function changes its mind: what was deleted comes back, and is to be deleted another time.
      const [secondDied, second] = await run(name, both, { at: next, when: "after" });
      await run(name, both);
      const [, third] = await run(name, onlyB);
      const where = `dying after write ${at}, then after write ${next}`;
      assert.ok(first + second + third <= 1, `${where}: deleted ${first} + ${second} + ${third} times`);
      if (first > 0) assert.equal(await heldStatus(name), "True", where);
      // An approval that nothing has used yet cannot count twice.
      if (!secondDied || first === 0) break;
    }
    if (!died) break;
    deaths++;
  }
  assert.ok(deaths >= 4, `${deaths} deaths`);
});
