// SPDX-License-Identifier: Apache-2.0
// Deletions of what composite resources depend on: definitions, Compositions, functions, packages and namespaces.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, objectsAt } from "@purlin/kube-objects/object";
import { type Scene, startScene } from "../test/scene.ts";
import { app, composition } from "../test/scene-objects.ts";
import type { Plan, PlannedChange } from "./plan/plan.ts";

const claim = {
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { name: "front", namespace: "default" },
  spec: { text: "one" },
} as KubeObject;

const part = (name: string): KubeObject =>
  ({ apiVersion: "example.org/v1", kind: "Part", metadata: { name, namespace: "parts" }, spec: {} }) as KubeObject;

const apiextensions = "apiextensions.crossplane.io/v1";
const pkg = "pkg.crossplane.io/v1";

let scene: Scene;
before(async () => {
  scene = await startScene();
  const objects = [app("shop", { text: "one" }), claim, part("piece")];
  await scene.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "parts" } });
  await packaged();
  await scene.apply(...objects);
  await scene.settled(...objects);
});
after(() => scene[Symbol.asyncDispose]());

/** Parts are composed by the function of a package, with a Composition that another package installed. */
async function packaged(): Promise<void> {
  const written = composition("Part", "inner");
  const pipeline = objectsAt(written, ["spec", "pipeline"]).map((step) => ({
    ...step,
    functionRef: { name: "packaged" },
  }));
  const owner = await withRevision("platform", {
    objectRefs: [{ apiVersion: apiextensions, kind: "Composition", name: "parts" }],
  });
  const metadata = { ...written.metadata, ownerReferences: [owner] };
  await scene.apply({ ...written, metadata, spec: { ...(written["spec"] as JsonObject), pipeline } } as KubeObject);
  await withRevision("packaged", {
    endpoint: scene.functions.one,
    capabilities: ["composition"],
  });
}

/** Makes a Function with an active revision, as a package manager leaves them. Resolves to a reference to the revision. */
async function withRevision(name: string, status: JsonObject) {
  const made = await scene.users.create({
    apiVersion: pkg,
    kind: "Function",
    metadata: { name },
    spec: { package: `e.org/${name}:v1` },
  });
  const owner = { apiVersion: pkg, kind: "Function", name, uid: made.metadata.uid ?? "", controller: true };
  const revision = await scene.users.create({
    apiVersion: pkg,
    kind: "FunctionRevision",
    metadata: {
      name: `${name}-1`,
      labels: { "pkg.crossplane.io/package": name },
      finalizers: ["revision.pkg.crossplane.io"],
      ownerReferences: [owner],
    },
    spec: { desiredState: "Active", image: `e.org/${name}:v1`, revision: 1 },
  } as KubeObject);
  await scene.users.update({ ...revision, status } as KubeObject, { subresource: "status" });
  return {
    apiVersion: pkg,
    kind: "FunctionRevision",
    name: `${name}-1`,
    uid: revision.metadata.uid ?? "",
    controller: true,
  };
}

const shown = (changes: readonly PlannedChange[]): readonly string[] =>
  changes.map(({ class: what, kind, name }) => `${what} ${kind} ${name.replace(/-.*/, "-…")}`).sort();

const failures = ({ composites }: Plan): readonly string[] =>
  composites.flatMap(({ kind, name, errors }) => errors.map(({ text }) => `${kind} ${name}: ${text}`)).sort();

test("composite resources whose pipelines run a function that is deleted fail", async () => {
  const plan = await scene.preview({ deletes: [{ apiVersion: pkg, kind: "Function", name: "fn" }] });
  assert.deepEqual(shown(plan.inputs), ["delete Function fn"]);
  const [shop, thing, ...more] = failures(plan);
  assert.match(shop ?? "", /^App shop: .*step "compose": Function "fn" not found/);
  assert.match(thing ?? "", /^XThing front-.*step "compose": Function "fn" not found/);
  assert.deepEqual(more, [], "Parts run another function");
});

