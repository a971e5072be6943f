// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { KubeRequest, KubeTransport } from "@purlin/kube-client";
import { eventually } from "@purlin/kube-controller/testing";
import { badRequest, forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject, memberAt, stringAt } from "@purlin/kube-objects/object";
import { printYaml } from "@purlin/kube-objects/yaml";
import { type Scene, startScene } from "../test/scene.ts";
import { app, appFields, appType, composition, definition, functionAt } from "../test/scene-objects.ts";
import type { Plan, PlannedChange } from "./plan/plan.ts";
import { diffText, planMarkdown } from "./print/diff-text.ts";
import { planText } from "./print/plan-text.ts";
import { planReport } from "./print/report.ts";
import type { PassFunctions } from "./settle/run-pass.ts";

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const line = ({ class: kind, kind: type, resource, name, fields }: PlannedChange): string =>
  [kind, type, resource ?? name, ...fields.map(({ path, op }) => `${op} ${path}`)].join(" ");
const all = (plan: Plan): string[] => plan.composites.flatMap(({ changes }) => changes.map(line));
const errorsOf = (plan: Plan): string[] =>
  [...plan.errors, ...plan.composites.flatMap(({ errors }) => errors)].map(({ text }) => text);
const live = async (name: string, spec: JsonObject): Promise<KubeObject> => {
  await scene.apply(app(name, spec));
  await scene.settled(app(name, spec));
  return app(name, spec);
};
const mapOf = async (name: string, resource = "map"): Promise<KubeObject> => {
  const { items } = await scene.users.list(
    { apiVersion: "v1", kind: "ConfigMap" },
    { namespace: "default", labelSelector: `crossplane.io/composite=${name}` },
  );
  const found = items.find(
    ({ metadata }) => metadata.annotations?.["crossplane.io/composition-resource-name"] === resource,
  );
  assert.ok(found);
  return found;
};
const noSummary = {
  ...{ added: 0, modified: 0, removed: 0, replaced: 0, recreated: 0, refused: 0, pending: 0, destructive: 0 },
};
/** A transport whose requests to a path are forbidden. */
const forbidding =
  (isForbidden: (request: KubeRequest) => boolean) =>
  (inner: KubeTransport): KubeTransport => ({
    ...inner,
    async request(request) {
      if (isForbidden(request)) throw forbidden({ group: "", resource: "things" }, "x", "not for you");
      return inner.request(request);
    },
  });

test("a new composite resource and what it composes, with the defaults that the server sets", async () => {
  const plan = await scene.preview({ objects: [app("new", { text: "hello", count: 2, gate: true })] });
  assert.deepEqual(errorsOf(plan), []);
  assert.deepEqual(all(plan), [
    "create App new",
    "create ConfigMap item-1",
    "create ConfigMap late",
    "create ConfigMap map",
    "create Widget gate",
  ]);
  const [composite] = plan.composites;
  const widget = composite?.changes.find(({ kind }) => kind === "Widget");
  assert.deepEqual(widget?.new?.["spec"], { color: "red", forProvider: { region: "here" }, size: "small" });
  assert.deepEqual([widget?.approximate, widget?.step, widget?.isNameGenerated], [[], "compose", true]);
  const late = composite?.changes.find(({ resource }) => resource === "late");
  assert.equal(late?.after, "composed resources are ready");
  await assert.rejects(scene.users.get(appType, { namespace: "default", name: "new" }), /not found/);
});

const operation = (name: string, mode: string): KubeObject => ({
  apiVersion: "ops.crossplane.io/v1alpha1",
  kind: "Operation",
  metadata: { name },
  spec: {
    mode: "Pipeline",
    pipeline: [
      {
        step: "operate",
        functionRef: { name: functionAt("").metadata.name ?? "" },
        input: { apiVersion: "example.org/v1", kind: "Input", mode },
      },
    ],
  },
});

test("an Operation shows what it would apply, and why it would fail", async () => {
  const plan = await scene.preview({ objects: [operation("operate", "one")] });
  assert.deepEqual(errorsOf(plan), []);
  assert.deepEqual(plan.inputs.map(line), ["create ConfigMap operated", "create Operation operate"]);
  await assert.rejects(
    scene.users.get({ apiVersion: "v1", kind: "ConfigMap" }, { namespace: "default", name: "operated" }),
  );
  await scene.apply({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "operated", namespace: "default" } },
    data: { mode: "one" },
  });
  const equal = await scene.preview({ objects: [operation("operate", "one")] });
  assert.deepEqual(equal.inputs.map(line), ["create Operation operate"]);
  const changed = await scene.preview({ objects: [operation("operate", "two")] });
  assert.deepEqual(changed.inputs.map(line), [
    "update ConfigMap operated replace data.mode",
    "create Operation operate",
  ]);
  const failing = await scene.preview({ objects: [operation("fails", "fail")] });
  assert.deepEqual(errorsOf(failing), ['ops fails: pipeline step "operate" returned a fatal result: asked to fail']);
});

