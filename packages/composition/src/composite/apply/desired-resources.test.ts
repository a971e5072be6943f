// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { create, Resource, State, Struct } from "@purlin/function-protocol";
import { NoMatchError, type RestMapper } from "@purlin/kube-client";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { type DesiredResources, desiredResources } from "./desired-resources.ts";

const uid = "2f6c1f0e-9a3b-4f0e-8b1d-0c5d7a9e4b21";
const mapper: RestMapper = {
  async mapping(type) {
    if (type.kind === "Nothing") throw new NoMatchError(type);
    return { ...type, resource: "x", namespaced: !type.kind.startsWith("Cluster") };
  },
  forget() {},
};

function xr(metadata: JsonObject = {}): KubeObject {
  const base = { name: "shop-db", uid, labels: { "crossplane.io/composite": "shop-db" } };
  return {
    apiVersion: "example.org/v1",
    kind: "XDatabase",
    metadata: { ...base, ...metadata } as KubeObject["metadata"],
  };
}
const namespaced = xr({ namespace: "shop" });

function build(
  resource: JsonObject | undefined,
  on: KubeObject = xr(),
  observed?: KubeObject,
): Promise<DesiredResources> {
  const state = create(State, {
    resources: new Map([["bucket", create(Resource, { resource: resource && Struct.from(resource) })]]),
  });
  const resources = new Map(observed ? [["bucket", { object: observed, connectionDetails: new Map() }]] : []);
  const composite = { object: on, connectionDetails: new Map() };
  return desiredResources(state, {
    xr: on,
    observed: { composite, resources },
    mapper,
    signal: new AbortController().signal,
  });
}
const cm = (metadata: JsonObject = {}): JsonObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata });

interface Row {
  readonly reason: string;
  readonly resource: JsonObject;
  readonly on?: KubeObject;
  readonly observed?: KubeObject;
  readonly want: JsonObject;
}

const rows: Readonly<Record<string, Row>> = {
  Generated: {
    reason: "named after the tree",
    resource: cm(),
    want: { name: "shop-db-3bd6cf62359c", generateName: "shop-db-" },
  },
  GenerateName: {
    reason: "a function's own prefix stays",
    resource: cm({ generateName: "mine" }),
    want: { name: "mine-3bd6cf62359c", generateName: "mine" },
  },
  Named: { reason: "a function's own name stays", resource: cm({ name: "mine" }), want: { name: "mine" } },
  Renamed: {
    reason: "what exists is neither renamed nor moved",
    resource: cm({ name: "new", namespace: "elsewhere" }),
    observed: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "old", namespace: "home" } },
    want: { name: "old", namespace: "home" },
  },
  ClaimLabels: {
    reason: "both claim labels are copied",
    resource: cm({ name: "n" }),
    on: xr({
      labels: {
        "crossplane.io/composite": "t",
        "crossplane.io/claim-name": "c",
        "crossplane.io/claim-namespace": "ns",
      },
    }),
    want: {
      labels: {
        "crossplane.io/composite": "t",
        "crossplane.io/claim-name": "c",
        "crossplane.io/claim-namespace": "ns",
      },
    },
  },
  HalfAClaim: {
    reason: "one claim label alone is not",
    resource: cm({ name: "n" }),
    on: xr({ labels: { "crossplane.io/composite": "t", "crossplane.io/claim-name": "c" } }),
    want: { labels: { "crossplane.io/composite": "t" } },
  },
  Annotated: {
    reason: "the pipeline's name is written down",
    resource: cm({ name: "n", annotations: { mine: "x" } }),
    want: { annotations: { mine: "x", "crossplane.io/composition-resource-name": "bucket" } },
  },
  Owned: {
    reason: "the XR controls it, beside other owners",
    resource: cm({ name: "n", ownerReferences: [{ apiVersion: "v1", kind: "Usage", name: "u", uid: "u" }] }),
    want: {
      ownerReferences: [
        { apiVersion: "v1", kind: "Usage", name: "u", uid: "u" },
        {
          apiVersion: "example.org/v1",
          kind: "XDatabase",
          name: "shop-db",
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
  },
  Namespaced: {
    reason: "a namespaced XR composes in its namespace",
    resource: cm(),
    on: namespaced,
    want: { namespace: "shop" },
  },
  SameNamespace: {
    reason: "naming it is fine",
    resource: cm({ namespace: "shop" }),
    on: namespaced,
    want: { namespace: "shop" },
  },
  ClusterXr: {
    reason: "a cluster XR composes anywhere",
    resource: cm({ namespace: "anywhere" }),
    want: { namespace: "anywhere" },
  },
  ClusterScopedPlaced: {
    reason: "a namespace means nothing to a cluster-scoped kind: its events would not be found under it",
    resource: { apiVersion: "v1", kind: "ClusterThing", metadata: { name: "n", namespace: "anywhere" } },
    want: { namespace: undefined as unknown as JsonValue },
  },
  UnknownPlaced: {
    reason: "a resource with an explicit namespace is accepted, and applying reports that there is no such kind",
    resource: { apiVersion: "v1", kind: "Nothing", metadata: { name: "n", namespace: "shop" } },
    on: namespaced,
    want: { namespace: "shop" },
  },
  RoleName: {
    reason: "roles may have colons",
    resource: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "a:b" } },
    want: { name: "a:b" },
  },
};

