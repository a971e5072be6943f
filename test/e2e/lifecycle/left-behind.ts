// SPDX-License-Identifier: Apache-2.0
// A server as Crossplane leaves it: its CRDs with what ours do not know, and a claim with all that was made for it, under
// the names, labels, finalizers and references that it gives them.
import { compositionCrds } from "@purlin/composition";
import type { KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject } from "@purlin/kube-objects/object";
import { eventually } from "../harness/plane.ts";
import { at, claimType, configMap, legacyType, mapWith, namespace, platform } from "./obedient-plane.ts";

const time = "2026-01-01T00:00:00Z";
const condition = (type: string, reason: string): JsonObject => ({
  type,
  status: "True",
  reason,
  lastTransitionTime: time,
});

/** The names of what is there. */
export const left = {
  xr: "left-x7k2p",
  map: "left-x7k2p-9wq4z",
  revision: "xcase-1f00dd5",
  field: "fromAnotherRelease",
} as const;

/** Makes all of it. */
export async function leaveBehind(users: KubeClient): Promise<void> {
  await installCrds(users, compositionCrds().map(ofAnotherRelease));
  const [definition, composition] = [pick("CompositeResourceDefinition", "xcases"), pick("Composition", "xcase")];
  await users.create(pick("Namespace", namespace));
  const xrd = await defineAsCrossplane(definition, users);
  for (const [kind, plural, category] of [
    ["XCase", "xcases", "composite"],
    ["Case", "cases", "claim"],
  ] as const) {
    await users.create(derivedCrd(xrd, { kind, plural, category }));
  }
  await revise(await users.create(composition), users);
  await makeInstances(users);
}

function pick(kind: string, name: string): KubeObject {
  const found = platform.find((one) => one.kind === kind && one.metadata.name?.startsWith(name));
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

/** The CRD with a version, a field and a column that ours does not have. */
function ofAnotherRelease(crd: KubeObject): KubeObject {
  type Spec = {
    readonly versions: readonly JsonObject[];
  };
  const { versions, ...spec } = crd["spec"] as Spec;
  const more = versions.map((version) => {
    const copy = structuredClone(version) as { schema: { openAPIV3Schema: { properties: { spec?: JsonObject } } } };
    const { properties } = copy.schema.openAPIV3Schema;
    const own = (properties.spec?.["properties"] ?? {}) as JsonObject;
    properties.spec = { ...properties.spec, type: "object", properties: { ...own, [left.field]: { type: "string" } } };
    return copy as unknown as JsonObject;
  });
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const old = { name: "v1alpha7", served: false, storage: false, schema };
  return { ...crd, spec: { ...spec, versions: [...more, old] } };
}

async function defineAsCrossplane(definition: KubeObject, users: KubeClient): Promise<KubeObject> {
  const finalizers = ["defined", "offered"].map((name) => `${name}.apiextensions.crossplane.io`);
  const { metadata, spec } = definition as KubeObject & { spec: JsonObject };
  const created = await users.create({
    ...definition,
    metadata: { ...metadata, finalizers },
    spec: { ...spec, [left.field]: "kept" },
  });
  const conditions = [
    condition("Established", "WatchingCompositeResource"),
    condition("Offered", "WatchingCompositeResourceClaim"),
  ];
  return users.update({ ...created, status: { conditions } }, { subresource: "status" });
}

interface DerivedKind {
  readonly kind: string;
  readonly plural: string;
  readonly category: "composite" | "claim";
}

/** As loose as can be: what is stored through it must survive a stricter one. */
function derivedCrd(xrd: KubeObject, { kind, plural, category }: DerivedKind): KubeObject {
  const group = "lifecycle.example.org";
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const names = { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List`, categories: [category] };
  const version = { name: "v1", served: true, storage: true, schema, subresources: { status: {} } };
  const scope = category === "claim" ? "Namespaced" : "Cluster";
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, ownerReferences: [controllerReference(xrd)] },
    spec: { group, names, scope, versions: [version] },
  };
}

async function revise(composition: KubeObject, users: KubeClient): Promise<void> {
  const labels = { "crossplane.io/composition-name": "xcase", "crossplane.io/composition-hash": "1f00dd5" };
  const revision = await users.create({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositionRevision",
    metadata: { name: left.revision, labels, ownerReferences: [controllerReference(composition)] },
    spec: { ...(composition["spec"] as JsonObject), revision: 3 },
  });
  const status = { conditions: [condition("ValidPipeline", "ValidPipeline")] };
  await users.update({ ...revision, status }, { subresource: "status" });
}

async function makeInstances(users: KubeClient): Promise<void> {
  const compose = { map: mapWith("made by Crossplane", { namespace }) };
  const refs = { compositionRef: { name: "xcase" }, compositionRevisionRef: { name: left.revision } };
  const claimRef = { ...claimType, ...at("left") };
  const claimLabels = { "crossplane.io/claim-name": "left", "crossplane.io/claim-namespace": namespace };
  const labels = { ...claimLabels, "crossplane.io/composite": left.xr };
  const conditions = [condition("Synced", "ReconcileSuccess"), condition("Ready", "Available")];
  const make = async (object: object, status?: JsonObject): Promise<KubeObject> => {
    const created = await eventually("its kind is served", () =>
      users.create(object as KubeObject, { fieldManager: "crossplane" }),
    );
    return status === undefined ? created : users.update({ ...created, status }, { subresource: "status" });
  };
  const resourceRefs = [{ ...configMap, name: left.map, namespace }];
  const xr = await make(
    {
      ...legacyType,
      metadata: { name: left.xr, labels, finalizers: ["composite.apiextensions.crossplane.io"] },
      spec: { compose, ...refs, claimRef, compositionUpdatePolicy: "Automatic", resourceRefs },
    },
    { conditions },
  );
  await make({
    ...mapWith("made by Crossplane"),
    metadata: {
      ...at(left.map),
      labels,
      annotations: { "crossplane.io/composition-resource-name": "map" },
      ownerReferences: [controllerReference(xr)],
    },
  });
  await make(
    {
      ...claimType,
      metadata: { ...at("left"), finalizers: ["finalizer.apiextensions.crossplane.io"] },
      spec: { compose, ...refs, compositeDeletePolicy: "Background", resourceRef: { ...legacyType, name: left.xr } },
    },
    { conditions },
  );
}
