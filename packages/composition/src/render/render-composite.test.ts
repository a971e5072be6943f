// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createResourceFetcher, noSchemas, objectsReader } from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import { appDefinition } from "../../test/definitions.ts";
import {
  autoReady,
  createTestFunctions,
  fatal,
  forClaim,
  type ResponseWish,
  type TestFunction,
} from "../../test/test-doubles.ts";
import { type Rendered, renderComposite } from "./render-composite.ts";
import { nameUuid, RenderError, type RenderInputs, uidOf } from "./render-inputs.ts";

const app = (metadata: JsonObject = { namespace: "ns1", name: "one" }, more: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: "bench.example.org/v1",
  kind: "App",
  metadata: metadata as KubeObject["metadata"],
  spec: { size: 3 },
  ...more,
});
const composition = (
  steps: readonly string[] = ["t"],
  type = { apiVersion: "bench.example.org/v1", kind: "App" },
): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "comp" },
  spec: {
    compositeTypeRef: type,
    mode: "Pipeline",
    pipeline: steps.map((step) => ({ step, functionRef: { name: step } })),
  },
});
const map = (data: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata,
  data,
});

async function render(
  functions: Readonly<Record<string, TestFunction | ResponseWish>>,
  inputs: Partial<RenderInputs> = {},
  context?: JsonObject,
): Promise<Rendered> {
  const fetchers = {
    resources: createResourceFetcher(objectsReader([], { unknownKinds: "empty" })),
    schema: noSchemas,
  };
  const made = createTestFunctions(fetchers);
  for (const [name, handler] of Object.entries(functions)) made.set(name, handler);
  const all = { xr: app(), composition: composition(Object.keys(functions)), ...inputs };
  return renderComposite(all, { runStep: made.runStep, fetchers, context });
}
const resources = { a: map({ x: "1" }), b: map({ x: "2" }) };

test("uid and names are those of the real command", async () => {
  assert.equal(uidOf(app()), "cef6964f-86a5-59d0-aba6-397c0ce9e111");
  const { resources: made } = await render({ t: { resources } });
  assert.deepEqual(
    made.map(({ metadata }) => metadata.name),
    ["one-79fb1cca832f", "one-4ebc6899ad23"],
  );
});

test("a uid of the input is kept", async () => {
  const { resources: made } = await render({ t: { resources } }, { xr: app({ name: "one", uid: "mine" }) });
  assert.equal(made[0]?.metadata.ownerReferences?.[0]?.uid, "mine");
});

