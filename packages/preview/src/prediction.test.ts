// SPDX-License-Identifier: Apache-2.0
// Random changes of a live control plane: predicted, then applied, then compared object by object and field by field.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { compareValues } from "@purlin/kube-objects/difference";
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  annotationOf,
  controllerOf,
  type KubeObject,
  keyOf,
  numberAt,
  objectsAt,
  textAt,
} from "@purlin/kube-objects/object";
import { type Scene, startScene } from "../test/scene.ts";
import { app, appFields, appType, composition, definition, functionAt } from "../test/scene-objects.ts";
import { projected } from "./plan/object-changes.ts";
import type { Plan } from "./plan/plan.ts";

/** How many changes, of how many composite resources at the root: `npm test -- prediction --changes=300 --xrs=30` for the whole proof. */
const changes = Number(process.env["UNIT_CHANGES"] ?? 40);
const composites = Number(process.env["UNIT_XRS"] ?? 5);
const seed = Number(process.env["UNIT_SEED"] ?? 7);

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

/** A small generator, the same in every run of a seed. */
function randomFrom(start: number): (max: number) => number {
  let state = start >>> 0;
  return (max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * max);
  };
}

const random = randomFrom(seed);
const names = Array.from({ length: composites }, (_, at) => `x${at}`);
const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T;

function randomSpec(): JsonObject {
  return {
    text: pick(["one", "two", "three"]),
    count: 1 + random(4),
    ...(random(2) === 0 && { nested: random(3) }),
    ...(random(3) === 0 && { password: pick(["first-secret", "second-secret"]) }),
    ...(random(4) === 0 && { gate: true, mode: pick(["red", "blue"]) }),
  };
}

interface Change {
  readonly text: string;
  readonly preview: Parameters<Scene["preview"]>[0];
  readonly apply: () => Promise<void>;
}

/** Fields that the definition of Apps has now beside those of the scene. */
const extras = new Set<string>();

/** Adds a field with a default, removes one, or serves another version. */
function definitionChange(): Change {
  const field = `extra${random(3)}`;
  if (!extras.delete(field)) extras.add(field);
  const added = [...extras].map((name) => [name, { type: "string", default: `${name}-default` }] as const);
  const written = definition("App", { ...appFields, ...Object.fromEntries(added) });
  const versions = objectsAt(written, ["spec", "versions"]);
  const more = random(2) === 0 ? versions.map((one) => ({ ...one, name: "v2", referenceable: false })) : [];
  const spec = { ...(written["spec"] as JsonObject), versions: [...versions, ...more] };
  const apply = async (): Promise<void> => {
    await scene.apply({ ...written, spec } as KubeObject);
    const wanted = [...extras].sort().join();
    await whileWaking("every App has the fields of the definition", async () =>
      (await composedExtras()).every((one) => one === wanted),
    );
  };
  return {
    text: `XRD with ${[...extras].join() || "no more fields"}, ${versions.length + more.length} versions`,
    preview: { objects: [{ ...written, spec } as KubeObject] },
    apply,
  };
}

/** The fields of definitions that the composed resources of Apps show. */
async function composedExtras(): Promise<readonly string[]> {
  const all = await scene.users.list({ apiVersion: "v1", kind: "ConfigMap" }, { namespace: "default" });
  const ofApps = all.items.filter(
    (one) =>
      annotationOf(one, "crossplane.io/composition-resource-name") === "map" && controllerOf(one)?.kind === "App",
  );
  return ofApps.map((one) =>
    Object.keys((one["data"] ?? {}) as JsonObject)
      .filter((name) => name.startsWith("extra"))
      .sort()
      .join(),
  );
}

/** A change of a random kind. `present` are the Apps that exist. */
function randomChange(present: readonly string[]): Change {
  const objects = (...written: readonly KubeObject[]) => ({
    preview: { objects: written },
    apply: () => scene.apply(...written),
  });
  switch (random(8)) {
    case 0: {
      const kind = pick(["App", "Part"]);
      const written = composition(kind, pick(["first", "second", "third"]));
      return { text: `Composition of ${kind}`, ...objects(written) };
    }
    case 1: {
      const version = pick(["one", "two"] as const);
      const written = functionAt(scene.functions[version]);
      const apply = async (): Promise<void> => {
        await scene.apply(written);
        await whileWaking("every composite resource runs this version", async () =>
          (await runVersions()).every((one) => one === version),
        );
      };
      return { text: "Function", preview: { objects: [written] }, apply };
    }
    case 7:
      return definitionChange();
    case 2: {
      const name = pick(present.length === 0 ? names : present);
      const target = { ...appType, namespace: "default", name };
      return {
        text: `delete ${name}`,
        preview: { deletes: [target] },
        apply: async () => void (await scene.users.delete(target)),
      };
    }
    default: {
      const name = pick(names);
      return { text: `App ${name}`, ...objects(app(name, randomSpec())) };
    }
  }
}

const wish = "crossplane.io/reconcile-requested-at";
let wishes = 0;

