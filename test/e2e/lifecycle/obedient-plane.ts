// SPDX-License-Identifier: Apache-2.0
// A control plane whose one function composes what composite resources say, so that a test can ask for anything.
import { type RunFunctionRequest, type RunFunctionResponse, request, response } from "@purlin/function-sdk";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { conditionOf, type Plane, type PlaneWish, startPlane } from "../harness/plane.ts";
import { compositionOf, definitionOf, namespaceOf } from "../harness/sample-kinds.ts";

const group = "lifecycle.example.org";

/** In a namespace. */
export const boxType = { apiVersion: `${group}/v1`, kind: "Box" };
/** For the whole cluster. */
export const crateType = { apiVersion: `${group}/v1`, kind: "Crate" };
/** For the whole cluster, with claims. */
export const legacyType = { apiVersion: `${group}/v1`, kind: "XCase" };
export const claimType = { apiVersion: `${group}/v1`, kind: "Case" };
export const configMap = { apiVersion: "v1", kind: "ConfigMap" };
export const namespace = "yard";

/** The answer of a function, as its composite resource states it. */
export type Orders = {
  /** Composed resources by their name in the pipeline. */
  readonly compose?: Readonly<Record<string, JsonObject>>;
  /** Which of them are not ready. */
  readonly unready?: readonly string[];
  readonly status?: JsonObject;
  readonly fatal?: string;
};

/** Responds as the composite resource's spec says. */
export function obey(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  // An Operation has no composite resource.
  if (req.observed?.composite === undefined) return rsp;
  const { resource: xr } = request.getObservedCompositeResource(req);
  const { compose = {}, unready = [], status, fatal } = xr.getObject("spec") as Orders;
  for (const [name, object] of Object.entries(compose)) {
    response.setDesiredComposedResource(rsp, name, object, { ready: !unready.includes(name) });
  }
  if (status !== undefined) response.setDesiredCompositeStatus(rsp, status);
  if (fatal !== undefined) response.fatal(rsp, fatal);
  return rsp;
}

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;
const orders: JsonObject = {
  compose: anything,
  unready: { type: "array", items: { type: "string" } },
  status: anything,
  fatal: { type: "string" },
};
const status: JsonObject = { note: { type: "string" }, count: { type: "integer" } };

/** The definitions and compositions of all kinds. */
export const platform: readonly KubeObject[] = [
  namespaceOf(namespace),
  obedient(definitionOf({ group, kind: "Box", scope: "Namespaced", spec: orders, status })),
  obedient(definitionOf({ group, kind: "Crate", scope: "Cluster", spec: orders, status })),
  obedient(definitionOf({ group, kind: "XCase", claimKind: "Case", scope: "Legacy", spec: orders, status })),
  ...[boxType, crateType, legacyType].map((type) => compositionOf(type.kind.toLowerCase(), type, "obey")),
];

/** A composite resource may order nothing after something: that is not held. */
function obedient(definition: KubeObject): KubeObject {
  const annotations = { "purlin.dev/hold-empty": "false" };
  return { ...definition, metadata: { ...definition.metadata, annotations } };
}

/** A control plane with a function that follows the composite resource's spec. */
export interface ObedientPlane extends Plane {
  /** An object once it is ready. */
  ready(type: TypeRef, key: ObjectKey): Promise<KubeObject>;
}

/** Starts the control plane with all kinds defined. */
export async function startObedientPlane(wish: Partial<PlaneWish> = {}): Promise<ObedientPlane> {
  await using starting = new AsyncDisposableStack();
  const plane = starting.use(await startPlane({ ...wish, functions: { obey, ...wish.functions } }));
  await plane.apply(...platform);
  starting.move();
  return { ...plane, ready: (type, key) => plane.until(`${key.name} is ready`, type, key, isReady) };
}

/** A ConfigMap as a function composes it. */
export function mapWith(text: string, metadata: JsonObject = {}): JsonObject {
  return { ...configMap, metadata, data: { text } };
}

/** A composite resource in the namespace of the tests. */
export function boxOf(name: string, spec: Orders): KubeObject {
  return { ...boxType, metadata: { namespace, name }, spec } as KubeObject;
}

/** A claim in the namespace of the tests. */
export function claimOf(name: string, spec: object, metadata: object = {}): KubeObject {
  return { ...claimType, metadata: { ...at(name), ...metadata }, spec } as unknown as KubeObject;
}

/** The key of something in the namespace of the tests. */
export function at(name: string): ObjectKey {
  return { namespace, name };
}

/** Whether an object says that it is ready, as it is now. */
export function isReady(object: KubeObject): boolean {
  return isTrue(object, "Ready") && isTrue(object, "Synced");
}

function isTrue(object: KubeObject, type: string): boolean {
  return conditionOf(object, type)?.status === "True";
}

/** The names of what a composite resource refers to, in order. */
export function composedNames(xr: KubeObject): readonly string[] {
  interface Spec {
    readonly resourceRefs?: readonly { readonly name: string }[];
    readonly crossplane?: Spec;
  }
  const { resourceRefs, crossplane } = xr["spec"] as Spec;
  return (resourceRefs ?? crossplane?.resourceRefs ?? []).map(({ name }) => name);
}
