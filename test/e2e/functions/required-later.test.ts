// SPDX-License-Identifier: Apache-2.0
// Functions require objects, kinds and schemas that do not exist yet. The function sees them when they are created, changed and deleted,
// although the composite resource does not change and no response has a TTL.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import {
  type JsonObject,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
} from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, type Plane, startPlane } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import { applyCompositions, compositionOf, modernDefinition, namespaceOf } from "./definitions.ts";

const group = "required.example.org";
const type = { apiVersion: `${group}/v1`, kind: "Reader" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
const namespace = "library";

interface Wish {
  /** What to require under the name "things". */
  readonly resources?: Parameters<typeof response.requireResources>[2];
  /** Whose schema to require under the name "schema". */
  readonly schema?: { readonly apiVersion: string; readonly kind: string };
}

/** What a function was given of a schema, in the order of its calls, by composite resource. */
const schemasSeen = new Map<string, string[]>();

/** Requires what the spec names, and reports what it got. A step that declares requirements needs none in the spec. */
function reader(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req, { ttl: null });
  const { resource: xr } = request.getObservedCompositeResource(req);
  const { resources, schema } = (xr.getObject("spec") ?? {}) as Wish;
  if (resources !== undefined) response.requireResources(rsp, "things", resources);
  if (schema !== undefined) response.requireSchema(rsp, "schema", schema.apiVersion, schema.kind);
  const things = request.getRequiredResources(req, "things");
  const found = request.lookupRequiredSchema(req, "schema");
  const fields = found.state === "found" ? fieldsOf(found.schema) : found.state;
  const { metadata } = xr.toJSON() as { readonly metadata: { readonly name: string } };
  schemasSeen.set(metadata.name, [...(schemasSeen.get(metadata.name) ?? []), fields]);
  const texts = things.map(({ resource }) => String((resource.toJSON()["data"] as JsonObject | undefined)?.["text"]));
  response.setDesiredCompositeStatus(rsp, { things: texts.join(), schema: fields });
  return rsp;
}

/** The fields of a kind's spec, as its schema has them. */
function fieldsOf(schema: JsonObject): string {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, JsonObject>> };
  const spec = properties["spec"]?.["properties"] as JsonObject | undefined;
  return Object.keys(spec ?? {})
    .sort()
    .join();
}

/** A kind of its own for each test, so that none leans on another. */
function crdOf(kind: string, fields: readonly string[]): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  const spec = { type: "object", properties: Object.fromEntries(fields.map((name) => [name, { type: "string" }])) };
  const data = { type: "object", properties: { text: { type: "string" } } };
  const openAPIV3Schema = { type: "object", properties: { spec, data } };
  return {
    ...crdType,
    metadata: { name: `${plural}.late.example.org` },
    spec: {
      group: "late.example.org",
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  } as unknown as KubeObject;
}

const late = (kind: string) => ({ apiVersion: "late.example.org/v1", kind });

let plane: Plane;
before(async () => {
  plane = await startPlane({ functions: { reader } });
  const text = { type: "string" };
  await plane.apply(
    namespaceOf(namespace),
    modernDefinition({ kind: "Reader", group, status: { things: text, schema: text } }),
  );
  const bootstrap = {
    requiredResources: [{ requirementName: "things", ...configMap, namespace, name: "declared" }],
    requiredSchemas: [{ requirementName: "schema", ...late("Declared") }],
  };
  const early = { requiredResources: [{ requirementName: "things", ...late("Early"), matchLabels: { a: "b" } }] };
  const step = { step: "read", functionRef: { name: "reader" } };
  await applyCompositions(
    plane,
    compositionOf("dynamic", type, [step]),
    compositionOf("declared", type, [{ ...step, requirements: bootstrap }]),
    compositionOf("early", type, [{ ...step, requirements: early }]),
  );
});
after(() => plane[Symbol.asyncDispose]());

const start = (name: string, wish: Wish, composition = "dynamic"): Promise<void> =>
  plane.apply({
    ...type,
    metadata: { namespace, name },
    spec: { ...wish, crossplane: { compositionRef: { name: composition } } },
  } as unknown as KubeObject);

const map = (name: string, text: string, labels: Record<string, string> = {}): KubeObject =>
  ({ ...configMap, metadata: { namespace, name, labels }, data: { text } }) as KubeObject;

/** Waits until the function has reported what it received. */
async function reports(name: string, field: "things" | "schema", wanted: string): Promise<void> {
  await plane.until(`${name} reports ${field} ${wanted}`, type, { namespace, name }, (one) => {
    return (one["status"] as JsonObject | undefined)?.[field] === wanted;
  });
}