for (const [name, { reason, resource, on, observed, want }] of Object.entries(rows)) {
  test(`desired resource, ${name}: ${reason}`, async () => {
    const { resources, events } = await build(resource, on, observed);
    const got = memberAt(resources[0]?.object ?? {}, ["metadata"]) as JsonObject;
    assert.deepEqual(Object.fromEntries(Object.keys(want).map((key) => [key, got[key]])), want);
    assert.deepEqual(events, []);
  });
}

const refusals: Readonly<
  Record<
    string,
    { reason: string; resource: JsonObject | undefined; on?: KubeObject; observed?: KubeObject; want: string }
  >
> = {
  NoObject: {
    reason: "there is nothing to apply",
    resource: undefined,
    want: 'cannot unmarshal desired composed resource "bucket" from RunFunctionResponse: object has no apiVersion',
  },
  NoKind: {
    reason: "a kind without an apiVersion is invalid",
    resource: { apiVersion: "v1" },
    want: 'cannot unmarshal desired composed resource "bucket" from RunFunctionResponse: object has no kind',
  },
  TextMetadata: {
    reason: "metadata is what names and owners go into",
    resource: { apiVersion: "v1", kind: "ConfigMap", metadata: "mine" },
    want: 'cannot unmarshal desired composed resource "bucket" from RunFunctionResponse: metadata must be an object, not a string',
  },
  NumberName: {
    reason: "a name is a text",
    resource: cm({ name: 5 }),
    want: 'cannot unmarshal desired composed resource "bucket" from RunFunctionResponse: metadata.name must be a string, not a number',
  },
  ListOfLabels: {
    reason: "labels are pairs",
    resource: cm({ labels: ["a"] }),
    want: 'cannot unmarshal desired composed resource "bucket" from RunFunctionResponse: metadata.labels must be an object, not a list',
  },
  OneOwner: {
    reason: "owners are a list",
    resource: cm({ ownerReferences: { kind: "Pod" } }),
    want: 'cannot unmarshal desired composed resource "bucket" from RunFunctionResponse: metadata.ownerReferences must be a list, not an object',
  },
  NoOwner: {
    reason: "each of them is one",
    resource: cm({ ownerReferences: [{ kind: "Pod" }, null] }),
    want: 'cannot unmarshal desired composed resource "bucket" from RunFunctionResponse: metadata.ownerReferences[1] must be an object, and is null',
  },
  TextOwner: {
    reason: "and no text",
    resource: cm({ ownerReferences: ["Pod"] }),
    want: 'cannot unmarshal desired composed resource "bucket" from RunFunctionResponse: metadata.ownerReferences[0] must be an object, not a string',
  },
  BadName: {
    reason: "the API server would not take it",
    resource: cm({ name: "A_b" }),
    want: 'cannot apply composed resource "bucket" because it has an invalid name "A_b". Must be a valid RFC 1123 subdomain name.',
  },
  LongName: {
    reason: "nor 254 characters",
    resource: cm({ name: "a".repeat(254) }),
    want: `cannot apply composed resource "bucket" because it has an invalid name "${"a".repeat(254)}". Must be a valid RFC 1123 subdomain name.`,
  },
  ColonName: {
    reason: "other kinds may not have colons",
    resource: cm({ name: "a:b" }),
    want: 'cannot apply composed resource "bucket" because it has an invalid name "a:b". Must be a valid RFC 1123 subdomain name.',
  },
  OtherController: {
    reason: "one controller is enough",
    resource: cm({
      name: "n",
      ownerReferences: [{ apiVersion: "v1", kind: "Other", name: "o", uid: "u9", controller: true }],
    }),
    want: 'cannot render metadata for composed resource "bucket": cannot set controller reference: n is already controlled by Other o (UID u9)',
  },
  OtherControllerOfUnnamed: {
    reason: "a resource without a name is reported as well",
    resource: cm({ ownerReferences: [{ apiVersion: "v1", kind: "Other", name: "o", uid: "u9", controller: true }] }),
    want: 'cannot render metadata for composed resource "bucket": cannot set controller reference: it is already controlled by Other o (UID u9)',
  },
  NoLabel: {
    reason: "an XR without the label of its tree cannot compose",
    resource: cm(),
    on: xr({ labels: {} }),
    want: 'cannot render metadata for composed resource "bucket": cannot find top-level composite resource name label "crossplane.io/composite" in composite resource metadata',
  },
  ClusterScoped: {
    reason: "a namespaced XR composes nothing outside",
    resource: { apiVersion: "v1", kind: "ClusterThing", metadata: { name: "n" } },
    on: namespaced,
    want: 'cannot apply cluster scoped composed resource "bucket" (a ClusterThing named n) for a namespaced composite resource.',
  },
  ClusterScopedInOwnNamespace: {
    reason: "nor does it when its function names the XR's namespace",
    resource: { apiVersion: "v1", kind: "ClusterThing", metadata: { name: "n", namespace: "shop" } },
    on: namespaced,
    want: 'cannot apply cluster scoped composed resource "bucket" (a ClusterThing named n) for a namespaced composite resource.',
  },
  ClusterScopedElsewhere: {
    reason: "nor when it names another",
    resource: { apiVersion: "v1", kind: "ClusterThing", metadata: { name: "n", namespace: "other" } },
    on: namespaced,
    want: 'cannot apply cluster scoped composed resource "bucket" (a ClusterThing named n) for a namespaced composite resource.',
  },
  ClusterScopedInstead: {
    reason: "nor when it was a namespaced one before",
    resource: { apiVersion: "v1", kind: "ClusterThing", metadata: { name: "n" } },
    observed: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "old", namespace: "shop" } },
    on: namespaced,
    want: 'cannot apply cluster scoped composed resource "bucket" (a ClusterThing named old) for a namespaced composite resource.',
  },
  Itself: {
    reason: "the XR would be deleted when its function no longer wants it",
    resource: { apiVersion: "example.org/v2", kind: "XDatabase", metadata: { name: "shop-db" } },
    want: 'composed resource "bucket" is the composite resource itself (a XDatabase named shop-db): give it another metadata.name',
  },
  UnnamedClusterScoped: {
    reason: "one that has no name of its own has none in the text",
    resource: { apiVersion: "v1", kind: "ClusterThing" },
    on: namespaced,
    want: 'cannot apply cluster scoped composed resource "bucket" (a ClusterThing) for a namespaced composite resource.',
  },
  UnknownKind: {
    reason: "its scope is unknown",
    resource: { apiVersion: "v1", kind: "Nothing", metadata: { name: "n" } },
    on: namespaced,
    want: 'cannot check if composed resource "bucket" is namespaced (a Nothing named n): no matches for kind "Nothing" in version "v1"',
  },
};

