// SPDX-License-Identifier: Apache-2.0
// Composed resources that get another name, or another composite resource, on a real API server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, controllerOf, type KubeObject } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../../test/composite-bench.ts";
import { cacheDefinition } from "../../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../../test/test-control.ts";
import { mortalClient, type ResponseWish } from "../../../test/test-doubles.ts";
import { annotations } from "../../composite-resource/constants.ts";
import { resourceRefsOf } from "../../composite-resource/crossplane-fields.ts";
import { guardAnnotations } from "./guard.ts";
import { type Move, movedNames, movesOf } from "./moves.ts";

const { maxDeletes, holdEmpty, approvePlan, moved } = guardAnnotations;
const maps = { apiVersion: "v1", kind: "ConfigMap" };
const at = { namespace: "default" };
const map = (data: Record<string, string> = {}): JsonObject => configMap(data, at);
const secret = (): JsonObject => ({ apiVersion: "v1", kind: "Secret", metadata: at });
const moves = (...list: JsonObject[]): Record<string, string> => ({ [moved]: JSON.stringify(list) });

let cluster: TestCluster;
let xrd: KubeObject;
let bench: CompositeBench;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  xrd = await cluster.define(cacheDefinition("Cluster"));
  bench = createCompositeBench(cluster, xrd);
  await bench.compositionOf("plain", ["f"], { annotations: { [maxDeletes]: "0" } });
});
after(() => cluster[Symbol.asyncDispose]());

async function xrOf(composition: string, wish: ResponseWish, own: Record<string, string> = {}): Promise<string> {
  const name = `m${number++}`;
  await bench.xr(name, { crossplane: { compositionRef: { name: composition } } }, { annotations: own });
  await reconcile(name, wish);
  return name;
}

/** Reconciles an XR with a function that answers this, in a control plane that may die. */
async function reconcile(name: string, wish: ResponseWish, on: CompositeBench = bench): Promise<void> {
  on.functions.set("f", wish);
  for (const ref of resourceRefsOf(await bench.read(name), "modern")) {
    await bench.seen(ref, { namespace: ref.namespace, name: ref.name ?? "" });
  }
  await on.reconcile(name);
}

const refsOf = async (name: string): Promise<string[]> =>
  resourceRefsOf(await bench.read(name), "modern").map((ref) => ref.name ?? "");
const only = async (name: string): Promise<KubeObject> => {
  const refs = await refsOf(name);
  assert.equal(refs.length, 1, refs.join(", "));
  return cluster.kube.get(maps, { ...at, name: refs[0] ?? "" });
};
const heldText = async (name: string): Promise<string> => {
  const { status, reason = "", message = "" } = await bench.condition(name, "Held");
  return status === "True" ? `${reason}: ${message}` : "";
};
const annotate = async (name: string, values: Record<string, string | null>): Promise<void> => {
  await cluster.kube.patch({ ...bench.kind.type, name }, { metadata: { annotations: values } }, { type: "merge" });
};

test("functions see a renamed resource under its new name, in the reconcile that renames it", async () => {
  const name = await xrOf("plain", { resources: { a: map() } }, moves({ from: "a", to: "b" }));
  const { metadata } = await only(name);
  bench.functions.calls.splice(0);
  await reconcile(name, { resources: { b: map({ v: "2" }) } });
  const last = bench.functions.calls.at(-1)?.request.observed?.resources;
  assert.deepEqual([...(last?.keys() ?? [])], ["b"]);
  const observed = last?.get("b")?.resource?.value;
  assert.equal(annotationOf(observed as KubeObject, annotations.resourceName), "b");
  const after = await only(name);
  assert.deepEqual([after.metadata.uid, after["data"]], [metadata.uid, { v: "2" }]);
  cluster.takeWrites();
  bench.functions.calls.splice(0);
  await reconcile(name, { resources: { b: map({ v: "2" }) } });
  assert.deepEqual(cluster.takeWrites(), [], "a move that is done costs nothing");
  assert.equal(bench.functions.calls.length, 1);
});