test("a UUID of version 5 has its version and variant", () => {
  assert.match(nameUuid("anything"), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("the XR is identity, references and status; conditions have the fixed time and no generation", async () => {
  const { xr } = await render({ t: { resources, composite: { status: { url: "u" } } } });
  const at = "2024-01-01T00:00:00Z";
  assert.deepEqual(xr.short, {
    apiVersion: "bench.example.org/v1",
    kind: "App",
    metadata: { name: "one", namespace: "ns1" },
    spec: {
      crossplane: {
        resourceRefs: [
          { apiVersion: "v1", kind: "ConfigMap", name: "one-4ebc6899ad23" },
          { apiVersion: "v1", kind: "ConfigMap", name: "one-79fb1cca832f" },
        ],
      },
    },
    status: {
      url: "u",
      conditions: [
        { type: "Responsive", status: "True", reason: "WatchCircuitClosed", lastTransitionTime: at },
        { type: "Synced", status: "True", reason: "ReconcileSuccess", lastTransitionTime: at },
        {
          type: "Ready",
          status: "False",
          reason: "Creating",
          lastTransitionTime: at,
          message: "Unready resources: a, b",
        },
      ],
    },
  });
});

test("the full XR has the input's spec and metadata, and nothing the control plane would add", async () => {
  const input = app({ name: "one", namespace: "ns1", labels: { mine: "x" } });
  const { xr } = await render({ t: { resources } }, { xr: input });
  assert.deepEqual(xr.full.metadata, input.metadata);
  assert.deepEqual(Object.keys(xr.full["spec"] as JsonObject), ["size", "crossplane"]);
  assert.deepEqual(Object.keys((xr.full["spec"] as { crossplane: JsonObject }).crossplane), ["resourceRefs"]);
});

test("results are the events of the reconcile, in their order", async () => {
  const { results } = await render({ t: { resources, ready: ["a"], results: [{ severity: 2, message: "careful" }] } });
  assert.deepEqual(
    results.map(({ type, reason, message }) => `${type} ${reason} ${message}`),
    [
      "Normal SelectComposition Successfully selected composition: comp",
      'Warning ComposeResources Pipeline step "t": careful',
      'Normal ComposeResources Composed resource "b" is not yet ready',
    ],
  );
});

test("a resource is as it would be applied", async () => {
  const { resources: made } = await render({ t: { resources } });
  const [first] = made;
  assert.deepEqual(first, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "one-79fb1cca832f",
      generateName: "one-",
      namespace: "ns1",
      annotations: { "crossplane.io/composition-resource-name": "a" },
      labels: { "crossplane.io/composite": "one" },
      ownerReferences: [
        {
          apiVersion: "bench.example.org/v1",
          kind: "App",
          name: "one",
          uid: "cef6964f-86a5-59d0-aba6-397c0ce9e111",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    data: { x: "1" },
  });
});

test("the context starts as given and ends as the last step left it", async () => {
  let got: unknown;
  const t: TestFunction = (request) => {
    got = request.context?.value;
    return autoReady(request);
  };
  const { context } = await render({ t }, {}, { given: "value" });
  assert.deepEqual([got, context], [{ given: "value" }, { given: "value" }]);
});

test("what was rendered is fit to be observed, documents about the render left out", async () => {
  const first = await render({ t: { resources }, ready: autoReady });
  const observed = [
    first.xr.short,
    ...first.resources,
    { apiVersion: "render.crossplane.io/v1beta1", kind: "Result", metadata: {} },
  ];
  const second = await render({ t: { resources }, ready: autoReady }, { observed });
  assert.deepEqual(
    second.resources.map(({ metadata }) => metadata.name),
    first.resources.map(({ metadata }) => metadata.name),
  );
  const conditions = (second.xr.short["status"] as { conditions: { type: string; status: string }[] }).conditions;
  assert.equal(conditions.find(({ type }) => type === "Ready")?.status, "True");
});

test("an observed resource that is not desired is removed from the references", async () => {
  const observed = [
    {
      ...map({}, { name: "old", annotations: { "crossplane.io/composition-resource-name": "old" } }),
    } as KubeObject,
  ];
  const { xr, resources: made } = await render({ t: { resources: { a: map() } } }, { observed });
  assert.equal(made.length, 1);
  const { crossplane } = xr.short["spec"] as { crossplane: { resourceRefs: unknown[] } };
  assert.equal(crossplane.resourceRefs.length, 1);
});

/** An XR that selects its Composition by labels. */
function selecting(matchLabels: Record<string, string>, crossplane: JsonObject = {}): KubeObject {
  return app(undefined, { spec: { crossplane: { ...crossplane, compositionSelector: { matchLabels } } } });
}

function labelled(labels: Record<string, string>): KubeObject {
  return withMember(composition(["t"]), ["metadata", "labels"], labels);
}

test("an XR is rendered by a Composition with the labels it selects, or the one it names", async () => {
  const selected = await render(
    { t: {} },
    { xr: selecting({ tier: "gold" }), composition: labelled({ tier: "gold" }) },
  );
  const named = await render({ t: {} }, { xr: selecting({ tier: "gold" }, { compositionRef: { name: "comp" } }) });
  assert.deepEqual([selected.failure, named.failure], [undefined, undefined]);
});

test("conditions that the XR came with or a function desires have the fixed time as well", async () => {
  const then = { lastTransitionTime: "2026-05-05T05:05:05Z" };
  const synced = { type: "Synced", status: "True", reason: "ReconcileSuccess", ...then };
  const own = { type: "Own", status: "True", reason: "Mine", ...then };
  const xr = app(undefined, { status: { conditions: [synced, own] } });
  const a = { ...map(), status: { conditions: [own], other: then } };
  const { xr: output, resources: made } = await render({ t: { resources: { a } } }, { xr });
  const at = { lastTransitionTime: "2024-01-01T00:00:00Z" };
  for (const form of [output.short, output.full]) {
    const { conditions } = form["status"] as { conditions: (typeof own)[] };
    assert.deepEqual(conditions.slice(0, 2), [
      { ...synced, ...at },
      { ...own, ...at },
    ]);
  }
  assert.deepEqual(made[0]?.["status"], { conditions: [{ ...own, ...at }], other: then });
});

const wrong: Readonly<Record<string, { inputs: Partial<RenderInputs>; want: string; input: string; field: string }>> = {
  Kind: {
    inputs: { xr: { ...app(), kind: "Other" } },
    want: "composition's compositeTypeRef.kind (App) does not match XR's kind (Other)",
    input: "composition",
    field: "spec.compositeTypeRef.kind",
  },
  ApiVersion: {
    inputs: { xr: { ...app(), apiVersion: "bench.example.org/v2" } },
    want: "composition's compositeTypeRef.apiVersion (bench.example.org/v1) does not match XR's apiVersion (bench.example.org/v2)",
    input: "composition",
    field: "spec.compositeTypeRef.apiVersion",
  },
  Mode: {
    inputs: { composition: withMember(composition(["t"]), ["spec", "mode"], "Resources") },
    want: 'render only supports Composition Function pipelines: Composition "comp" must use spec.mode: Pipeline',
    input: "composition",
    field: "spec.mode",
  },
  MissingLabel: {
    inputs: { xr: selecting({ tier: "gold" }) },
    want: 'composition "comp" is missing required label "tier"',
    input: "composition",
    field: "metadata.labels",
  },
  OtherLabel: {
    inputs: { xr: selecting({ tier: "gold" }), composition: labelled({ tier: "silver", zone: "a" }) },
    want: 'composition "comp" has incorrect value for label "tier": want "gold", got "silver"',
    input: "composition",
    field: "metadata.labels",
  },
  ForeignObserved: {
    inputs: {
      observed: [
        map(
          {},
          { name: "x", ownerReferences: [{ apiVersion: "v1", kind: "Other", name: "o", uid: "u9", controller: true }] },
        ) as KubeObject,
      ],
    },
    want: 'observed ConfigMap "x" is controlled by Other "o" (UID u9), not by the XR (UID cef6964f-86a5-59d0-aba6-397c0ce9e111)',
    input: "observed",
    field: "metadata.ownerReferences",
  },
  OtherNamespace: {
    inputs: { observed: [map({}, { name: "x", namespace: "other" }) as KubeObject] },
    want: 'observed ConfigMap "x" is in namespace "other", but the XR and all it composes are in "ns1"',
    input: "observed",
    field: "metadata.namespace",
  },
};

for (const [name, { inputs, want, input, field }] of Object.entries(wrong)) {
  test(`inputs that do not fit, ${name}`, async () => {
    const error = await render({ t: {} }, inputs).then(
      () => assert.fail("it was rendered"),
      (e: unknown) => e as RenderError,
    );
    assert.ok(error instanceof RenderError);
    assert.deepEqual([error.message, error.input, error.field.join(".")], [want, input, field]);
  });
}

test("a fatal result is the failure, and results before it are kept", async () => {
  const results = [
    { severity: 2, message: "careful" },
    { severity: fatal, message: "boom", target: forClaim },
  ];
  const { failure, results: events, xr } = await render({ t: { results, resources } });
  assert.match(failure?.message ?? "", /pipeline step "t" returned a fatal result: boom$/);
  assert.deepEqual(events.map(({ message }) => message).slice(1), [
    'cannot compose resources: pipeline step "t" returned a fatal result: boom',
    'Pipeline step "t": careful',
  ]);
  const { conditions } = xr.short["status"] as { conditions: { type: string; status: string }[] };
  assert.equal(conditions.find(({ type }) => type === "Synced")?.status, "False");
});

test("an XR without spec is rendered", async () => {
  const { spec: _, ...bare } = app();
  const { failure } = await render({ t: { resources } }, { xr: bare as KubeObject });
  assert.equal(failure, undefined);
});

test("a Composition the XR names otherwise is the one that is given", async () => {
  const xr = app(
    { name: "one" },
    {
      spec: {
        crossplane: {
          compositionRef: { name: "another" },
          compositionRevisionRef: { name: "gone" },
          compositionUpdatePolicy: "Manual",
        },
      },
    },
  );
  const { failure } = await render({ t: { resources: { a: map({}, { namespace: "x" }) } } }, { xr });
  assert.equal(failure, undefined);
});

const legacyComposition = composition(["t"], { apiVersion: "platform.example.org/v1alpha1", kind: "XApp" });

test("a legacy definition makes the XR legacy", async () => {
  const xr: KubeObject = {
    apiVersion: "platform.example.org/v1alpha1",
    kind: "XApp",
    metadata: { name: "x" },
    spec: {},
  };
  const inputs = { xr, composition: legacyComposition, definition: appDefinition() };
  const { xr: output } = await render({ t: { resources: { a: map({}, { namespace: "n" }) } } }, inputs);
  assert.deepEqual(Object.keys(output.short["spec"] as JsonObject), ["resourceRefs"]);
});

test("a claim stands for its composite resource", async () => {
  const xr: KubeObject = {
    apiVersion: "platform.example.org/v1alpha1",
    kind: "App",
    metadata: { name: "web", namespace: "shop" },
    spec: { image: "i", compositeDeletePolicy: "Foreground" },
  };
  let observed: JsonObject | undefined;
  const t: TestFunction = (request) => {
    observed = request.observed?.composite?.resource?.value;
    return autoReady(request);
  };
  const { xr: output, failure } = await render(
    { t },
    { xr, composition: legacyComposition, definition: appDefinition() },
  );
  assert.equal(failure, undefined);
  assert.equal(output.short.kind, "XApp");
  const { spec, metadata } = observed as unknown as { spec: JsonObject; metadata: { labels: JsonObject } };
  assert.deepEqual(spec["claimRef"], {
    apiVersion: "platform.example.org/v1alpha1",
    kind: "App",
    namespace: "shop",
    name: "web",
  });
  assert.deepEqual([spec["image"], spec["compositeDeletePolicy"]], ["i", undefined]);
  assert.equal(metadata.labels["crossplane.io/claim-name"], "web");
});

const refused: Readonly<Record<string, { desired: Record<string, JsonObject>; says: RegExp; names: unknown[] }>> = {
  ClusterScoped: {
    desired: { role: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "r" } } },
    says: /^cannot apply cluster scoped composed resource "role" \(a ClusterRole named r\) for a namespaced/,
    names: ["r"],
  },
  NoResourceName: {
    desired: { "": map({}, { name: "x" }) },
    says: /^cannot use a desired composed resource without a name: a ConfigMap has none$/,
    names: ["x"],
  },
  NoKind: {
    desired: { a: { apiVersion: "v1", metadata: { name: "x" } } },
    says: /^cannot unmarshal desired composed resource "a" from RunFunctionResponse: object has no kind$/,
    names: ["x"],
  },
  NoApiVersion: {
    desired: { a: { kind: "ConfigMap", metadata: { name: "x" } } },
    says: /^cannot unmarshal desired composed resource "a" .*: object has no apiVersion$/,
    names: ["x"],
  },
  NotAnApiVersion: {
    desired: { a: { apiVersion: "a/b/c", kind: "ConfigMap", metadata: { name: "x" } } },
    says: /^cannot unmarshal desired composed resource "a" .*: unexpected GroupVersion string: a\/b\/c$/,
    names: ["x"],
  },
  SameObject: {
    desired: { a: map({}, { name: "x" }), b: map({}, { name: "x" }) },
    says: /^composed resources "a" and "b" are the same object \(a ConfigMap named x\): give one of them another/,
    names: ["x", "x"],
  },
};

for (const [name, { desired, says, names }] of Object.entries(refused)) {
  test(`what a cluster refuses is rendered with a warning, ${name}`, async () => {
    const { failure, warnings, resources: made, xr } = await render({ t: { resources: desired } });
    assert.equal(failure, undefined);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", says);
    assert.deepEqual(
      made.map(({ metadata }) => metadata.name),
      names,
    );
    const { crossplane } = xr.short["spec"] as { crossplane: { resourceRefs: { name: string }[] } };
    assert.deepEqual(
      crossplane.resourceRefs.map((ref) => ref.name),
      names,
    );
  });
}

test("a paused XR is printed as it was given, with its condition", async () => {
  const xr = app({ name: "one", namespace: "ns1", annotations: { "crossplane.io/paused": "true" } });
  const { xr: output, resources: made } = await render({ t: { resources } }, { xr });
  const { status, ...rest } = output.short;
  assert.deepEqual([rest, made], [xr, []]);
  const { conditions } = status as { conditions: { type: string; reason: string }[] };
  assert.deepEqual(
    conditions.map(({ type, reason }) => [type, reason]),
    [
      ["Responsive", "WatchCircuitClosed"],
      ["Synced", "ReconcilePaused"],
    ],
  );
});