test("nothing changes: no change, no write, the same versions of all objects", async () => {
  const steady = await live("steady", { text: "one" });
  const versions = async (): Promise<string[]> => [
    // The revision of the server also grows with its own leases.
    JSON.stringify(
      (await scene.users.list({ apiVersion: "v1", kind: "ConfigMap" })).items.map(({ metadata }) => [
        metadata.name,
        metadata.resourceVersion,
      ]),
    ),
    JSON.stringify(await scene.users.get(appType, { namespace: "default", name: "steady" })),
  ];
  const first = await versions();
  const plan = await scene.preview({ objects: [steady] });
  assert.deepEqual([all(plan), errorsOf(plan), plan.isStale], [[], [], false]);
  assert.match(
    planText(plan, { showsUnchanged: false, showsPending: false }),
    /^No changes in 1 composite resource\.\n$/,
  );
  assert.deepEqual(await versions(), first);
});

test("bodies of dry runs have no defaults: a kind with defaults that nothing changes has no change and no other owner", async () => {
  const steady = await live("undefaulted", { text: "one", gate: true });
  const sent: { readonly path: string; readonly spec: JsonObject }[] = [];
  const recording = (inner: KubeTransport): KubeTransport => ({
    ...inner,
    async request(request) {
      const { spec } = (request.body ?? {}) as { readonly spec?: JsonObject };
      if (request.method === "PATCH" && spec !== undefined) sent.push({ path: request.path, spec });
      return inner.request(request);
    },
  });
  const widgets = { apiVersion: "things.example.org/v1", kind: "Widget" };
  const labelSelector = "crossplane.io/composite=undefaulted";
  const before = (await scene.users.list(widgets, { labelSelector })).items;
  assert.equal(stringAt(before[0] ?? {}, ["spec", "size"]), "small", "the server set the default");
  const plan = await scene.preview({ objects: [steady], transport: recording, assume: undefined });
  assert.deepEqual([all(plan), errorsOf(plan)], [[], []]);
  const blue = app("undefaulted", { text: "one", gate: true, mode: "blue" });
  const changed = await scene.preview({ objects: [blue], transport: recording, assume: undefined });
  assert.deepEqual(all(changed), ["update App undefaulted replace spec.mode", "update Widget gate replace spec.color"]);
  const specOf = (kind: string): JsonObject[] =>
    sent.filter(({ path }) => path.includes(`/${kind}/`)).map(({ spec }) => spec);
  assert.ok(specOf("widgets").length > 0 && specOf("apps").length > 0, JSON.stringify(sent));
  for (const spec of specOf("widgets")) assert.ok(!("size" in spec), JSON.stringify(spec));
  for (const spec of specOf("apps")) assert.ok(!("count" in spec), JSON.stringify(spec));
  assert.deepEqual((await scene.users.list(widgets, { labelSelector })).items, before, "with its managers");
});

test("every request of a preview is a read or a dry run", () => {
  assert.ok(scene.sent.length > 0);
  const writes = scene.sent.filter((one) => !one.endsWith("(dry run)") && !one.startsWith("GET "));
  assert.deepEqual(
    writes.filter((one) => !one.startsWith("DELETE ")),
    [],
  );
});

test("a changed field of a live composite resource is exact", async () => {
  await live("live", { text: "one" });
  const plan = await scene.preview({ objects: [app("live", { text: "two" })] });
  assert.deepEqual(all(plan), ["update App live replace spec.text", "update ConfigMap map replace data.text"]);
  assert.deepEqual(
    plan.composites[0]?.changes.map((one) => one.approximate),
    [[], []],
  );
});

test("a composed resource that cannot be read fails its composite resource, and is never added", async () => {
  await live("hidden", { text: "one" });
  const { name } = (await mapOf("hidden")).metadata;
  const transport = forbidding(({ method, path }) => method === "GET" && path.endsWith(`/configmaps/${name}`));
  const plan = await scene.preview({ objects: [app("hidden", { text: "two" })], transport });
  assert.match(errorsOf(plan).join(), /cannot get existing composed resources.*not for you/);
  assert.deepEqual(
    all(plan).filter((one) => one.startsWith("create")),
    [],
  );
});

test("composite resources that cannot be listed fail the preview", async () => {
  const transport = forbidding(({ method, path }) => method === "GET" && path === "/apis/example.org/v1/apps");
  await assert.rejects(scene.preview({ objects: [composition("App", "other")], transport }), /not for you/);
});

test("one bad Composition of several is an error, and the others are previewed", async () => {
  await live("several", { text: "one" });
  const bad = {
    ...composition("App", "x"),
    metadata: { name: "bad" },
    spec: { compositeTypeRef: appType, mode: "Nonsense" },
  } as KubeObject;
  const plan = await scene.preview({ objects: [bad, composition("App", "second")] });
  assert.match(errorsOf(plan).join(), /Composition bad: .*spec\.mode/);
  assert.ok(all(plan).includes("update ConfigMap map replace data.mode"));
});