test("a rename works in both directions and over several names, so that a rollback deletes nothing", async () => {
  const name = await xrOf("plain", { resources: { a: map() } }, moves({ from: "a", to: "b" }, { from: "b", to: "c" }));
  const { uid } = (await only(name)).metadata;
  for (const key of ["c", "a", "b"]) {
    await reconcile(name, { resources: { [key]: map() } });
    const object = await only(name);
    assert.deepEqual([object.metadata.uid, annotationOf(object, annotations.resourceName)], [uid, key]);
  }
});

const impossible: Readonly<Record<string, { first: ResponseWish; next: ResponseWish; text: RegExp }>> = {
  "to another kind": {
    first: { resources: { a: map() } },
    next: { resources: { b: secret() } },
    text: /^MoveImpossible: Nothing is applied: a move cannot be done: "a" to "b": a ConfigMap cannot become a Secret: /,
  },
  "to a name that has a resource": {
    first: { resources: { a: map(), b: map() } },
    next: { resources: { b: map() } },
    text: /^MoveImpossible: .*"a": its new name has a resource already/,
  },
};

for (const [title, { first, next, text }] of Object.entries(impossible)) {
  test(`a rename that cannot be done holds the XR: ${title}`, async () => {
    const name = await xrOf("plain", first, moves({ from: "a", to: "b" }));
    const before = await refsOf(name);
    await reconcile(name, next);
    assert.match(await heldText(name), text);
    assert.deepEqual(await refsOf(name), before);
  });
}

test("a declaration that is wrong says where and how to write it", () => {
  const declare = (text: string): KubeObject => ({
    apiVersion: "v1",
    kind: "Composition",
    metadata: { name: "c", annotations: { [moved]: text } },
  });
  const where = 'annotation purlin.dev/moved of Composition "c"';
  const how = 'write it as [{"from": "old-name", "to": "new-name"}]';
  const rows = {
    "{": "is not JSON",
    "{}": "is not a list",
    '[{"from":"a"}]': 'has no valid "from" and "to" at [0]',
    '[{"from":"a","to":{"resource":"b"}}]': 'has no valid "from" and "to" at [0]',
  };
  for (const [text, why] of Object.entries(rows)) {
    assert.throws(() => movesOf(declare(text), undefined), { message: `${where} ${why}: ${how}` });
  }
});

const declaring = (moves: readonly object[]): KubeObject => ({
  apiVersion: "v1",
  kind: "A",
  metadata: { name: "x", annotations: { "purlin.dev/moved": JSON.stringify(moves) } },
});

test("a thousand moves are read, and more are refused", () => {
  const object = declaring(Array.from({ length: 1000 }, (_, i) => ({ from: "0", to: `${i + 1}` })));
  const moves = movesOf(object, undefined);
  assert.equal(moves.length, 1000);
  assert.equal(movedNames(moves)?.renames[0]?.length, 1001);
  assert.throws(() => movesOf(object, declaring([{ from: "a", to: "b" }])), {
    message: 'A "x" and its Composition declare 1001 moves (limit 1000): remove the moves that were done',
  });
});

test("moves connect names in any order", () => {
  const pairs = ["ab", "cd", "ef", "bc", "gg", "fa", "hi"].map(([from, to]) => ({ from, to }));
  const groups = movedNames(movesOf(declaring(pairs), undefined))?.renames ?? [];
  assert.deepEqual(groups.map((names) => names.toSorted().join("")).toSorted(), ["abcdef", "g", "hi"]);
});

test("the time to connect names grows with their number", () => {
  const star = (count: number): readonly Move[] =>
    Array.from({ length: count }, (_, i) => ({ from: { resource: "0" }, to: { resource: `${i + 1}` } }));
  const cpuOf = (moves: readonly Move[]): number => {
    const before = process.threadCpuUsage();
    movedNames(moves);
    return process.threadCpuUsage(before).user / 1000;
  };
  cpuOf(star(2000));
  const [one, other] = [cpuOf(star(2000)), cpuOf(star(20_000))];
  // Seconds when every move looks at all names before it. The clock of a thread has a resolution of some milliseconds.
  assert.ok(other < 30 * one + 500, `${one} ms for 2,000 moves, ${other} ms for 20,000`);
});