/** Makes a kind, as an administrator would. */
async function establish(crd: KubeObject): Promise<void> {
  await plane.apply(crd);
  const isEstablished = (one: KubeObject): boolean => conditionOf(one, "Established")?.status === "True";
  await plane.until("the kind is there", crdType, { name: crd.metadata.name ?? "" }, isEstablished);
}

const remove = (kind: string): Promise<unknown> =>
  plane.users.delete({ ...crdType, name: `${kind.toLowerCase()}s.late.example.org` });

describe("objects", () => {
  test("by name: it comes, changes and goes", async () => {
    await start("by-name", { resources: { ...configMap, namespace, matchName: "wanted" } });
    await reports("by-name", "things", "");
    await plane.apply(map("wanted", "one"));
    await reports("by-name", "things", "one");
    await plane.apply(map("wanted", "two"));
    await reports("by-name", "things", "two");
    await plane.users.delete({ ...configMap, namespace, name: "wanted" });
    await reports("by-name", "things", "");
  });

  test("by labels: they come in any order, and in order they are given", async () => {
    await start("by-labels", { resources: { ...configMap, namespace, matchLabels: { shelf: "a" } } });
    await reports("by-labels", "things", "");
    await plane.apply(
      map("z", "last", { shelf: "a" }),
      map("b", "first", { shelf: "a" }),
      map("y", "no", { shelf: "b" }),
    );
    await reports("by-labels", "things", "first,last");
    await plane.apply(map("z", "last", { shelf: "b" }));
    await reports("by-labels", "things", "first");
    await rendersAsApplied(plane.users, type, { namespace, name: "by-labels" }, { required: [configMap] });
  });

  test("of a kind that is not there yet: it says which, and reads them when the kind has come", async () => {
    await start("of-late-kind", { resources: { ...late("Book"), namespace, matchLabels: {} } });
    const isWaiting = (one: KubeObject): boolean => conditionOf(one, "Synced")?.status === "False";
    const waiting = await plane.until("it says so", type, { namespace, name: "of-late-kind" }, isWaiting);
    assert.equal(
      conditionOf(waiting, "Synced")?.message,
      'cannot compose resources: cannot run Composition pipeline step "read": Function "reader": fetching resources for things: no matches for kind "Book" in version "late.example.org/v1": install the CRD that defines it, or correct the function',
    );
    await establish(crdOf("Book", ["title"]));
    await reports("of-late-kind", "things", "");
    await plane.apply({ ...late("Book"), metadata: { namespace, name: "b" }, data: { text: "once" } } as KubeObject);
    await reports("of-late-kind", "things", "once");
  });
});

describe("schemas", () => {
  test("of a kind that comes, changes and goes", async () => {
    await start("of-schema", { schema: late("Map") });
    await reports("of-schema", "schema", "absent");
    await establish(crdOf("Map", ["scale"]));
    await reports("of-schema", "schema", "scale");
    await plane.apply(crdOf("Map", ["legend", "scale"]));
    await reports("of-schema", "schema", "legend,scale");
    await remove("Map");
    await reports("of-schema", "schema", "absent");
  });

  test("of a kind that was established a second ago: no call gets an empty schema", async () => {
    await start("before", { schema: late("Atlas") });
    await reports("before", "schema", "absent");
    await establish(crdOf("Atlas", ["pages"]));
    await delay(1000);
    await start("fresh", { schema: late("Atlas") });
    await reports("fresh", "schema", "pages");
    assert.deepEqual(
      schemasSeen.get("fresh")?.filter((seen) => seen === "absent"),
      [],
    );
  });
});

describe("what a step declares", () => {
  test("an object and a schema that come later are given with the first call", async () => {
    await start("declared", {}, "declared");
    await reports("declared", "schema", "absent");
    await plane.apply(map("declared", "here"));
    await reports("declared", "things", "here");
    await establish(crdOf("Declared", ["here"]));
    await reports("declared", "schema", "here");
    assert.ok(!schemasSeen.get("declared")?.includes("pending"), "what is declared need not be asked for");
    await plane.apply(map("declared", "changed"));
    await reports("declared", "things", "changed");
    const given = { required: [configMap], schemas: ["apis/late.example.org/v1"] };
    await rendersAsApplied(plane.users, type, { namespace, name: "declared" }, given);
  });

  test("objects of a kind that is not there yet: step, requirement and kind are named, and it recovers", async () => {
    await start("early", {}, "early");
    const isWaiting = (one: KubeObject): boolean => conditionOf(one, "Synced")?.status === "False";
    const waiting = await plane.until("it says so", type, { namespace, name: "early" }, isWaiting);
    assert.match(
      conditionOf(waiting, "Synced")?.message ?? "",
      /pipeline step "read": cannot fetch bootstrap required resources for requirement "things": no matches for kind "Early"/,
    );
    await establish(crdOf("Early", []));
    await reports("early", "things", "");
  });
});