test("a Composition that cannot be read is an error, and not a new one", async () => {
  await live("unread", { text: "one" });
  const transport = forbidding(
    ({ method, path }) => method === "GET" && path.startsWith("/apis/apiextensions.crossplane.io/v1/compositions"),
  );
  const outcome = await scene
    .preview({ objects: [composition("App", "second")], transport })
    .then((plan) => ({ errors: errorsOf(plan).join(), created: plan.inputs.map(line) }))
    .catch((error: Error) => ({ errors: error.message, created: [] }));
  assert.match(outcome.errors, /not for you/);
  assert.deepEqual(outcome.created, []);
});

test("a changed Composition is taken by every composite resource that follows it; a pinned one keeps its revision", async () => {
  await live("follows", { text: "one" });
  await live("pinned", { text: "one", crossplane: { compositionUpdatePolicy: "Manual" } });
  const plan = await scene.preview({ objects: [composition("App", "second")] });
  const byName = new Map(plan.composites.map((one) => [one.name, one]));
  assert.deepEqual([byName.get("follows")?.adoption, byName.get("follows")?.revision], ["adopts", { from: 1, to: 2 }]);
  assert.deepEqual([byName.get("pinned")?.adoption, byName.get("pinned")?.changes], ["pinned", []]);
  assert.deepEqual(byName.get("follows")?.changes.map(line), [
    "update App follows replace spec.crossplane.compositionRevisionRef.name",
    "update ConfigMap map replace data.mode",
  ]);
  assert.match(
    planText(plan, { showsUnchanged: false, showsPending: false }),
    /App default\/pinned {2}pinned to revision 1: nothing happens until it moves/,
  );
  const [report] = (planReport(plan) as { compositions: readonly { affectedResources: JsonObject }[] }).compositions;
  assert.equal(report?.affectedResources["filteredByPolicy"], 1);
});

test("Compositions of a parent and of a nested composite resource change together", async () => {
  await live("parent", { text: "one", nested: 1 });
  const plan = await scene.preview({
    objects: [composition("App", "second"), composition("Part", "deeper")],
    roots: { functions: [], only: ["parent"], namespace: "default" },
  });
  const modes = plan.composites.flatMap(({ changes }) =>
    changes.filter(({ kind }) => kind === "ConfigMap").map((one) => `${one.resource} ${one.fields[0]?.new}`),
  );
  assert.deepEqual(modes.sort(), ["map deeper", "map second"]);
});

test("a nested composite resource that is pinned keeps its revision when its Composition changes with that of the parent", async () => {
  await live("pins", { text: "one", nested: 1 });
  const partType = { apiVersion: "example.org/v1", kind: "Part" };
  const { items } = await scene.users.list(partType, { labelSelector: "crossplane.io/composite=pins" });
  const part = items[0] ?? assert.fail();
  const key = { ...partType, namespace: "default", name: part.metadata.name ?? "" };
  const patch = { spec: { crossplane: { compositionUpdatePolicy: "Manual" } } };
  await scene.users.patch(key, patch, { type: "merge" });
  await scene.settled(part);
  const plan = await scene.preview({
    objects: [composition("App", "second"), composition("Part", "deeper")],
    roots: { functions: [], only: ["pins", key.name], namespace: "default" },
  });
  assert.deepEqual(errorsOf(plan), []);
  const nested = plan.composites.find(({ name }) => name === key.name);
  assert.deepEqual([nested?.adoption, nested?.changes], ["pinned", []]);
  const parent = plan.composites.find(({ name }) => name === "pins");
  assert.ok(parent?.changes.map(line).includes("update ConfigMap map replace data.mode"));
});

test("a field that is removed from a file is removed, also when kubectl or Argo CD applied it", async () => {
  const lastApplied = JSON.stringify(app("kubectl", { text: "one", fail: "never" }));
  const annotated = {
    ...app("kubectl", { text: "one", fail: "never" }),
    metadata: {
      name: "kubectl",
      namespace: "default",
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": lastApplied },
    },
  };
  await scene.users.create(annotated as KubeObject, { fieldManager: "kubectl-client-side-apply" });
  await scene.users.apply(app("argo", { text: "one", fail: "never" }), {
    fieldManager: "argocd-controller",
    force: true,
  });
  await scene.apply(app("purlin", { text: "one", fail: "never" }));
  for (const name of ["kubectl", "argo", "purlin"]) await scene.settled(app(name, {}));
  const plan = await scene.preview({
    objects: ["kubectl", "argo", "purlin"].map((name) => app(name, { text: "one" })),
  });
  assert.deepEqual(
    all(plan),
    ["argo", "kubectl", "purlin"].map((name) => `update App ${name} remove spec.fail`),
  );
});