test("only the steps of a CompositionRevision declare moves, not a field of an XR that has the same name", () => {
  const pipeline = [{ step: "s", moved: [{ from: "a", to: "b" }] }];
  const object: KubeObject = { apiVersion: "v1", kind: "X", metadata: { name: "x" }, spec: { pipeline } };
  assert.deepEqual(movesOf(object, undefined), []);
  assert.deepEqual(movesOf(object, object), [{ from: { resource: "a" }, to: { resource: "b" } }]);
  const composite = { apiVersion: "example.org/v1", kind: "Y" };
  const both = { from: "a", to: "b", fromComposite: composite, toComposite: composite };
  const wrong = { ...object, spec: { pipeline: [{ step: "s", moved: [both] }] } } as KubeObject;
  const text = `moved[0] of pipeline step "s" of X "x" is not valid: it needs from and to, and at most one of fromComposite and toComposite`;
  assert.throws(() => movesOf(object, wrong), { message: text });
});

const type = { apiVersion: "platform.example.org/v1", kind: "Cache" };

/** Two XRs that both declare that the resource `a` of the first becomes `b` of the second. */
async function pair(
  wish: ResponseWish = { resources: { a: map({ v: "1", w: "1" }) } },
): Promise<{ giver: string; taker: string }> {
  const [giver, taker] = [`giver${number++}`, `taker${number++}`];
  const spec = { crossplane: { compositionRef: { name: "plain" } } };
  await bench.xr(giver, spec, { annotations: moves({ from: "a", to: { ...type, name: taker, resource: "b" } }) });
  await reconcile(giver, wish);
  await bench.xr(taker, spec, { annotations: moves({ from: { ...type, name: giver, resource: "a" }, to: "b" }) });
  return { giver, taker };
}

test("a resource moves to another XR with its uid, whichever of the two is reconciled first", async () => {
  for (const order of ["giver first", "taker first"]) {
    const { giver, taker } = await pair();
    const { metadata } = await only(giver);
    if (order === "giver first") {
      await reconcile(giver, {});
      assert.deepEqual(await refsOf(giver), [metadata.name], "it stays until it is taken over");
    }
    await reconcile(taker, { resources: { b: map({ v: "2" }) } });
    await reconcile(giver, {});
    assert.deepEqual(await refsOf(giver), []);
    const object = await only(taker);
    const owner = controllerOf(object);
    assert.deepEqual(
      [object.metadata.uid, owner?.name, object.metadata.ownerReferences?.length],
      [metadata.uid, taker, 1],
    );
    assert.equal(annotationOf(object, annotations.resourceName), "b");
    assert.deepEqual(object["data"], { v: "2" }, "what only the giver applied is removed");
    assert.equal((await bench.condition(taker, "Synced")).status, "True");
    cluster.takeWrites();
    await reconcile(taker, { resources: { b: map({ v: "2" }) } });
    assert.deepEqual(cluster.takeWrites(), []);
  }
});

test("a move to another XR is declared on the steps of both Compositions", async () => {
  const step = (move: JsonObject): JsonObject => ({ step: "f", functionRef: { name: "f" }, moved: [move] });
  await bench.compositionOf("gives", [step({ from: "a", to: "b", toComposite: { ...type, name: "takes" } })]);
  await bench.compositionOf("takes", [step({ from: "a", to: "b", fromComposite: { ...type, name: "gives" } })]);
  for (const name of ["gives", "takes"]) await bench.xr(name, { crossplane: { compositionRef: { name } } });
  await reconcile("gives", { resources: { a: map() } });
  const { uid } = (await only("gives")).metadata;
  await reconcile("takes", { resources: { b: map() } });
  await reconcile("gives", {});
  assert.deepEqual([(await only("takes")).metadata.uid, await refsOf("gives")], [uid, []]);
});

