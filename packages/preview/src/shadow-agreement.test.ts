// SPDX-License-Identifier: Apache-2.0
// `purlin diff --function` and the shadow report of a rollout, which `purlin rollout preview` prints, name the same composite resources and composed
// resources in the same classes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { type Scene, startScene } from "../test/scene.ts";
import { app, composition, functionAt } from "../test/scene-objects.ts";
import type { Plan } from "./plan/plan.ts";

let scene: Scene;
before(async () => {
  scene = await startScene({ functionRevisionSelectors: true, functionRollouts: true });
});
after(() => scene[Symbol.asyncDispose]());

const pkg = { apiVersion: "pkg.crossplane.io/v1" };
const rolloutType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };

async function publish(version: "one" | "two", revision: number): Promise<void> {
  const metadata = { name: `packaged-${version}`, labels: { "pkg.crossplane.io/package": "packaged" } };
  const annotations = revision === 1 ? {} : { "pkg.crossplane.io/withheld": "rollout-policy" };
  const type = { ...pkg, kind: "FunctionRevision" };
  const spec = { desiredState: "Active", image: `example.org/fn:${version}`, revision };
  await scene.apply({ ...type, metadata: { ...metadata, annotations }, spec } as KubeObject);
  const status = { endpoint: scene.functions[version], capabilities: ["composition"] };
  await scene.users.patch({ ...type, name: metadata.name }, { status }, { type: "merge", subresource: "status" });
}

/** The composite resources by what happens to them. */
const specs: Readonly<Record<string, JsonObject>> = {
  changed: { text: "a" },
  "changed-too": { text: "b", count: 3 },
  deleted: { text: "c", mode: "two deletes", count: 3 },
  fails: { text: "d", fail: "two" },
  replaced: { text: "e", mode: "two replaces" },
  unchanged: { kind: "Widget" },
};

/** Lines such as `deleted: delete item-1`; composite resources without a difference have none. */
function fromPlan({ composites }: Plan): readonly string[] {
  return composites.flatMap(({ name, changes, errors }) => {
    if (errors.length > 0) return [`${name}: fatal`];
    const composed = changes.filter(({ resource }) => resource !== undefined);
    const resources = [...new Set(composed.map(({ resource = "" }) => resource))];
    return resources.map((resource) => {
      const classes = composed.filter((one) => one.resource === resource).map((one) => one.class);
      return `${name}: ${shadowClass(classes)} ${resource}`;
    });
  });
}

/** An object of another kind under the same resource name is one replacement in the report, and two objects in the plan. */
function shadowClass(classes: readonly string[]): string {
  if (classes.includes("leave-behind")) return "replace";
  return classes.includes("delete") ? "delete" : "change";
}

function fromShadow(rollout: KubeObject): readonly string[] {
  return objectsAt(rollout, ["status", "shadow", "composites"]).flatMap((one) => {
    const name = stringAt(one, ["name"]);
    if (stringAt(one, ["class"]) === "fatal") return [`${name}: fatal`];
    return objectsAt(one, ["resources"]).map(
      (it) => `${name}: ${stringAt(it, ["class"])} ${stringAt(it, ["resource"])}`,
    );
  });
}

test("diff --function and the shadow report agree", async () => {
  await scene.apply({
    ...pkg,
    kind: "Function",
    metadata: { name: "packaged" },
    spec: { package: "example.org/fn:v1" },
  });
  await publish("one", 1);
  const step = { step: "compose", functionRef: { name: "packaged" } };
  const packaged = composition("App", "x", { name: "packaged" });
  await scene.apply({ ...packaged, spec: { ...(packaged["spec"] as JsonObject), pipeline: [step] } } as KubeObject);
  const crossplane = { compositionRef: { name: "packaged" } };
  const apps = Object.entries(specs).map(([name, spec]) => app(name, { ...spec, crossplane }));
  await scene.apply(...apps);
  await scene.settled(...apps);
  const functionStages = [
    async (client: {
      apply: (object: KubeObject, options: { fieldManager: string; force: boolean }) => Promise<unknown>;
    }) =>
      void (await client.apply(functionAt(scene.functions.two, "packaged"), {
        fieldManager: "purlin-diff",
        force: true,
      })),
  ];
  const roots = { functions: ["packaged"], only: [], namespace: "default" };
  const planned = fromPlan(await scene.preview({ functionStages, roots })).toSorted();
  assert.deepEqual(planned, [
    "changed-too: change map",
    "changed: change map",
    "deleted: change map",
    "deleted: delete item-1",
    "deleted: delete item-2",
    "fails: fatal",
    "replaced: replace map",
  ]);
  await publish("two", 2);
  const spec = { functionRef: { name: "packaged" }, steps: [{ shadow: true, minDuration: "1h" }, { percent: 100 }] };
  await scene.apply({ ...rolloutType, metadata: { name: "r" }, spec } as KubeObject);
  const rollout = await eventually("all are compared", async () => {
    const found = await scene.users.get(rolloutType, { name: "r" });
    const { shadow } = (found["status"] ?? {}) as { shadow?: { compared: number } };
    return shadow?.compared === apps.length && found;
  });
  assert.deepEqual(fromShadow(rollout).toSorted(), planned);
});