for (const [name, { reason, resource, on, observed, want }] of Object.entries(refusals)) {
  test(`desired resource refused, ${name}: ${reason}`, async () => {
    await assert.rejects(build(resource, on, observed), { message: want });
  });
}

test("a resource for another namespace is made in the XR's, with a warning", async () => {
  const { resources, events } = await build(cm({ namespace: "other" }), namespaced);
  assert.equal(resources[0]?.object.metadata.namespace, "shop");
  assert.deepEqual(events, [
    {
      type: "Warning",
      reason: "NamespaceOverridden",
      message: 'cannot create composed resource "bucket" in namespace "other", using XR namespace "shop" instead',
      forClaim: false,
      detail: "",
    },
  ]);
});

test("resources come in the order of their names, ready only when their function says true", async () => {
  const resource = (name: string, ready: number): [string, Resource] => [
    name,
    create(Resource, { resource: Struct.from(cm({ name })), ready }),
  ];
  const state = create(State, { resources: new Map([resource("c", 1), resource("a", 2), resource("b", 0)]) });
  const observed = { composite: { object: xr(), connectionDetails: new Map() }, resources: new Map() };
  const { resources } = await desiredResources(state, {
    xr: xr(),
    observed,
    mapper,
    signal: new AbortController().signal,
  });
  assert.deepEqual(
    resources.map(({ name, ready }) => [name, ready]),
    [
      ["a", false],
      ["b", false],
      ["c", true],
    ],
  );
});