test("another version of a function is tried on every composite resource; failures stay with theirs", async () => {
  await live("tried", { text: "one" });
  await live("fails", { text: "one", fail: "two" });
  const functionStages = [
    async (client: {
      apply: (object: KubeObject, options: { fieldManager: string; force: boolean }) => Promise<unknown>;
    }) => void (await client.apply(functionAt(scene.functions.two), { fieldManager: "purlin-diff", force: true })),
  ];
  const plan = await scene.preview({ functionStages, roots: { functions: ["fn"], only: [], namespace: "default" } });
  const byName = new Map(plan.composites.map((one) => [one.name, one]));
  assert.deepEqual(byName.get("tried")?.changes.map(line), ["update ConfigMap map replace data.version"]);
  assert.match(byName.get("fails")?.errors[0]?.text ?? "", /step "compose".*asked to fail: two/);
  assert.equal(plan.composites.filter(({ errors }) => errors.length > 0).length, 1);
});

test("a resource that is withheld for one round is deleted and made again", async () => {
  await live("withheld", { text: "one", gate: true, withhold: true, mode: "red" });
  const { items } = await scene.users.list(
    { apiVersion: "things.example.org/v1", kind: "Widget" },
    { labelSelector: "crossplane.io/composite=withheld" },
  );
  const status = {
    conditions: [{ type: "Ready", status: "True", reason: "Available", lastTransitionTime: "2026-01-01T00:00:00Z" }],
  };
  await scene.users.update({ ...items[0], status } as KubeObject, { subresource: "status" });
  await mapOf("withheld", "late").catch(() => undefined);
  await scene.settled(app("withheld", {}));
  const plan = await scene.preview({
    objects: [app("withheld", { text: "one", gate: true, withhold: true, mode: "blue" })],
  });
  const late = plan.composites.flatMap(({ changes }) => changes).find(({ resource }) => resource === "late");
  assert.deepEqual([late?.class, late?.isDestructive], ["recreate", true]);
});

test("composite resources that compose each other without an end are named", async () => {
  const plan = await scene.preview({ objects: [app("loop", { kind: "Loop" })] });
  assert.match(errorsOf(plan).join(), /compose each other without an end: .*App \(loop\).*Part \(loop\)/);
});

test("values of Secrets are in no format", async () => {
  const canary = "canary-value-0123456789";
  await live("secret", { text: "one", password: `old-${canary}` });
  const plan = await scene.preview({
    objects: [app("secret", { text: "one", password: `new-${canary}` })],
    projection: { status: true, owners: true },
  });
  const secret = plan.composites.flatMap(({ changes }) => changes).find(({ kind }) => kind === "Secret");
  assert.deepEqual(secret?.fields, [{ path: "data.password", op: "replace", sensitive: true }]);
  const withoutXr = {
    ...plan,
    composites: plan.composites.map((one) => ({
      ...one,
      changes: one.changes.filter(({ kind }) => kind === "Secret"),
    })),
  };
  const yaml = (value: JsonObject): string => printYaml(value);
  const formats = [
    planText(withoutXr, { showsUnchanged: true, showsPending: true }),
    diffText(withoutXr, { isCompact: false, yaml }),
    JSON.stringify(planReport(withoutXr)),
    printYaml(planReport(withoutXr)),
    planMarkdown(withoutXr, { isCompact: false, yaml, key: "k" }),
  ];
  for (const text of formats) {
    assert.ok(text.includes("password"));
    assert.ok(!text.includes(canary) && !text.includes(Buffer.from(`new-${canary}`).toString("base64")));
  }
});

test("fields of composite resources that their schema declares sensitive are in no format", async () => {
  const canary = "canary-value-9876543210";
  const fields = { text: { type: "string" }, password: { type: "string", format: "password" } };
  await scene.apply(definition("Safe", fields), composition("Safe", "safe"));
  const safe = (spec: JsonObject): KubeObject =>
    ({
      apiVersion: "example.org/v1",
      kind: "Safe",
      metadata: { name: "safe", namespace: "default" },
      spec,
    }) as KubeObject;
  await scene.apply(safe({ text: "one", password: `old-${canary}` }));
  await scene.settled(safe({}));
  const plan = await scene.preview({ objects: [safe({ text: "one", password: `new-${canary}` })] });
  assert.deepEqual(all(plan), ["update Safe safe replace spec.password", "update Secret secret replace data.password"]);
  const yaml = (value: JsonObject): string => printYaml(value);
  for (const text of [
    planText(plan, { showsUnchanged: true, showsPending: true }),
    diffText(plan, { isCompact: false, yaml }),
    JSON.stringify(planReport(plan)),
    printYaml(planReport(plan)),
    planMarkdown(plan, { isCompact: false, yaml, key: "k" }),
  ]) {
    assert.ok(text.includes("password"));
    for (const form of [canary, Buffer.from(`new-${canary}`).toString("base64")]) assert.ok(!text.includes(form), text);
  }
});

