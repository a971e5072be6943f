// SPDX-License-Identifier: Apache-2.0
// Broken set-ups of real controllers: the first cause is the one that was built in.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { explainAll, explainObject } from "./explain.ts";
import type { Explanation } from "./model/explanation.ts";
import { explanationText, groupByCause } from "./print-explanation.ts";
import { compositionOf, definitionOf, doing, type Platform, startPlatform } from "./testing/platform.ts";

let platform: Platform;
const namespace = "default";

before(async () => {
  platform = await startPlatform();
  await platform.apply(
    definitionOf("App"),
    definitionOf("Lone"),
    definitionOf("Wide", { scope: "Cluster" }),
    definitionOf("XShop", { claim: "Shop" }),
  );
  await takeConfigMap();
});
after(() => platform[Symbol.asyncDispose]());

function xr(kind: string, name: string, crossplane: JsonObject = {}): KubeObject {
  const where = kind === "Wide" ? { name } : { name, namespace };
  return { apiVersion: "example.org/v1", kind, metadata: where, spec: { crossplane } };
}

async function explain(object: KubeObject, now = Date.now): Promise<Explanation> {
  const stored = await platform.users.get(object, keyOf(object));
  return explainObject(stored, { client: platform.users, now });
}

interface BrokenCase {
  readonly code: string;
  readonly says: RegExp;
  /** The step of the Composition; without one there is no Composition. */
  readonly step?: JsonObject;
  readonly kind?: string;
  readonly crossplane?: JsonObject;
  readonly extra?: readonly KubeObject[];
  readonly object?: string;
}

const configMap = { apiVersion: "v1", kind: "ConfigMap" };

/** A ConfigMap that another one controls. */
async function takeConfigMap(): Promise<void> {
  const owner = { ...configMap, metadata: { name: "owner", namespace } };
  await platform.apply(owner);
  const { uid = "" } = (await platform.users.get(configMap, { name: "owner", namespace })).metadata;
  const ownerReferences = [{ ...configMap, name: "owner", uid, controller: true }];
  await platform.apply({ ...configMap, metadata: { name: "taken", namespace, ownerReferences } });
}

const cases: Readonly<Record<string, BrokenCase>> = {
  "no Composition of the type": { code: "E01", kind: "Lone", says: /No Composition is for example\.org\/v1 Lone$/ },
  "labels that no Composition has": {
    code: "E02",
    step: doing("compose"),
    crossplane: { compositionSelector: { matchLabels: { tier: "gold" } } },
    says: /compositionSelector \{tier=gold\} matches none of \d+ Compositions/,
  },
  "a Composition that does not exist": {
    code: "E03",
    crossplane: { compositionRef: { name: "absent" } },
    says: /Composition absent, which does not exist/,
  },
  "a selector that no revision matches": {
    code: "E04",
    step: doing("compose"),
    crossplane: { compositionRevisionSelector: { matchLabels: { channel: "beta" } } },
    says: /none has the labels channel=beta/,
  },
  "a Composition of another kind": {
    code: "E06",
    kind: "Lone",
    crossplane: { compositionRef: { name: "foreign" } },
    extra: [compositionOf("foreign", "App", doing("compose"))],
    says: /Composition foreign is for example\.org\/v1 App; this is example\.org\/v1 Lone/,
  },
  "a step that selects revisions without the feature": {
    code: "E07",
    step: { functionRevisionRef: { name: "fn-1" } },
    says: /pipeline of CompositionRevision .* is invalid/,
  },
  "a Function that is not installed": {
    code: "E11",
    step: { functionRef: { name: "fm" } },
    says: /Step "render" uses Function fm, which is not installed; installed: fn/,
    object: "Function",
  },
  "a fatal result": {
    code: "E29",
    step: doing("fatal"),
    says: /Step "render" returned a fatal result: the port is missing$/,
  },
  "requirements that change": {
    code: "E30",
    step: doing("unstable"),
    says: /requires other resources on every call: recorder off/,
  },
  "credentials without a Secret": {
    code: "E34",
    step: { credentials: [{ name: "c", source: "Secret", secretRef: { namespace, name: "absent" } }] },
    says: /Step "render" requires .*absent/,
  },
  "a kind that is not served": {
    code: "E35",
    step: doing("kind"),
    says: /does not serve Bucket \(s3\.example\.org\/v1\)/,
  },
  "an invalid resource": { code: "E36", step: doing("invalid"), says: /Resource "map" is invalid: data/ },
  "a missing namespace": {
    code: "E41",
    kind: "Wide",
    step: doing("namespace"),
    says: /namespace nowhere, which does not exist/,
  },
  "a resource of another controller": {
    code: "E42",
    step: doing("taken"),
    says: /Resource "map" belongs to another controller/,
  },
  "an invalid name": { code: "E43", step: doing("name"), says: /has the invalid name "Web_1"/ },
  "a cluster-scoped resource in a namespaced XR": {
    code: "E43",
    step: doing("scope"),
    says: /cluster scoped composed resource "space"/,
  },
  "two resources that are one object": {
    code: "E43",
    step: doing("same"),
    says: /"one" and "two" are the same object/,
  },
  "a status that the schema refuses": {
    code: "E45",
    step: doing("status"),
    says: /refuses the status that the functions set: .*seen/,
  },
};

