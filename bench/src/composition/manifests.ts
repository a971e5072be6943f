// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";

export const functionNames = ["compose", "ready"] as const;
export type FunctionName = (typeof functionNames)[number];

const group = "bench.example.org";
const type = { apiVersion: `${group}/v1`, kind: "Pair" };

/** Where composite resources are written. */
export const collection: string = `/apis/${group}/v1/namespaces/default/pairs`;

const asObject = (object: object): KubeObject => object as KubeObject;

/** A composite resource of two ConfigMaps, as a user writes it. */
export function pair(name: string): KubeObject {
  return asObject({ ...type, metadata: { name, namespace: "default" }, spec: { text: "what the ConfigMaps say" } });
}

/** Whether a composite resource says that it is Ready. */
export function isReady(object: KubeObject): boolean {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: readonly Record<string, string>[] };
  return conditions.some(({ type: name, status }) => name === "Ready" && status === "True");
}

export const definition: KubeObject = asObject({
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  metadata: { name: `pairs.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { kind: "Pair", plural: "pairs" },
    versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: schema() } }],
  },
});

function schema(): object {
  const spec = { type: "object", properties: { text: { type: "string" } } };
  return { type: "object", properties: { spec } };
}

/** One function composes, the other says what is ready. They set no TTL. */
export function composition(ttlSeconds: number | undefined): KubeObject {
  const input = { apiVersion: `${group}/v1`, kind: "Input", ...(ttlSeconds !== undefined && { ttlSeconds }) };
  const pipeline = functionNames.map((step) => ({ step, functionRef: { name: step }, input }));
  return asObject({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "pairs" },
    spec: { compositeTypeRef: type, mode: "Pipeline", pipeline },
  });
}

/** A Function, with what its annotations say about how it runs. */
export function functionObject(name: FunctionName, annotations: Readonly<Record<string, string>> = {}): KubeObject {
  const spec = { package: `registry.example.org/${name}:v1` };
  return asObject({ apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name, annotations }, spec });
}

/** Pauses the package: the benchmark runs the function itself, and there is no such package to pull. */
export const unmanaged: Readonly<Record<string, string>> = { "crossplane.io/paused": "true" };

/** The revision of a Function that serves on a port of this machine over mutual TLS. */
export function servingRevision(name: FunctionName, port: number): KubeObject {
  return asObject({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: { name: `${name}-1`, labels: { "pkg.crossplane.io/package": name }, annotations: unmanaged },
    spec: { image: `registry.example.org/${name}:v1`, desiredState: "Active", revision: 1 },
    status: { endpoint: `dns:///localhost:${port}`, capabilities: ["composition"] },
  });
}