test("drift is pending: it would be corrected anyway; drift alone is not a change", async () => {
  await live("drift", { text: "one" });
  const map = await mapOf("drift");
  // The control plane corrects drift at once: only the preview sees it.
  const transport = (inner: KubeTransport): KubeTransport => ({
    ...inner,
    async request(request) {
      const answer = await inner.request(request);
      const body = answer.body as { metadata?: { name?: string }; data?: JsonObject };
      if (request.method !== "GET" || body.metadata?.name !== map.metadata.name) return answer;
      return { ...answer, body: { ...body, data: { ...body.data, text: "tampered" } } as JsonObject };
    },
  });
  const alone = await scene.preview({ objects: [app("drift", { text: "one" })], transport });
  assert.deepEqual([all(alone), errorsOf(alone)], [[], []]);
  assert.deepEqual(alone.summary, { ...noSummary, pending: 1 });
  assert.equal(
    planText(alone, { showsUnchanged: false, showsPending: false }),
    "Would happen anyway: 1 change to App default/drift (--show pending)\n\nNo changes in 1 composite resource.\n",
  );
  const plane = await scene.preview({ objects: [app("drift", { text: "one", count: 2 })], transport });
  assert.deepEqual(all(plane), ["update App drift replace spec.count", "create ConfigMap item-1"]);
  assert.deepEqual(plane.composites[0]?.pending.map(line), ["update ConfigMap map replace data.text"]);
});

test("a resource of another kind under the same name leaves the old one behind", async () => {
  await live("kinds", { text: "one" });
  const plan = await scene.preview({ objects: [app("kinds", { text: "one", kind: "Widget" })] });
  const classes = plan.composites.flatMap(({ changes }) => changes).filter(({ resource }) => resource === "map");
  assert.deepEqual(classes.map((one) => `${one.class} ${one.kind}`).sort(), [
    "create Widget",
    "leave-behind ConfigMap",
  ]);
});

test("a kind, its Composition and its first object in one change set", async () => {
  const gizmo = {
    apiVersion: "example.org/v1",
    kind: "Gizmo",
    metadata: { name: "first", namespace: "default" },
    spec: { text: "one" },
  } as KubeObject;
  const stages = [[definition("Gizmo", appFields)], [composition("Gizmo", "gizmo")], [gizmo]];
  const plan = await scene.preview({ stages });
  assert.deepEqual(errorsOf(plan), []);
  assert.deepEqual(plan.inputs.map(line), [
    "create CompositeResourceDefinition gizmos.example.org",
    "create Composition gizmos",
  ]);
  assert.deepEqual(all(plan), ["create ConfigMap map", "create Gizmo first"]);
  assert.deepEqual(
    plan.composites[0]?.changes.map(({ approximate }) => approximate),
    [[], ["new-kind"]],
  );
});

test("a namespace and what is composed in it in one change set", async () => {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "later" } } as KubeObject;
  const placed = { ...app("there", { text: "one" }), metadata: { name: "there", namespace: "later" } };
  const plan = await scene.preview({ stages: [[namespace], [placed]] });
  assert.deepEqual(errorsOf(plan), []);
  assert.deepEqual(all(plan), ["create App there", "create ConfigMap map"]);
  for (const { approximate } of plan.composites[0]?.changes ?? []) assert.deepEqual(approximate, ["new-namespace"]);
});

test("a paused composite resource is listed, and nothing is composed for it", async () => {
  await live("paused", { text: "one" });
  const paused = {
    ...app("paused", { text: "one" }),
    metadata: { name: "paused", namespace: "default", annotations: { "crossplane.io/paused": "true" } },
  };
  await scene.apply(paused);
  const plan = await scene.preview({
    objects: [composition("App", "second")],
    roots: { functions: [], only: ["paused"], namespace: "default" },
  });
  assert.deepEqual(
    plan.composites.filter(({ name }) => name === "paused").map(({ adoption, changes }) => [adoption, changes]),
    [["paused", []]],
  );
  const objects = [
    { ...paused, spec: { text: "two" } },
    { ...paused, metadata: { ...paused.metadata, name: "new-paused" } },
  ];
  const own = await scene.preview({ objects });
  assert.deepEqual(
    own.composites.map(({ name, adoption, changes }) => [name, adoption, changes.map(line)]),
    [
      ["new-paused", "paused", ["create App new-paused"]],
      ["paused", "paused", ["update App paused replace spec.text"]],
    ],
  );
  assert.match(
    planText(own, { showsUnchanged: false, showsPending: false }),
    /^App default\/paused .*paused: nothing is composed until it is resumed {2}0 to add, 1 to change, 0 to destroy$/m,
  );
  const resumed = await scene.preview({ objects: [app("paused", { text: "two" })] });
  assert.deepEqual(
    resumed.composites.map(({ adoption }) => adoption),
    ["unaffected"],
  );
});

