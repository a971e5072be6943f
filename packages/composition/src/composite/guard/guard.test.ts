// SPDX-License-Identifier: Apache-2.0
// The guard against destructive changes, on a real API server.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../../test/composite-bench.ts";
import { cacheDefinition } from "../../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../../test/test-control.ts";
import type { ResponseWish } from "../../../test/test-doubles.ts";
import { annotations } from "../../composite-resource/constants.ts";
import { composedName, resourceRefsOf } from "../../composite-resource/crossplane-fields.ts";
import { guardAnnotations } from "./guard.ts";

const { maxDeletes, maxReplaces, protectedKinds, holdEmpty, approvePlan, moved } = guardAnnotations;
const maps = { apiVersion: "v1", kind: "ConfigMap" };
const at = { namespace: "default" };
const map = (data: Record<string, string> = {}): JsonObject => configMap(data, at);
const secret = (): JsonObject => ({ apiVersion: "v1", kind: "Secret", metadata: at });

let cluster: TestCluster;
let bench: CompositeBench;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Cluster")));
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => void bench.takeEvents());

interface Scene {
  readonly name: string;
  readonly nameOf: (resource: string) => string;
}

/** An XR that composes what the wish says, under a Composition with these annotations. */
async function scene(
  wish: ResponseWish,
  policy: Readonly<Record<string, string>>,
  metadata: JsonObject = {},
): Promise<Scene> {
  const composition = `c${number++}`;
  await bench.compositionOf(composition, ["f"], { annotations: policy });
  return xrOf(composition, wish, metadata);
}

async function xrOf(composition: string, wish: ResponseWish, metadata: JsonObject = {}): Promise<Scene> {
  bench.functions.set("f", wish);
  const name = `xr${number++}`;
  const xr = await bench.xr(name, { crossplane: { compositionRef: { name: composition } } }, metadata);
  await bench.reconcile(name);
  return { name, nameOf: (resource) => composedName(name, xr.metadata.uid ?? "", resource) };
}

async function change({ name }: Scene, wish: ResponseWish): Promise<string[]> {
  bench.functions.set("f", wish);
  for (const ref of resourceRefsOf(await bench.read(name), "modern")) {
    await bench.seen(ref, { namespace: ref.namespace, name: ref.name ?? "" });
  }
  bench.takeEvents();
  cluster.takeWrites();
  await bench.reconcile(name);
  return cluster.takeWrites();
}

const annotate = async ({ name }: Scene, hash: string): Promise<void> => {
  await cluster.kube.patch(
    { ...bench.kind.type, name },
    { metadata: { annotations: { [approvePlan]: hash } } },
    { type: "merge" },
  );
};
const hashIn = (message = ""): string => /to apply plan ([0-9a-f]{16})$/.exec(message)?.[1] ?? "";
const held = async ({ name }: Scene): Promise<string> => {
  const { status, reason } = await bench.condition(name, "Held");
  return `${status} ${reason}`;
};
const read = (name: string): Promise<KubeObject> => cluster.kube.get(maps, { ...at, name });
const statusOnly = (writes: readonly string[]): boolean => writes.every((line) => line.endsWith("/status"));

test("a function that desires nothing after something deletes nothing, and continues after an approval", async () => {
  const xr = await scene({ resources: { a: map(), b: map() } }, {});
  const writes = await change(xr, { nothingDesired: true });
  assert.ok(statusOnly(writes), `only the status is written: ${writes.join(", ")}`);
  assert.equal(await held(xr), "True EmptyDesiredState");
  const synced = await bench.condition(xr.name, "Synced");
  const { message = "" } = await bench.condition(xr.name, "Held");
  assert.deepEqual([synced.status, synced.reason, synced.message], ["False", "Held", message]);
  const hash = hashIn(message);
  assert.equal(
    message,
    `Nothing is applied: the pipeline desires no resources at all, which deletes 2 composed resources: delete "a" (a ConfigMap named ${xr.nameOf("a")}), delete "b" (a ConfigMap named ${xr.nameOf("b")}); annotate the composite resource with purlin.dev/approve-plan=${hash} to apply plan ${hash}`,
  );
  assert.deepEqual(bench.takeEvents(), [`Cache/${xr.name} Warning Held: ${message}`]);
  assert.deepEqual(await change(xr, { nothingDesired: true }), [], "what is reported is not written again");
  assert.deepEqual(bench.takeEvents(), []);
  await annotate(xr, hash);
  await change(xr, { nothingDesired: true });
  await assert.rejects(read(xr.nameOf("a")), isNotFound);
  assert.equal(await held(xr), "False NotHeld");
  assert.equal((await bench.condition(xr.name, "Synced")).status, "True");
  assert.equal(annotationOf(await bench.read(xr.name), approvePlan), undefined, "an approval is used once");
});