/** Nothing watches the address of a function under development: composite resources are asked to reconcile. */
async function wakeAll(): Promise<void> {
  wishes += 1;
  for (const type of [appType, { apiVersion: "example.org/v1", kind: "Part" }]) {
    for (const object of (await scene.users.list(type, { namespace: "default" })).items) {
      const patch = { metadata: { annotations: { [wish]: String(wishes) } } };
      await scene.users.patch({ ...type, ...keyOf(object) }, patch, { type: "merge" });
    }
  }
}

/** Waits for what a reconcile of every composite resource leads to. They are asked again only when one has not done it for long. */
async function whileWaking(what: string, look: () => Promise<boolean>): Promise<void> {
  let next = 0;
  await eventually(what, async () => {
    if (performance.now() >= next) {
      await wakeAll();
      next = performance.now() + 1_000;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
    return await look();
  });
}

/** The versions of the function that made the composed resources. */
async function runVersions(): Promise<readonly (string | undefined)[]> {
  const { items } = await scene.users.list({ apiVersion: "v1", kind: "ConfigMap" }, { namespace: "default" });
  const made = items.filter((one) => annotationOf(one, "crossplane.io/composition-resource-name") === "map");
  return made.map((one) => textAt(one, ["data", "version"]));
}

const listed = [
  appType,
  { apiVersion: "example.org/v1", kind: "Part" },
  { apiVersion: "things.example.org/v1", kind: "Widget" },
  { apiVersion: "v1", kind: "ConfigMap" },
  { apiVersion: "v1", kind: "Secret" },
];

/** Every object of the scene, by a name that does not depend on uids. */
async function world(): Promise<Map<string, JsonObject>> {
  const lists = await Promise.all(listed.map((type) => scene.users.list(type, { namespace: "default" })));
  const all = lists.flatMap(({ items }) => items);
  return new Map(all.map((object) => [stableName(object, all), projected(object, { status: false, owners: false })]));
}

function stableName(object: KubeObject, all: readonly KubeObject[]): string {
  const resource = annotationOf(object, "crossplane.io/composition-resource-name");
  const owner = controllerOf(object);
  if (resource === undefined || owner === undefined) return `${object.kind} ${object.metadata.name}`;
  const parent = all.find(({ kind, metadata }) => kind === owner.kind && metadata.name === owner.name);
  return `${parent === undefined ? owner.name : stableName(parent, all)} / ${object.kind} ${resource}`;
}

/** The world after a plan: what it adds, removes and changes, and nothing else. */
function predicted(first: ReadonlyMap<string, JsonObject>, plan: Plan): Map<string, JsonObject> {
  const next = new Map(first);
  const composites = new Map(plan.composites.map((one) => [`${one.kind} ${one.name}`, one]));
  const pathOf = (kind: string, name: string): string => {
    const known = [...first].find(([, object]) => object["kind"] === kind && nameIn(object) === name);
    if (known !== undefined) return known[0];
    const parent = [...composites.values()].find((one) =>
      one.changes.some((change) => change.kind === kind && change.name === name && change.resource !== undefined),
    );
    const resource = parent?.changes.find((change) => change.kind === kind && change.name === name)?.resource;
    if (parent !== undefined) return `${pathOf(parent.kind, parent.name)} / ${kind} ${resource}`;
    return `${kind} ${name}`;
  };
  for (const composite of plan.composites) {
    for (const change of [...composite.changes, ...composite.pending]) {
      const path = pathOf(change.kind, change.name);
      if (change.new === undefined) next.delete(path);
      else next.set(path, change.new);
    }
  }
  return next;
}

/** An App as the API server shows it: a definition's defaults and pruning act on reads, and nothing is written for them. */
function asServed(object: JsonObject): JsonObject {
  if (object["kind"] !== "App") return object;
  const spec = (object["spec"] ?? {}) as JsonObject;
  const kept = Object.entries(spec).filter(([name]) => !name.startsWith("extra") || extras.has(name));
  const defaults = [...extras].map((name) => [name, `${name}-default`] as const);
  return { ...object, spec: { ...Object.fromEntries(defaults), ...Object.fromEntries(kept) } };
}

function nameIn(object: JsonObject): JsonValue | undefined {
  return (object["metadata"] as JsonObject | undefined)?.["name"];
}

/** Takes out what the API server decides, and values that plans do not show. */
function comparable(object: JsonObject): JsonValue {
  const { metadata, data, spec, ...rest } = object;
  const { name: _name, controller: _controller, labels: _labels, annotations, ...meta } = metadata as JsonObject;
  const { [wish]: _wish, ...noted } = (annotations ?? {}) as JsonObject;
  const isSecret = object["kind"] === "Secret";
  const hidden = isSecret
    ? Object.fromEntries(Object.keys((data ?? {}) as JsonObject).map((key) => [key, "(sensitive)"]))
    : data;
  const crossplane = (spec as JsonObject | undefined)?.["crossplane"] as JsonObject | undefined;
  const { compositionRevisionRef: _revision, ...others } = crossplane ?? {};
  return {
    ...rest,
    metadata: { ...meta, annotations: noted },
    ...(hidden !== undefined && { data: hidden }),
    ...(spec !== undefined && { spec: { ...(spec as JsonObject), crossplane: others } }),
  } as JsonValue;
}

/** Changes of one test: the test runner ends one that takes minutes. */
const batch = 20;
const seen = { objects: 0, changed: 0, approximate: 0, kinds: new Map<string, number>() };

for (let first = 0; first < changes; first += batch) {
  const last = Math.min(first + batch, changes);
  const title = `random changes ${first + 1} to ${last} of ${composites} composite resources are predicted field by field`;
  test(title, async (context) => {
    if (first === 0) for (const name of names) await scene.apply(app(name, randomSpec()));
    await quiet();
    for (let at = first; at < last; at += 1) await predictOne(at + 1);
    const kinds = [...seen.kinds].map(([kind, count]) => `${kind} ${count}`).join(", ");
    context.diagnostic(
      `0 wrong in ${seen.objects} compared objects; ${seen.changed} changed, ${seen.approximate} of them marked as approximate; ${kinds}`,
    );
  });
}

/** Previews a random change, makes it, and compares every object. */
async function predictOne(number: number): Promise<void> {
  const live = await world();
  const present = names.filter((name) => live.has(`App ${name}`));
  const change = randomChange(present);
  if (present.length === 0 && change.preview.deletes !== undefined) return;
  // Without readiness of Widgets, which nothing reports here, a forecast is about what will not happen.
  const plan = await scene.preview({ ...change.preview, assume: undefined });
  await change.apply();
  await quiet();
  const got = await world();
  assertPredicted(predicted(live, plan), got, `change ${number} of seed ${seed}: ${change.text}`);
  const all = plan.composites.flatMap((one) => one.changes);
  seen.objects += got.size;
  seen.changed += all.length;
  seen.approximate += all.filter(({ approximate }) => approximate.length > 0).length;
  const kind = change.text.split(" ", 1)[0] ?? "";
  seen.kinds.set(kind, (seen.kinds.get(kind) ?? 0) + 1);
}

function assertPredicted(
  want: ReadonlyMap<string, JsonObject>,
  got: ReadonlyMap<string, JsonObject>,
  where: string,
): void {
  assert.deepEqual([...want.keys()].sort(), [...got.keys()].sort(), where);
  for (const [path, object] of got) {
    const planned = want.get(path);
    const expected = planned && asServed(planned);
    if (expected === undefined || jsonEqual(comparable(expected), comparable(object))) continue;
    assert.fail(
      `${where}: ${path}: ${JSON.stringify(compareValues(comparable(expected), comparable(object), undefined))}`,
    );
  }
}

/** Waits until nothing of the scene changes. */
async function quiet(): Promise<void> {
  await scene.settled();
  for (let [last, same] = ["", 0]; same < 3; ) {
    const lists = await Promise.all(listed.map((type) => scene.users.list(type, { namespace: "default" })));
    const [apps = [], parts = []] = lists.map(({ items }) => items);
    const isBusy =
      lists.some(({ items }) => items.some(({ metadata }) => metadata.deletionTimestamp)) ||
      [...apps, ...parts].some((one) => !isSynced(one)) ||
      !(await areCurrent([...apps, ...parts]));
    const now = JSON.stringify(
      lists.map(({ items }) => items.map((one) => [keyOf(one), one.metadata.resourceVersion])),
    );
    same = now === last && !isBusy ? same + 1 : 0;
    last = now;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

function isSynced(object: KubeObject): boolean {
  const { conditions = [] } = (object["status"] ?? {}) as {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly observedGeneration?: number;
    }[];
  };
  const synced = conditions.find(({ type }) => type === "Synced");
  return synced?.status === "True" && (synced.observedGeneration ?? 0) >= (object.metadata.generation ?? 0);
}

/** Whether every composite resource is on the revision of its Composition as it is now. */
async function areCurrent(composites: readonly KubeObject[]): Promise<boolean> {
  const { items: compositions } = await scene.users.list({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
  });
  const { items: revisions } = await scene.users.list({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositionRevision",
  });
  const current = new Map(
    compositions.map(({ metadata: { name = "" }, spec }) => {
      const own = revisions.filter(({ metadata }) => metadata.labels?.["crossplane.io/composition-name"] === name);
      const newest = own.sort(
        (a, b) => (numberAt(b, ["spec", "revision"]) ?? 0) - (numberAt(a, ["spec", "revision"]) ?? 0),
      )[0];
      const pipeline = (of: unknown): JsonValue =>
        (of as { readonly pipeline?: JsonValue } | undefined)?.pipeline ?? null;
      const isCurrent = newest !== undefined && jsonEqual(pipeline(newest["spec"]), pipeline(spec));
      return [name, isCurrent ? newest.metadata.name : undefined];
    }),
  );
  return composites.every((xr) => {
    const used = current.get(textAt(xr, ["spec", "crossplane", "compositionRef", "name"]) ?? "");
    return used !== undefined && textAt(xr, ["spec", "crossplane", "compositionRevisionRef", "name"]) === used;
  });
}
