// SPDX-License-Identifier: Apache-2.0
// Composite resources of v2 definitions: in a namespace, for the whole cluster, one inside another; and what others' mistakes
// do to them, which is nothing.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type RunFunctionRequest, type RunFunctionResponse, request, response } from "@purlin/function-sdk";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually, type Plane, startPlane } from "./harness/plane.ts";
import { rendersAsApplied } from "./harness/rendered.ts";
import { compositionOf, definitionOf, namespaceOf } from "./harness/sample-kinds.ts";

const group = "modern.example.org";
const siteType = { apiVersion: `${group}/v1`, kind: "Site" };
const pageType = { apiVersion: `${group}/v1`, kind: "Page" };
const zoneType = { apiVersion: `${group}/v1`, kind: "Zone" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const xrdType = { apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition" };
const namespace = "web";

const status = { pages: { type: "integer" } };
const definition = (kind: string, scope: "Namespaced" | "Cluster", spec: JsonObject): KubeObject =>
  definitionOf({ group, kind, scope, spec, status });
const composition = (type: typeof siteType): KubeObject => compositionOf(type.kind.toLowerCase(), type, "compose");

interface SiteSpec {
  readonly pages?: readonly string[];
  readonly text?: string;
  readonly target?: string;
  readonly shared?: string;
}

/** A Site composes Pages, a Page composes a ConfigMap, a Zone composes a ConfigMap in a namespace it names. */
function compose(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const { kind } = xr.toJSON() as { readonly kind: string };
  const spec = xr.getObject("spec") as SiteSpec;
  if (kind === "Site") {
    const observed = request.getObservedComposedResources(req);
    for (const text of spec.pages ?? []) {
      const isReady = observed.get(text)?.resource.getCondition("Ready")?.status === "True";
      response.setDesiredComposedResource(rsp, text, { ...pageType, spec: { text } }, { ready: isReady });
    }
    response.setDesiredCompositeStatus(rsp, { pages: spec.pages?.length ?? 0 });
    return rsp;
  }
  const metadata = { ...(spec.target && { namespace: spec.target }), ...(spec.shared && { name: spec.shared }) };
  response.setDesiredComposedResource(
    rsp,
    "map",
    { ...configMap, metadata, data: { text: spec.text ?? "" } },
    { ready: true },
  );
  return rsp;
}

const texts = { pages: { type: "array", items: { type: "string" } } };
const page = { text: { type: "string" }, shared: { type: "string" }, target: { type: "string" } };

let plane: Plane;
before(async () => {
  plane = await startPlane({ functions: { compose } });
  await plane.apply(
    namespaceOf(namespace),
    definition("Site", "Namespaced", texts),
    definition("Page", "Namespaced", page),
    definition("Zone", "Cluster", page),
    composition(siteType),
    composition(pageType),
    composition(zoneType),
  );
});
after(() => plane[Symbol.asyncDispose]());

const isReady = (object: KubeObject): boolean => conditionOf(object, "Ready")?.status === "True";
const site = (name: string, pages: readonly string[]): KubeObject =>
  ({ ...siteType, metadata: { namespace, name }, spec: { pages } }) as KubeObject;
const textsOf = async (root: string): Promise<string[]> => {
  const { items } = await plane.users.list(configMap, { namespace, labelSelector: `crossplane.io/composite=${root}` });
  return items.map((map) => (map["data"] as { readonly text: string }).text).sort();
};

test("one inside another: ready from the inside out, named after the root, gone from the outside in", async () => {
  await plane.apply(site("nested", ["about", "home"]));
  const ready = await plane.until("the site is ready", siteType, { namespace, name: "nested" }, isReady);
  assert.equal((ready["status"] as { readonly pages?: number }).pages, 2);
  assert.deepEqual(await textsOf("nested"), ["about", "home"]);
  await rendersAsApplied(plane.users, siteType, { namespace, name: "nested" });
  const { items: pages } = await plane.users.list(pageType, { namespace });
  await rendersAsApplied(plane.users, pageType, { namespace, name: pages[0]?.metadata.name ?? "" });
  const { crossplane } = ready["spec"] as { readonly crossplane: { readonly compositionUpdatePolicy?: string } };
  assert.equal(crossplane.compositionUpdatePolicy, "Automatic", "defaulted once spec.crossplane is stored");
  await plane.apply(site("nested", ["home"]));
  await eventually("a page that is no longer wanted is gone", async () => (await textsOf("nested")).join() === "home");
  await plane.users.delete({ ...siteType, namespace, name: "nested" });
  await plane.gone(siteType, { namespace, name: "nested" });
  await eventually("and all inside it", async () => (await textsOf("nested")).length === 0);
});

test("one for the whole cluster composes where it says", async () => {
  await plane.apply({ ...zoneType, metadata: { name: "eu" }, spec: { target: namespace, text: "zone" } } as KubeObject);
  await plane.until("the zone is ready", zoneType, { name: "eu" }, isReady);
  assert.deepEqual(await textsOf("eu"), ["zone"]);
  await rendersAsApplied(plane.users, zoneType, { name: "eu" });
});

test("two that want one resource: the second says whose it is, and takes it when the first is gone", async () => {
  const one = (name: string): KubeObject =>
    ({ ...pageType, metadata: { namespace, name }, spec: { text: name, shared: "only-one" } }) as KubeObject;
  await plane.apply(one("first"));
  await plane.until("the first has it", pageType, { namespace, name: "first" }, isReady);
  await plane.apply(one("second"));
  const refused = await plane.until(
    "the second fails",
    pageType,
    { namespace, name: "second" },
    (page) => conditionOf(page, "Synced")?.status === "False",
  );
  assert.equal(conditionOf(refused, "Synced")?.message, "Unsynced resources: map");
  await eventually("the event says why", async () =>
    (await plane.events(refused)).some(
      (text) =>
        text.startsWith("Warning") && /"only-one".*Only one reference can have Controller set to true/.test(text),
    ),
  );
  const map = await plane.get(configMap, { namespace, name: "only-one" });
  assert.equal((map["data"] as { readonly text: string }).text, "first");
  await plane.users.delete({ ...pageType, namespace, name: "first" });
  await plane.until("the second has it", pageType, { namespace, name: "second" }, isReady);
});

test("an invalid definition reports its error and does not affect others", async () => {
  await plane.apply(site("steady", ["home"]));
  await plane.until("the site is ready", siteType, { namespace, name: "steady" }, isReady);
  const broken = definition("Broken", "Namespaced", { size: { type: "number-ish" } });
  await plane.apply(broken);
  const failing = await plane.until(
    "it says so",
    xrdType,
    { name: `brokens.${group}` },
    (xrd) => conditionOf(xrd, "Synced")?.status === "False",
  );
  assert.match(
    conditionOf(failing, "Synced")?.message ?? "",
    /spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\[spec\]\.properties\[size\]\.type: Unsupported value: "number-ish"/,
  );
  assert.equal(conditionOf(failing, "Established"), undefined);
  await plane.apply(site("steady", ["home", "news"]));
  await eventually("the site continues", async () => (await textsOf("steady")).join() === "home,news");
  await plane.apply(definition("Broken", "Namespaced", { size: { type: "number" } }));
  await plane.until(
    "it is over when it is corrected",
    xrdType,
    { name: `brokens.${group}` },
    (xrd) => conditionOf(xrd, "Established")?.status === "True",
  );
});

test("a field added while composite resources exist can be used at once", async () => {
  await plane.apply(site("growing", ["home"]));
  await plane.until("the site is ready", siteType, { namespace, name: "growing" }, isReady);
  await plane.apply(definition("Site", "Namespaced", { ...texts, title: { type: "string" } }));
  await plane.until("the definition is established again", xrdType, { name: `sites.${group}` }, (xrd) => {
    const { status } = xrd as {
      readonly status?: { readonly conditions?: readonly { type: string; observedGeneration?: number }[] };
    };
    return (
      status?.conditions?.find(({ type }) => type === "Established")?.observedGeneration === xrd.metadata.generation
    );
  });
  await plane.users.patch(
    { ...siteType, namespace, name: "growing" },
    { spec: { title: "News", pages: ["home", "news"] } },
    { type: "merge" },
  );
  const grown = await plane.until(
    "the site follows",
    siteType,
    { namespace, name: "growing" },
    (one) => (one["status"] as { pages?: number } | undefined)?.pages === 2,
  );
  assert.equal((grown["spec"] as { readonly title?: string }).title, "News");
});

test("deletion of a definition with namespaced composite resources waits until users delete them", async () => {
  const name = `pages.${group}`;
  await plane.apply({ ...pageType, metadata: { namespace, name: "kept" }, spec: { text: "kept" } } as KubeObject);
  await plane.until("the page is ready", pageType, { namespace, name: "kept" }, isReady);
  await plane.users.delete({ ...xrdType, name });
  const waiting = await plane.until(
    "it says so",
    xrdType,
    { name },
    (xrd) => conditionOf(xrd, "Established")?.reason === "TerminatingCompositeResource",
  );
  const text = "Normal TerminateComposite: waiting for defined composite resources to be deleted";
  await eventually("the event", async () => (await plane.events(waiting)).includes(text));
  const kept = await plane.get(pageType, { namespace, name: "kept" });
  assert.equal(kept.metadata.deletionTimestamp, undefined);
});