test("the revisions of a package go with it, without their package manager", async () => {
  const plan = await scene.preview({ deletes: [{ apiVersion: pkg, kind: "Function", name: "packaged" }] });
  assert.deepEqual(shown(plan.inputs), ["delete Function packaged", "delete FunctionRevision packaged-…"]);
  assert.match(failures(plan).join(), /^Part piece: .*step "compose": .*"packaged"/);
});

test("composite resources of a Composition that is deleted fail", async () => {
  const plan = await scene.preview({ deletes: [{ apiVersion: apiextensions, kind: "Composition", name: "apps" }] });
  assert.deepEqual(shown(plan.inputs), ["delete Composition apps"]);
  assert.match(failures(plan).join(), /^App shop: cannot fetch Composition: .*"apps" not found/);
});

test("what a package installed goes with it", async () => {
  const plan = await scene.preview({ deletes: [{ apiVersion: pkg, kind: "Function", name: "platform" }] });
  assert.deepEqual(shown(plan.inputs), [
    "delete Composition parts",
    "delete Function platform",
    "delete FunctionRevision platform-…",
  ]);
  assert.match(failures(plan).join(), /^Part piece: cannot fetch Composition: .*"parts" not found/);
});

test("an object that a function may read is deleted: every composite resource is looked at", async () => {
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "regions", namespace: "default" } };
  await scene.apply(map);
  const plan = await scene.preview({
    deletes: [{ apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "regions" }],
  });
  assert.deepEqual([shown(plan.inputs), plan.examined], [["delete ConfigMap regions"], 3]);
});

test("a composed resource that is deleted is made again", async () => {
  const { items } = await scene.users.list({ apiVersion: "v1", kind: "ConfigMap" }, { namespace: "default" });
  const name = items.find((one) => one.metadata.ownerReferences?.[0]?.name === "shop")?.metadata.name ?? "";
  const plan = await scene.preview({ deletes: [{ apiVersion: "v1", kind: "ConfigMap", namespace: "default", name }] });
  assert.deepEqual(
    plan.composites.flatMap(({ changes }) => shown(changes)),
    ["recreate ConfigMap shop-…"],
  );
});

test("claims and composite resources go with their namespace, and a warning says what is not listed", async () => {
  const plan = await scene.preview({ deletes: [{ apiVersion: "v1", kind: "Namespace", name: "parts" }] });
  assert.deepEqual(shown(plan.inputs), ["delete Namespace parts"]);
  assert.deepEqual(
    plan.composites.flatMap(({ changes }) => shown(changes)),
    ["delete ConfigMap piece-…", "delete Part piece"],
  );
  assert.match(
    plan.warnings.join(),
    /^Namespace parts: everything in it is deleted with it: the plan lists its claims/,
  );
});

test("a definition of namespaced composite resources waits for them", async () => {
  const name = "apps.example.org";
  const plan = await scene.preview({
    deletes: [{ apiVersion: apiextensions, kind: "CompositeResourceDefinition", name }],
  });
  assert.deepEqual(
    plan.inputs.map((one) => [one.class, one.waitsFor]),
    [["delete", ["defined.apiextensions.crossplane.io"]]],
  );
  assert.deepEqual(plan.composites, []);
});

test("composite resources and claims of another definition go with it, and so does what they compose", async () => {
  const target = { apiVersion: apiextensions, kind: "CompositeResourceDefinition", name: "xthings.example.org" };
  const plan = await scene.preview({ deletes: [target] });
  assert.deepEqual([plan.errors, shown(plan.inputs)], [[], ["delete CompositeResourceDefinition xthings.example.org"]]);
  const all = plan.composites.flatMap(({ changes }) => changes);
  assert.deepEqual(shown(all), ["delete ConfigMap front-…", "delete Thing front", "delete XThing front-…"]);
  await scene.users.delete(target);
  for (const { apiVersion, kind, namespace, name } of [...all, ...plan.inputs])
    await eventually(`${kind} ${name} is gone`, () => isGone({ apiVersion, kind }, { namespace, name }));
});

async function isGone(...[type, key]: Parameters<Scene["users"]["get"]>): Promise<boolean> {
  try {
    await scene.users.get(type, key);
    return false;
  } catch (error) {
    // The kind itself goes last.
    return isNotFound(error) || String(error).includes("no matches for kind");
  }
}