const wrongTogether: Readonly<
  Record<string, { reason: string; resources: Readonly<Record<string, JsonObject>>; want: string | undefined }>
> = {
  NoName: {
    reason: "the next reconcile could not find it",
    resources: { "": cm(), a: cm() },
    want: "cannot use a desired composed resource without a name: a ConfigMap has none",
  },
  SameObject: {
    reason: "each apply would undo the other",
    resources: { a: cm({ name: "n" }), b: cm({ name: "other" }), c: cm({ name: "n" }) },
    want: 'composed resources "a" and "c" are the same object (a ConfigMap named n): give one of them another metadata.name',
  },
  SameInAnotherVersion: {
    reason: "versions of one kind show one object",
    resources: {
      a: { apiVersion: "x.org/v1", kind: "Thing", metadata: { name: "n" } },
      b: { apiVersion: "x.org/v2", kind: "Thing", metadata: { name: "n" } },
    },
    want: 'composed resources "a" and "b" are the same object (a Thing named n): give one of them another metadata.name',
  },
  SameNameElsewhere: {
    reason: "namespaces and kinds distinguish objects",
    resources: {
      a: cm({ name: "n", namespace: "one" }),
      b: cm({ name: "n", namespace: "two" }),
      c: { apiVersion: "v1", kind: "Secret", metadata: { name: "n", namespace: "one" } },
    },
    want: undefined,
  },
};

for (const [name, { reason, resources, want }] of Object.entries(wrongTogether)) {
  test(`desired resources together, ${name}: ${reason}`, async () => {
    const entries = Object.entries(resources).map(
      ([key, object]) => [key, create(Resource, { resource: Struct.from(object) })] as const,
    );
    const observed = { composite: { object: xr(), connectionDetails: new Map() }, resources: new Map() };
    const context = { xr: xr(), observed, mapper, signal: new AbortController().signal };
    const desired = desiredResources(create(State, { resources: new Map(entries) }), context);
    if (want === undefined) assert.equal((await desired).resources.length, entries.length);
    else await assert.rejects(desired, { message: want });
  });
}

test("no desired state means no resources", async () => {
  const observed = { composite: { object: xr(), connectionDetails: new Map() }, resources: new Map() };
  const context = { xr: xr(), observed, mapper, signal: new AbortController().signal };
  assert.deepEqual(await desiredResources(undefined, context), { resources: [], events: [] });
});

test("what a function returned is never changed in place", async () => {
  const given = Struct.from(cm({ name: "n" }));
  const state = create(State, { resources: new Map([["bucket", create(Resource, { resource: given })]]) });
  const observed = { composite: { object: xr(), connectionDetails: new Map() }, resources: new Map() };
  await desiredResources(state, { xr: xr(), observed, mapper, signal: new AbortController().signal });
  assert.deepEqual(given.value, cm({ name: "n" }));
});