test("a deletion shows everything that goes with it, and what it does outside", async () => {
  await live("gone", { text: "one", gate: true });
  await live("kept", { text: "one", gate: true, mode: "orphan" });
  for (const [name, external] of [
    ["gone", "deleted"],
    ["kept", "kept"],
  ] as const) {
    const plan = await scene.preview({ deletes: [{ ...appType, namespace: "default", name }] });
    assert.deepEqual(all(plan), [`delete App ${name}`, "delete ConfigMap map", "delete Widget gate"]);
    assert.equal(plan.composites[0]?.changes.find(({ kind }) => kind === "Widget")?.external, external);
    assert.equal(plan.summary.destructive, 3);
  }
});

test("a deletion that the server refuses is refused with its words", async () => {
  await live("used", { text: "one" });
  const text = "admission webhook denied the request: This resource is in-use by 1 usage(s)";
  const transport = (inner: KubeTransport): KubeTransport => ({
    ...inner,
    async request(request) {
      if (request.method === "DELETE") throw forbidden({ group: "example.org", resource: "apps" }, "used", text);
      return inner.request(request);
    },
  });
  const plan = await scene.preview({ deletes: [{ ...appType, namespace: "default", name: "used" }], transport });
  assert.deepEqual(all(plan), ["refused App used"]);
  assert.match(plan.composites[0]?.changes[0]?.refusal?.text ?? "", /in-use by 1 usage/);
});

test("a claim makes a composite resource with a generated name, and the plan is the same twice", async () => {
  const claim = {
    apiVersion: "example.org/v1",
    kind: "Thing",
    metadata: { name: "mine", namespace: "default" },
    spec: { text: "one" },
  } as KubeObject;
  const [one, two] = [await scene.preview({ objects: [claim] }), await scene.preview({ objects: [claim] })];
  assert.deepEqual(errorsOf(one), []);
  assert.deepEqual(
    one.composites[0]?.changes.map(({ kind, isNameGenerated }) => [kind, isNameGenerated]),
    [
      ["ConfigMap", true],
      ["Thing", false],
      ["XThing", true],
    ],
  );
  assert.deepEqual(one, two);
  assert.notEqual(
    (await scene.preview({ objects: [{ ...claim, spec: { text: "two" } } as KubeObject] })).hash,
    one.hash,
  );
});

test("a composed resource that its schema refuses is refused, with the text of the server", async () => {
  const plan = await scene.preview({ objects: [app("invalid", { text: "one", count: "many" } as JsonObject)] });
  assert.match(errorsOf(plan).join(), /App default\/invalid: .*spec\.count/);
  assert.equal(plan.errors[0]?.isInvalid, true);
});

test("an object that changes while the preview runs: it runs again, and is stale when that never ends", async () => {
  await live("racing", { text: "one" });
  let version = 0;
  const racing =
    (until: number) =>
    (inner: KubeTransport): KubeTransport => ({
      ...inner,
      async request(request) {
        const answer = await inner.request(request);
        const body = answer.body as { readonly items?: readonly KubeObject[] };
        if (request.path !== "/apis/example.org/v1/apps" || version >= until) return answer;
        version += 1;
        const items = (body.items ?? []).map((one) => ({
          ...one,
          metadata: { ...one.metadata, resourceVersion: `1${version}` },
        }));
        return { ...answer, body: { ...body, items } as JsonObject };
      },
    });
  const objects = [app("racing", { text: "two" })];
  assert.equal((await scene.preview({ objects, transport: racing(1) })).isStale, false);
  version = 0;
  const stale = await scene.preview({ objects, transport: racing(99) });
  assert.equal(stale.isStale, true);
  assert.match(stale.warnings.join(), /changed while the preview ran/);
});

test("a field that a definition drops: the objects that lose data, and the defaults that act at once", async () => {
  const gadget = (name: string, spec: JsonObject): KubeObject =>
    ({ apiVersion: "example.org/v1", kind: "Gadget", metadata: { name, namespace: "default" }, spec }) as KubeObject;
  const fields = {
    text: { type: "string" },
    color: { type: "string", enum: ["red", "blue"] },
    mode: { type: "string", default: "old" },
  };
  await scene.apply(definition("Gadget", fields), composition("Gadget", "gadget"));
  for (const [name, spec] of [
    ["with", { text: "one", color: "blue" }],
    ["without", { text: "two" }],
    ["empty", {}],
  ] as const) {
    await scene.apply(gadget(name, spec));
    await scene.settled(gadget(name, spec));
  }
  const changed = definition(
    "Gadget",
    { color: { type: "string", enum: ["red"] }, mode: { type: "string", default: "new" }, owner: { type: "string" } },
    ["owner"],
  );
  const plan = await scene.preview({ objects: [changed] });
  const found = plan.findings.map(({ level, path, objects }) => `${level} ${path} ${objects.join(", ")}`.trim());
  assert.deepEqual(
    found.sort(),
    [
      "breaking v1: spec.color Gadget default/with",
      "breaking v1: spec.owner Gadget default/empty, Gadget default/with, Gadget default/without",
      "breaking v1: spec.text Gadget default/with, Gadget default/without",
      "risky v1: spec.mode",
    ].sort(),
  );
  assert.match(
    planText(plan, { showsUnchanged: false, showsPending: false }),
    /breaking: gadgets\.example\.org v1: spec\.text: the field is removed/,
  );
});