for (const [title, { code, says, step, kind = "App", crossplane = {}, extra = [], object }] of Object.entries(cases)) {
  test(`${code}: ${title}`, async () => {
    const name = title.replaceAll(/[^a-z]+/gi, "-").toLowerCase();
    const ref = step === undefined || "compositionSelector" in crossplane ? {} : { compositionRef: { name } };
    const composite = xr(kind, name, { ...ref, ...crossplane });
    await platform.apply(...extra, ...(step === undefined ? [] : [compositionOf(name, kind, step)]), composite);
    await platform.until(composite, "Synced", "False");
    // Events are written a moment after conditions.
    const explanation = await eventually(`an explanation as ${says}`, async () => {
      const found = await explain(composite);
      const sentence = found.causes[0]?.sentence ?? "no event";
      return (says.test(sentence) || !sentence.includes("no event")) && found;
    });
    const [cause] = explanation.causes;
    assert.equal(cause?.code, code, explanationText(explanation));
    assert.match(cause?.sentence ?? "", says);
    assert.equal(cause?.object.kind, object ?? kind);
    assert.equal(explanation.verdict, "broken");
    assert.ok(cause?.next.length, "says what to do");
    assert.equal(cause?.effects[0], `${kind} ${kind === "Wide" ? "" : `${namespace}/`}${name}`);
  });
}

test("E08: a paused composite resource", async () => {
  const composite = xr("App", "paused");
  await platform.apply({
    ...composite,
    metadata: { ...composite.metadata, annotations: { "crossplane.io/paused": "true" } },
  });
  const { causes } = await explain(composite);
  assert.deepEqual([causes.length, causes[0]?.code], [1, "E08"]);
  assert.match(causes[0]?.next[0] ?? "", /annotate app\.example\.org\/paused -n default crossplane\.io\/paused-/);
});

test("a claim's cause is that of its composite resource, with the whole chain", async () => {
  const claim = {
    apiVersion: "example.org/v1",
    kind: "Shop",
    metadata: { name: "shop", namespace },
    spec: { compositionRef: { name: "shop" } },
  };
  await platform.apply(compositionOf("shop", "XShop", doing("fatal")), claim);
  const bound = await platform.until(claim, "Synced", "True");
  const ref = (bound["spec"] as { readonly resourceRef: { readonly name: string } }).resourceRef;
  await platform.until(
    { apiVersion: "example.org/v1", kind: "XShop", metadata: { name: ref.name } },
    "Synced",
    "False",
  );
  const { causes, verdict } = await explain(claim);
  assert.equal(verdict, "broken");
  assert.deepEqual(
    causes.map(({ code }) => code),
    ["E29"],
  );
  assert.deepEqual(causes[0]?.effects, ["Shop default/shop", `XShop ${ref.name}`, 'step "render"']);
});

test("a healthy object is healthy, and one that waits is not broken", async () => {
  const ready = xr("App", "ready", { compositionRef: { name: "ready" } });
  const waits = xr("App", "waits", { compositionRef: { name: "waits" } });
  await platform.apply(
    compositionOf("ready", "App", doing("compose")),
    compositionOf("waits", "App", doing("waiting")),
    ready,
    waits,
  );
  await platform.until(ready, "Ready", "True");
  await platform.until(waits, "Ready", "False");
  const healthy = await explain(ready);
  assert.equal(explanationText(healthy), "App default/ready is healthy\n");
  const waiting = await explain(waits);
  assert.deepEqual([waiting.verdict, waiting.causes], ["waiting", []]);
  const later = await explain(waits, () => Date.now() + 3_600_000);
  assert.deepEqual([later.verdict, later.causes], ["unknown", []]);
});

test("a cause that no longer exists is not a cause: first it heals, later the status is stale", async () => {
  const composite = xr("App", "healing", { compositionRef: { name: "late" } });
  await platform.apply(composite);
  const failed = await platform.until(composite, "Synced", "False");
  await platform.apply(compositionOf("late", "App", doing("compose")));
  const young = await explainObject(failed, { client: platform.users });
  assert.equal(young.causes.length, 0, explanationText(young));
  assert.match(explanationText(young), /was: Composition late not found, gone since \d+s ago/);
  const old = await explainObject(failed, { client: platform.users, now: () => Date.now() + 60_000 });
  assert.equal(old.causes[0]?.code, "E10");
});

test("all unhealthy objects in groups", async () => {
  const { explanations } = await explainAll({ client: platform.users });
  const groups = groupByCause(explanations);
  assert.ok(groups.some(({ code }) => code === "E29"));
  assert.ok(!explanations.some(({ object }) => object.name === "ready"));
});
