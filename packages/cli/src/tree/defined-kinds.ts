// SPDX-License-Identifier: Apache-2.0
import { isNoMatch, type KubeReader } from "@purlin/kube-client";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type Condition, conditionsOf, type KubeObject, type TypeRef } from "@purlin/kube-objects/object";

/** The type of XRDs, in a version that is not deprecated. */
export const definitionType: TypeRef = {
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
};
/** The type of the objects that define custom resources. */
export const crdType: TypeRef = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

/** Whether an object is an XRD, of any version. */
export function isDefinition({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): boolean {
  const [group] = definitionType.apiVersion.split("/");
  return kind === definitionType.kind && apiVersion.split("/")[0] === group;
}

/** Whether an object is a CRD, of any version. */
export function isCrd({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): boolean {
  return kind === crdType.kind && apiVersion.startsWith("apiextensions.k8s.io/");
}

function conditionOf(object: KubeObject, type: string): Condition | undefined {
  return conditionsOf(object).find((condition) => condition.type === type);
}

/** The object that is to make a type available, and what it says about that. */
interface Definition {
  /** Such as `CompositeResourceDefinition xapps.example.org`. */
  readonly name: string;
  /** Why the type is not there yet, in the definition's own words; undefined when it has no message. */
  readonly reason: string | undefined;
  /** Why the type will not be there until the definition changes. */
  readonly failure: string | undefined;
}

/** Why a definition, as it is written now, makes no kind; undefined while it may still. */
export function failureOf(definition: KubeObject): string | undefined {
  const synced = conditionOf(definition, "Synced");
  const { generation = 0 } = definition.metadata;
  if (synced?.status !== "False" || synced.reason === "ReconcilePaused") return undefined;
  return (synced.observedGeneration ?? generation) >= generation ? synced.message : undefined;
}

interface Names {
  readonly kind?: string;
}

interface DefinitionSpec {
  readonly group?: string;
  readonly names?: Names;
  readonly claimNames?: Names;
}

/** The definition of a type: a custom resource definition, or a composite resource definition through its kind or its claims'. */
export async function findDefinition(
  client: KubeReader,
  type: TypeRef,
  signal?: AbortSignal,
): Promise<Definition | undefined> {
  const group = type.apiVersion.split("/")[0] ?? "";
  const xrds = await listOf(client, definitionType, signal);
  for (const object of xrds) {
    const spec = (object["spec"] ?? {}) as DefinitionSpec;
    if (spec.group !== group) continue;
    if (spec.names?.kind === type.kind) return definition(object, "Established");
    if (spec.claimNames?.kind === type.kind) return definition(object, "Offered");
  }
  for (const object of await listOf(client, crdType, signal)) {
    const spec = (object["spec"] ?? {}) as DefinitionSpec;
    if (spec.group === group && spec.names?.kind === type.kind) return definition(object, "Established");
  }
  return undefined;
}

async function listOf(client: KubeReader, type: TypeRef, signal?: AbortSignal): Promise<readonly KubeObject[]> {
  try {
    return (await client.list(type, { signal })).items;
  } catch (error) {
    // No control plane of ours was here yet.
    if (isNoMatch(error)) return [];
    throw error;
  }
}

function definition(object: KubeObject, type: "Established" | "Offered"): Definition {
  const condition = conditionOf(object, type);
  const reason = condition === undefined ? undefined : [condition.reason, condition.message].filter(Boolean).join(": ");
  return { name: `${object.kind} ${object.metadata.name ?? ""}`, reason, failure: failureOf(object) };
}

/** The kinds a composite resource definition makes: its composite resources and, if it offers them, claims. */
interface CompositeKinds {
  readonly composite: TypeRef;
  readonly claim: TypeRef | undefined;
}

/** What a definition makes, in the version that is stored; undefined while it does not say. */
export function kindsOf(definition: KubeObject): CompositeKinds | undefined {
  const spec = objectOf(definition["spec"]);
  const { group, versions } = spec;
  const names = objectOf(spec["names"]);
  const claims = objectOf(spec["claimNames"]);
  if (typeof group !== "string" || typeof names["kind"] !== "string" || !isJsonArray(versions)) return undefined;
  const version = versions.map((one) => objectOf(one)).find((one) => one["referenceable"] === true)?.["name"];
  if (typeof version !== "string") return undefined;
  const apiVersion = `${group}/${version}`;
  const claim = typeof claims["kind"] === "string" ? { apiVersion, kind: claims["kind"] } : undefined;
  return { composite: { apiVersion, kind: names["kind"] }, claim };
}

/** Whether a definition says that its kinds are served: composite resources, and claims if it has any. */
export function isOffered(definition: KubeObject): boolean {
  const conditions = objectOf(definition["status"])["conditions"];
  const isTrue = (type: string): boolean =>
    isJsonArray(conditions) &&
    conditions.some((value) => objectOf(value)["type"] === type && objectOf(value)["status"] === "True");
  return isTrue("Established") && (kindsOf(definition)?.claim === undefined || isTrue("Offered"));
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value as JsonValue) ? (value as JsonObject) : {};
}