test("a new default acts at once on what composite resources without a value compose", async () => {
  const withDefault = (value?: string): KubeObject =>
    definition("Lamp", { text: { type: "string" }, extra1: { type: "string", ...(value && { default: value }) } });
  const lamp = (name: string, spec: JsonObject): KubeObject =>
    ({ apiVersion: "example.org/v1", kind: "Lamp", metadata: { name, namespace: "default" }, spec }) as KubeObject;
  await scene.apply(withDefault(), composition("Lamp", "lamp"));
  const lamps = [lamp("defaulted", { text: "one" }), lamp("explicit", { text: "one", extra1: "dim" })];
  for (const one of lamps) {
    await scene.apply(one);
    await scene.settled(one);
  }
  const plan = await scene.preview({ objects: [withDefault("bright")] });
  assert.deepEqual(errorsOf(plan), []);
  const composed = plan.composites.flatMap(({ name, changes }) =>
    changes.flatMap(({ kind, fields }) => fields.map((one) => `${name} ${kind} ${one.op} ${one.path} ${one.new}`)),
  );
  assert.deepEqual(
    composed.filter((one) => one.includes("ConfigMap")),
    ["defaulted ConfigMap add data.extra1 bright"],
  );
});

test("a version that objects are stored in cannot be dropped", async () => {
  const stored = definition("Relic", { text: { type: "string" } });
  await scene.apply(stored);
  const found = await scene.users.get(stored, { name: "relics.example.org" });
  assert.ok(found);
  const renamed = JSON.parse(JSON.stringify(stored).replaceAll('"name":"v1"', '"name":"v2"')) as KubeObject;
  const plan = await scene.preview({ objects: [renamed] });
  assert.match(errorsOf(plan).join(), /storedVersions|must appear in spec\.versions/);
});

test("a composite resource that is being deleted is listed, and nothing is composed for it", async () => {
  const name = "leaving";
  await live(name, { text: "one" });
  const held = await scene.users.get(appType, { namespace: "default", name });
  await scene.users.update({
    ...held,
    metadata: { ...held.metadata, finalizers: [...(held.metadata.finalizers ?? []), "example.org/hold"] },
  });
  await scene.users.delete({ ...appType, namespace: "default", name });
  const plan = await scene.preview({
    objects: [composition("App", "second")],
    roots: { functions: [], only: [name], namespace: "default" },
  });
  assert.deepEqual(
    plan.composites.map((one) => [one.name, one.adoption, one.changes]),
    [[name, "deleting", []]],
  );
});

test("an object whose name the server chooses, and what is composed of it", async () => {
  const { name: _name, ...metadata } = app("x", {}).metadata;
  const unnamed = { ...app("x", { text: "one" }), metadata: { ...metadata, generateName: "made-" } } as KubeObject;
  const [one, two] = [await scene.preview({ objects: [unnamed] }), await scene.preview({ objects: [unnamed] })];
  assert.deepEqual(
    [errorsOf(one), one.composites[0]?.changes.map(({ class: kind, isNameGenerated }) => [kind, isNameGenerated])],
    [
      [],
      [
        ["create", true],
        ["create", true],
      ],
    ],
  );
  assert.deepEqual(one, two);
  assert.match(planText(one, { showsUnchanged: false, showsPending: false }), /\+ App made-\(known after apply\)/);
});

test("a webhook that has side effects cannot judge a dry run: the write is merged here, and says so", async () => {
  await live("hooked", { text: "one" });
  const refusing = (inner: KubeTransport): KubeTransport => ({
    ...inner,
    async request(request) {
      if (request.method === "PATCH" && request.path.includes("/configmaps/")) {
        throw badRequest('admission webhook "side.example.org" does not support dry run');
      }
      return inner.request(request);
    },
  });
  const plan = await scene.preview({ objects: [app("hooked", { text: "two" })], transport: refusing });
  const map = plan.composites.flatMap(({ changes }) => changes).find(({ kind }) => kind === "ConfigMap");
  assert.deepEqual([map?.fields.map(({ path }) => path), map?.approximate], [["data.text"], ["no-dry-run"]]);
  assert.deepEqual(plan.warnings, [
    'no-dry-run: 1 change is computed here, not by the API server: admission webhook "side.example.org" does not support dry run',
  ]);
});