test("an XR takes no resource from one that does not declare the move, and does not create a second one", async () => {
  const { giver, taker } = await pair();
  await annotate(giver, { [moved]: null });
  const { metadata } = await only(giver);
  await reconcile(taker, { resources: { b: map() } });
  assert.match(await heldText(taker), new RegExp(`^MoveImpossible: .*"b": Cache "${giver}" does not declare the move`));
  assert.deepEqual(await refsOf(taker), []);
  assert.equal(controllerOf(await only(giver))?.name, giver);
  assert.equal((await only(giver)).metadata.uid, metadata.uid);
});

test("when there is nothing left to move, the resource is created", async () => {
  const { giver, taker } = await pair();
  await annotate(giver, { [moved]: null });
  await cluster.kube.delete({ ...maps, ...at, name: (await only(giver)).metadata.name ?? "" });
  await reconcile(taker, { resources: { b: map() } });
  assert.equal(await heldText(taker), "");
  assert.equal(controllerOf(await only(taker))?.name, taker);
});

for (const when of ["before", "after"] as const) {
  test(`dying ${when} any write of a move between XRs neither deletes nor duplicates the resource`, async () => {
    let crashes = 0;
    for (let at = 0; ; at++) {
      const { giver, taker } = await pair();
      const { uid } = (await only(giver)).metadata;
      const { client, writes } = mortalClient(cluster.client, at, when);
      const mortal = createCompositeBench(cluster, xrd, { client });
      await reconcile(taker, { resources: { b: map() } }, mortal)
        .then(() => reconcile(giver, {}, mortal))
        .catch(() => undefined);
      if (writes() <= at) break;
      crashes++;
      for (const [name, wish] of [
        [giver, {}],
        [taker, { resources: { b: map() } }],
        [giver, {}],
      ] as const) {
        await reconcile(name, wish);
      }
      assert.deepEqual([(await only(taker)).metadata.uid, await refsOf(giver)], [uid, []], `dying ${when} write ${at}`);
    }
    assert.ok(crashes >= 5, `${crashes} crashes`);
  });

  test(`dying ${when} any write of an approved plan does not lose the approval`, async () => {
    let crashes = 0;
    for (let at = 0; ; at++) {
      const name = await xrOf("plain", { resources: { a: map(), b: map(), c: map() } });
      await reconcile(name, { resources: { c: map() } });
      const hash = /to apply plan (\w+)$/.exec(await heldText(name))?.[1] ?? "";
      await annotate(name, { [approvePlan]: hash });
      const { client, writes } = mortalClient(cluster.client, at, when);
      const mortal = createCompositeBench(cluster, xrd, { client });
      await reconcile(name, { resources: { c: map() } }, mortal).catch(() => undefined);
      if (writes() <= at) break;
      crashes++;
      await reconcile(name, { resources: { c: map() } });
      await reconcile(name, { resources: { c: map() } });
      assert.equal(await heldText(name), "", `dying ${when} write ${at}`);
      assert.equal((await refsOf(name)).length, 1);
      assert.equal(annotationOf(await bench.read(name), approvePlan), undefined, `dying ${when} write ${at}`);
    }
    assert.ok(crashes >= 7, `${crashes} crashes`);
  });
}

test("an empty state that is allowed by policy still keeps what moves away", async () => {
  await bench.compositionOf("open", ["f"], { annotations: { [holdEmpty]: "false" } });
  const name = await xrOf(
    "open",
    { resources: { a: map(), z: map() } },
    moves({ from: "a", to: { ...type, name: "x", resource: "b" } }),
  );
  await reconcile(name, {});
  const object = await only(name);
  assert.equal(annotationOf(object, annotations.resourceName), "a");
  await assert.rejects(cluster.kube.get(type, { name: "x" }), isNotFound);
});
