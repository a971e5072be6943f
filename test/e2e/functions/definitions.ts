// SPDX-License-Identifier: Apache-2.0
// Definitions and compositions as these suites need them: a kind with free fields, and a pipeline.
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { conditionOf, eventually, type Plane } from "../harness/plane.ts";

/** What a definition of a suite says beyond its kind. */
export interface DefinitionWish {
  /** The kind of its claims; its composite resources are of `X` and the same. */
  readonly kind: string;
  readonly group: string;
  /** Fields of the status with their schemas. */
  readonly status?: Readonly<Record<string, object>>;
}

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function versions(status: object): object[] {
  const properties = { spec: anything, status: { type: "object", properties: status } };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return [{ name: "v1", served: true, referenceable: true, schema }];
}

/** A kind with claims. Its spec takes whatever it is given. */
export function claimedDefinition({ kind, group, status = {} }: DefinitionWish): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositeResourceDefinition",
    metadata: { name: `x${plural}.${group}` },
    spec: {
      group,
      names: { kind: `X${kind}`, plural: `x${plural}` },
      claimNames: { kind, plural },
      versions: versions(status),
    },
  } as unknown as KubeObject;
}

/** A kind without claims, namespaced by default. Its spec accepts any fields. */
export function modernDefinition(
  { kind, group, status = {} }: DefinitionWish,
  scope: "Namespaced" | "Cluster" = "Namespaced",
): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.crossplane.io/v2",
    kind: "CompositeResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { kind, plural }, versions: versions(status) },
  } as unknown as KubeObject;
}

/** A step of a pipeline, as a Composition has it. */
export interface StepWish {
  readonly step: string;
  readonly functionRef: { readonly name: string };
  readonly [field: string]: unknown;
}

/** A composition of one kind. */
export function compositionOf(name: string, { apiVersion, kind }: TypeRef, pipeline: readonly StepWish[]): KubeObject {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name },
    spec: { compositeTypeRef: { apiVersion, kind }, mode: "Pipeline", pipeline },
  } as unknown as KubeObject;
}

/** A namespace. */
export function namespaceOf(name: string): KubeObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

/** Applies compositions and waits until composite resources can use them, so that no event reports their absence. */
export async function applyCompositions(plane: Plane, ...compositions: readonly KubeObject[]): Promise<void> {
  const type = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" };
  await plane.apply(...compositions);
  for (const { metadata } of compositions) {
    const labelSelector = `crossplane.io/composition-name=${metadata.name}`;
    await eventually(`composition ${metadata.name} can be used`, async () => {
      const { items } = await plane.users.list(type, { labelSelector });
      return items.some((revision) => conditionOf(revision, "ValidPipeline")?.status === "True");
    });
  }
}