test("a write that the user may not make is merged here; with the rights of the controllers it fails", async () => {
  await live("unprivileged", { text: "one" });
  const transport = forbidding(({ method, path }) => method === "PATCH" && path.includes("/configmaps/"));
  const objects = [app("unprivileged", { text: "two" })];
  const plan = await scene.preview({ objects, transport });
  assert.deepEqual(
    plan.composites.flatMap(({ changes }) => changes).find(({ kind }) => kind === "ConfigMap")?.approximate,
    ["forbidden"],
  );
  assert.match(plan.warnings.join(), /^forbidden: 1 change is computed here, not by the API server: .*not for you$/);
  const strict = await scene.preview({ objects, transport, hasControllerRights: true });
  assert.match(errorsOf(strict).join(), /not for you/);
});

test("a function that cannot be reached fails the composite resources that need it, and names the step", async () => {
  await live("unreachable", { text: "one" });
  const functions = (): PassFunctions => ({
    runStep: (reference) => Promise.reject(new Error(`step "${reference.step}": connection refused`)),
    fetchers: {
      resources: { fetch: () => Promise.reject(new Error("not asked")) } as never,
      schema: (() => Promise.reject(new Error("not asked"))) as never,
    },
    close() {},
  });
  const plan = await scene.preview({ objects: [app("unreachable", { text: "two" })], functions });
  assert.match(errorsOf(plan).join(), /step "compose": connection refused/);
});

test("a claim that is deleted in the foreground goes with everything behind it", async () => {
  const claim = {
    apiVersion: "example.org/v1",
    kind: "Thing",
    metadata: { name: "front", namespace: "default" },
    spec: { text: "one", compositeDeletePolicy: "Foreground" },
  } as KubeObject;
  await scene.apply(claim);
  await scene.settled(claim);
  const plan = await scene.preview({
    deletes: [{ apiVersion: "example.org/v1", kind: "Thing", namespace: "default", name: "front" }],
  });
  assert.deepEqual(errorsOf(plan), []);
  assert.deepEqual(
    plan.composites[0]?.changes.map((one) => [one.class, one.kind, one.waitsFor]),
    [
      ["delete", "ConfigMap", undefined],
      ["delete", "XThing", undefined],
      ["delete", "Thing", undefined],
    ],
    "the claim comes last",
  );
});

test("an aborted preview ends", async () => {
  const abort = new AbortController();
  const transport = (inner: KubeTransport): KubeTransport => ({
    ...inner,
    async request(request) {
      if (request.method === "PATCH") abort.abort(new Error("stopped by the user"));
      return inner.request(request);
    },
  });
  await assert.rejects(
    scene.preview({ objects: [app("aborted", { text: "one" })], transport, signal: abort.signal }),
    /stopped by the user/,
  );
});

test("a plan says which composite resource would be held, with the hash that its condition will have", async () => {
  await live("guarded", { text: "one", count: 3 });
  const first = composition("App", "first");
  const limited = { ...first, metadata: { ...first.metadata, annotations: { "purlin.dev/max-deletes": "0" } } };
  const next = app("guarded", { text: "one", count: 2 });
  const plan = await scene.preview({ stages: [[limited], [next]] });
  const planned = plan.composites.find(({ name }) => name === "guarded");
  assert.equal(planned?.held?.reason, "TooManyDeletes");
  assert.deepEqual(planned?.changes.map(line), [
    "update App guarded replace spec.count replace spec.crossplane.compositionRevisionRef.name",
    "delete ConfigMap item-2",
  ]);
  const text = planText(plan, { showsUnchanged: false, showsPending: false });
  assert.match(
    text,
    /\n {2}held: Nothing is applied: the change deletes 1 composed resource, and purlin\.dev\/max-deletes/,
  );
  assert.match(text, /Destructive: 1\. Held until approved: 1\.\n$/);
  assert.match(
    planMarkdown(plan, { isCompact: false, yaml: (value) => printYaml(value), key: "k" }),
    /\| App default\/guarded \| 0 \| 1 \| 1 \| held until approved \|/,
  );
  const key = { namespace: "default", name: "guarded" };
  const used = async (): Promise<unknown> =>
    memberAt(await scene.users.get(appType, key), ["spec", "crossplane", "compositionRevisionRef", "name"]);
  const unlimited = await used();
  await scene.apply(limited);
  // The policy must be in force before the change.
  await eventually("it uses the revision with the limit", async () => (await used()) !== unlimited);
  await scene.apply(next);
  const hash = await eventually("it is held", async () => {
    const found = await scene.users.get(appType, key);
    const held = conditionOf(conditionsOf(found), "Held");
    return held.status === "True" && /to apply plan (\w+)$/.exec(held.message ?? "")?.[1];
  });
  assert.equal(hash, planned?.held?.hash);
  const now = await scene.preview({});
  assert.equal(now.composites.find(({ name }) => name === "guarded")?.held?.hash, hash, "also while it is held");
  await scene.apply(first);
  await scene.settled(next);
});