test("an XR whose desired state was empty from the start is not held", async () => {
  const xr = await scene({}, {});
  assert.equal((await bench.condition(xr.name, "Synced")).status, "True");
  assert.equal((await bench.condition(xr.name, "Held")).status, "Unknown", "it has no such condition");
});

test("what has no policy deletes single resources as Crossplane does", async () => {
  const xr = await scene({ resources: { a: map(), b: map() } }, {});
  await change(xr, { resources: { b: map() } });
  await assert.rejects(read(xr.nameOf("a")), isNotFound);
  assert.equal((await bench.condition(xr.name, "Held")).status, "Unknown");
});

test("a Composition may let an empty state delete everything", async () => {
  const xr = await scene({ resources: { a: map() } }, { [holdEmpty]: "false" });
  await change(xr, {});
  await assert.rejects(read(xr.nameOf("a")), isNotFound);
});

const policies: Readonly<
  Record<string, { policy: Record<string, string>; next: ResponseWish; want: string; text: RegExp }>
> = {
  "more deletes than allowed": {
    policy: { [maxDeletes]: "1" },
    next: { resources: { c: map() } },
    want: "True TooManyDeletes",
    text: /deletes 2 composed resources, and purlin\.dev\/max-deletes: "1" allows 1: delete "a" .*, delete "b" /,
  },
  "as many deletes as allowed": {
    policy: { [maxDeletes]: "2" },
    next: { resources: { c: map() } },
    want: "Unknown ",
    text: /^$/,
  },
  "a limit that is not a number": {
    policy: { [maxDeletes]: "some" },
    next: { resources: { a: map(), c: map() } },
    want: "True TooManyDeletes",
    text: /and purlin\.dev\/max-deletes: "some" is not a number/,
  },
  "a protected kind": {
    policy: { [protectedKinds]: "Bucket.example.org, ConfigMap" },
    next: { resources: { a: map(), c: map() } },
    want: "True ProtectedKind",
    text: /deletes or replaces 1 composed resource of a protected kind \(ConfigMap\): delete "b"/,
  },
  "the same kind of another group": {
    policy: { [protectedKinds]: "ConfigMap.example.org" },
    next: { resources: { a: map(), c: map() } },
    want: "Unknown ",
    text: /^$/,
  },
  "another kind under the same name": {
    policy: { [maxReplaces]: "0" },
    next: { resources: { a: map(), b: secret() } },
    want: "True TooManyReplaces",
    text: /replaces 1 composed resource, and purlin\.dev\/max-replaces: "0" allows 0: replace "b" \(a ConfigMap named/,
  },
};

for (const [title, { policy, next, want, text }] of Object.entries(policies)) {
  test(`policy: ${title}`, async () => {
    const xr = await scene({ resources: { a: map(), b: map() } }, policy);
    const writes = await change(xr, next);
    const { status, reason = "", message = "" } = await bench.condition(xr.name, "Held");
    assert.equal(`${status} ${reason}`, want);
    assert.match(message, text);
    assert.equal(statusOnly(writes), want.startsWith("True"));
  });
}

test("the policy of the definition counts too, and the lower limit wins", async () => {
  const type = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition" };
  const set = async (value: string | null): Promise<void> => {
    const target = { ...type, name: bench.kind.definition };
    await cluster.kube.patch(target, { metadata: { annotations: { [maxDeletes]: value } } }, { type: "merge" });
    await bench.seen(type, { name: bench.kind.definition });
  };
  const xr = await scene({ resources: { a: map(), b: map() } }, { [maxDeletes]: "5" });
  await set("0");
  await change(xr, { resources: { b: map() } });
  await set(null);
  assert.equal(await held(xr), "True TooManyDeletes");
});

test("an approval of another plan is stale, and is refused", async () => {
  const xr = await scene({ resources: { a: map(), b: map(), c: map() } }, { [maxDeletes]: "0" });
  await change(xr, { resources: { b: map(), c: map() } });
  const first = hashIn((await bench.condition(xr.name, "Held")).message);
  await annotate(xr, first);
  // The function changes its mind before the approval is seen.
  const writes = await change(xr, { resources: { a: map(), c: map() } });
  assert.ok(statusOnly(writes), writes.join(", "));
  const { message = "" } = await bench.condition(xr.name, "Held");
  assert.ok(message.includes(`; the approval ${first} is stale: it is for another plan; `), message);
  assert.notEqual(hashIn(message), first);
  assert.ok((await read(xr.nameOf("b"))).metadata.uid);
});

test("the approval of a plan that deletes everything and creates something else is not one of an empty desired state", async () => {
  const xr = await scene({ resources: { a: map(), b: map() } }, { [maxDeletes]: "0" });
  await change(xr, { resources: { c: map() } });
  const first = hashIn((await bench.condition(xr.name, "Held")).message);
  await annotate(xr, first);
  const writes = await change(xr, { nothingDesired: true });
  assert.ok(statusOnly(writes), writes.join(", "));
  assert.equal(await held(xr), "True EmptyDesiredState");
  await change(xr, { resources: { c: map() } });
  assert.equal(await held(xr), "False NotHeld");
});

test("an approval that comes before the change is used when the plan is the same", async () => {
  const xr = await scene({ resources: { a: map(), b: map() } }, { [maxDeletes]: "0" });
  await change(xr, { resources: { b: map() } });
  const hash = hashIn((await bench.condition(xr.name, "Held")).message);
  await change(xr, { resources: { a: map(), b: map() } });
  assert.equal(await held(xr), "False NotHeld");
  await annotate(xr, hash);
  await change(xr, { resources: { a: map(), b: map() } });
  assert.equal(annotationOf(await bench.read(xr.name), approvePlan), hash);
  await change(xr, { resources: { b: map() } });
  await assert.rejects(read(xr.nameOf("a")), isNotFound);
});

test("an XR that is deleted is not held", async () => {
  const xr = await scene({ resources: { a: map() } }, { [maxDeletes]: "0" });
  await cluster.kube.delete({ ...bench.kind.type, name: xr.name });
  await change(xr, {});
  await assert.rejects(bench.read(xr.name), isNotFound);
});

test("a resource key renamed over 50 XRs: without a move all are held, with one each object keeps its uid", async () => {
  await bench.compositionOf("many", ["f"], { annotations: { [maxDeletes]: "0" } });
  const declared = { [maxDeletes]: "0", [moved]: JSON.stringify([{ from: "old", to: "new" }]) };
  await bench.compositionOf("declared", ["f"], { annotations: declared });
  const step = { step: "f", functionRef: { name: "f" }, moved: [{ from: "old", to: "new" }] };
  await bench.compositionOf("on-the-step", [step], { annotations: { [maxDeletes]: "0" } });
  for (const [composition, wanted] of [
    ["many", "True TooManyDeletes"],
    ["declared", "Unknown "],
    ["on-the-step", "Unknown "],
  ] as const) {
    const xrs: Scene[] = [];
    for (let at = 0; at < 50; at++) xrs.push(await xrOf(composition, { resources: { old: map({ v: "1" }) } }));
    const uids = await Promise.all(xrs.map(async ({ nameOf }) => (await read(nameOf("old"))).metadata.uid));
    const writes: string[] = [];
    for (const xr of xrs) writes.push(...(await change(xr, { resources: { new: map({ v: "2" }) } })));
    assert.deepEqual(
      writes.filter((line) => /^(DELETE|POST)/.test(line)),
      [],
      "no deletes",
    );
    for (const xr of xrs) {
      const { status, reason = "" } = await bench.condition(xr.name, "Held");
      assert.equal(`${status} ${reason}`, wanted);
    }
    const now = await Promise.all(xrs.map(({ nameOf }) => read(nameOf("old"))));
    assert.deepEqual(
      now.map(({ metadata }) => metadata.uid),
      uids,
    );
    const key = composition === "many" ? "old" : "new";
    assert.ok(now.every((object) => annotationOf(object, annotations.resourceName) === key));
    const all = (await cluster.kube.list(maps, at)).items.map(({ metadata }) => metadata.name);
    assert.ok(
      xrs.every(({ nameOf }) => !all.includes(nameOf("new"))),
      "nothing is created",
    );
  }
});
