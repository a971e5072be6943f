// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject, ownValue } from "@purlin/kube-objects/json";
import { formatApiVersion, type GroupVersionKind, gvkOf } from "@purlin/kube-objects/object";
import { RunnerError, textOf } from "../function-runner.ts";

/** Whether objects of a kind live in namespaces. */
export type KindScope = "Namespaced" | "Cluster";

/** One object of a kind. */
interface ObjectQuery {
  /** Absent for a cluster-scoped kind. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
}

/** Many objects of a kind. */
interface ListQuery {
  /** Absent for all namespaces. */
  readonly namespace?: string | undefined;
  /** Labels an object must carry, all of them; none means every object. */
  readonly labels: ReadonlyMap<string, string>;
  /** As many are enough: the reader may stop there. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Where required resources are read from: a cluster, the embedded API server, or files. Objects are never changed. */
export interface ResourceReader {
  /** The scope of a kind; undefined when there is no such kind. */
  scopeOf(gvk: GroupVersionKind, signal?: AbortSignal): Promise<KindScope | undefined>;
  /** An object; undefined when it does not exist. Rejects on any other failure. */
  get(gvk: GroupVersionKind, query: ObjectQuery): Promise<JsonObject | undefined>;
  /** All objects that match, in any order. */
  list(gvk: GroupVersionKind, query: ListQuery): Promise<readonly JsonObject[]>;
}

/** Returns the scope of kinds. */
export type ScopeOf = (gvk: GroupVersionKind) => KindScope | undefined;

/** What is known about kinds besides the objects themselves. */
interface ObjectsReaderOptions {
  /** The scope of kinds. A kind it does not know is as its objects are: namespaced if one of them has a namespace. */
  readonly scopeOf?: ScopeOf | undefined;
  /** How to answer for an unknown kind: with an error (the default), or with no objects. */
  readonly unknownKinds?: "refuse" | "empty" | undefined;
}

interface Entry {
  readonly object: JsonObject;
  readonly namespace: string;
  readonly name: string;
  readonly labels: JsonObject;
}

/**
 * A reader over objects in memory, such as those of YAML files. Objects of a namespaced kind that name no namespace are in
 * `default`, where kubectl would put them. Throws when something is not a Kubernetes object or is there twice.
 */
export function objectsReader(objects: Iterable<unknown>, options: ObjectsReaderOptions = {}): ResourceReader {
  const byKind = new Map<string, Entry[]>();
  let index = 0;
  for (const object of objects) {
    const { gvk, entry } = readEntry(object, index++);
    const key = kindKey(gvk);
    const entries = byKind.get(key);
    if (entries === undefined) byKind.set(key, [entry]);
    else entries.push(entry);
  }
  const scopeOf = (gvk: GroupVersionKind): KindScope | undefined => {
    const known = options.scopeOf?.(gvk) ?? scopeFrom(byKind.get(kindKey(gvk)));
    return known ?? (options.unknownKinds === "empty" ? "Cluster" : undefined);
  };
  const located = locate(byKind, scopeOf);
  return {
    scopeOf: async (gvk) => scopeOf(gvk),
    get: async (gvk, { namespace, name }) => located.get(kindKey(gvk))?.get(`${namespace ?? ""}/${name}`)?.object,
    list: async (gvk, query) =>
      [...(located.get(kindKey(gvk))?.values() ?? [])]
        .filter((entry) => matches(entry, query))
        .map(({ object }) => object),
  };
}

/** The scopes that CustomResourceDefinitions declare, for all their versions. */
export function scopesOfCrds(crds: Iterable<unknown>): ScopeOf {
  const scopes = new Map<string, KindScope>();
  for (const crd of crds) {
    const spec = isJsonObject(crd) && isJsonObject(crd["spec"]) ? crd["spec"] : {};
    const names = isJsonObject(spec["names"]) ? spec["names"] : {};
    const scope = spec["scope"] === "Cluster" ? "Cluster" : "Namespaced";
    for (const version of Array.isArray(spec["versions"]) ? spec["versions"] : []) {
      if (!isJsonObject(version) || version["served"] === false) continue;
      const gvk = { group: String(spec["group"]), version: String(version["name"]), kind: String(names["kind"]) };
      scopes.set(kindKey(gvk), scope);
    }
  }
  return (gvk) => scopes.get(kindKey(gvk));
}

function kindKey(gvk: GroupVersionKind): string {
  return `${formatApiVersion(gvk)}/${gvk.kind}`;
}

function readEntry(object: unknown, index: number): { readonly gvk: GroupVersionKind; readonly entry: Entry } {
  try {
    if (!isJsonObject(object)) throw new Error("it is not an object");
    const gvk = gvkOf(object);
    const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
    const { name, namespace = "", labels } = metadata;
    if (typeof name !== "string" || name === "") throw new Error(`${gvk.kind} has no metadata.name`);
    if (typeof namespace !== "string")
      throw new Error(`${gvk.kind} "${name}" has a metadata.namespace that is not a string`);
    // Frozen, so that it is encoded once however often it is sent.
    const frozen = Object.freeze({ ...object });
    return { gvk, entry: { object: frozen, name, namespace, labels: isJsonObject(labels) ? labels : {} } };
  } catch (error) {
    throw new RunnerError("FETCH", `object ${index + 1} cannot be used: ${textOf(error)}`, { cause: error });
  }
}

function scopeFrom(entries: readonly Entry[] | undefined): KindScope | undefined {
  if (entries === undefined) return undefined;
  return entries.some(({ namespace }) => namespace !== "") ? "Namespaced" : "Cluster";
}

function locate(byKind: ReadonlyMap<string, readonly Entry[]>, scopeOf: ScopeOf): Map<string, Map<string, Entry>> {
  const located = new Map<string, Map<string, Entry>>();
  for (const [kind, entries] of byKind) {
    const objects = new Map<string, Entry>();
    for (const entry of entries) {
      const scope = scopeOf(gvkOf(entry.object));
      const namespace = scope === "Cluster" ? "" : entry.namespace || "default";
      const key = `${namespace}/${entry.name}`;
      if (objects.has(key)) throw new RunnerError("FETCH", `${kind} "${key.replace(/^\//, "")}" is listed twice`);
      objects.set(key, { ...entry, namespace });
    }
    located.set(kind, objects);
  }
  return located;
}

function matches(entry: Entry, { namespace, labels }: ListQuery): boolean {
  if (namespace !== undefined && entry.namespace !== namespace) return false;
  for (const [key, value] of labels) if (ownValue(entry.labels, key) !== value) return false;
  return true;
}

/** Cluster-scoped kinds of Kubernetes and Crossplane, by group. */
const clusterScoped: Readonly<Record<string, readonly string[]>> = {
  "": ["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
  "admissionregistration.k8s.io": [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
  ],
  "apiextensions.k8s.io": ["CustomResourceDefinition"],
  "apiextensions.crossplane.io": [
    "Composition",
    "CompositionRevision",
    "CompositeResourceDefinition",
    "EnvironmentConfig",
    "ManagedResourceActivationPolicy",
    "ManagedResourceDefinition",
    "Usage",
  ],
  "apiregistration.k8s.io": ["APIService"],
  "certificates.k8s.io": ["CertificateSigningRequest", "ClusterTrustBundle"],
  "flowcontrol.apiserver.k8s.io": ["FlowSchema", "PriorityLevelConfiguration"],
  "networking.k8s.io": ["IPAddress", "IngressClass", "ServiceCIDR"],
  "node.k8s.io": ["RuntimeClass"],
  "ops.crossplane.io": ["CronOperation", "Operation", "WatchOperation"],
  "pkg.crossplane.io": [
    "Configuration",
    "ConfigurationRevision",
    "DeploymentRuntimeConfig",
    "Function",
    "FunctionRevision",
    "ImageConfig",
    "Lock",
    "Provider",
    "ProviderRevision",
  ],
  "protection.crossplane.io": ["ClusterUsage"],
  "rbac.authorization.k8s.io": ["ClusterRole", "ClusterRoleBinding"],
  "resource.k8s.io": ["DeviceClass", "ResourceSlice"],
  "scheduling.k8s.io": ["PriorityClass"],
  "storage.k8s.io": ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
  "storagemigration.k8s.io": ["StorageVersionMigration"],
};

/** Whether a kind of Kubernetes or Crossplane is cluster-scoped. Without an API server, any other kind counts as namespaced. */
export function isClusterScoped({ group, kind }: Pick<GroupVersionKind, "group" | "kind">): boolean {
  return Object.hasOwn(clusterScoped, group) && clusterScoped[group]?.includes(kind) === true;
}

/** One Secret. */
interface SecretQuery {
  readonly namespace: string;
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
}

/** Where credentials are read from. */
export interface SecretReader {
  /** The data of a Secret as bytes. Rejects when it does not exist. */
  read(query: SecretQuery): Promise<ReadonlyMap<string, Uint8Array>>;
}

/** Reads Secrets as objects, as a cluster stores them. */
export function secretsFrom(reader: Pick<ResourceReader, "get">): SecretReader {
  return {
    async read(query) {
      const secret = await reader.get({ group: "", version: "v1", kind: "Secret" }, query);
      if (secret === undefined)
        throw new RunnerError("FETCH", `secrets "${query.name}" not found in namespace "${query.namespace}"`);
      return secretData(secret);
    },
  };
}

/** The data of a Secret: `data` is base64, and `stringData`, which only authored ones have, wins over it. */
export function secretData(secret: JsonObject): Map<string, Uint8Array> {
  const data = new Map<string, Uint8Array>();
  for (const [key, value] of membersOf(secret["data"], "data")) data.set(key, fromBase64(key, value));
  for (const [key, value] of membersOf(secret["stringData"], "stringData")) data.set(key, Buffer.from(value));
  return data;
}

function membersOf(value: unknown, field: string): [string, string][] {
  if (value === undefined || value === null) return [];
  if (!isJsonObject(value)) throw new RunnerError("FETCH", `the Secret's ${field} is not an object`);
  return Object.entries(value).map(([key, text]) => {
    if (typeof text === "string") return [key, text];
    if (text === null) return [key, ""];
    throw new RunnerError("FETCH", `the Secret's ${field} "${key}" is not a string`);
  });
}

/** Node skips what is not base64; an API server refuses it, and so must we: half a key is worse than none. */
function fromBase64(key: string, text: string): Uint8Array {
  const packed = text.replace(/[\r\n]/g, "");
  const isBase64 = packed.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(packed);
  if (!isBase64) throw new RunnerError("FETCH", `the Secret's data "${key}" is not base64`);
  return Buffer.from(packed, "base64");
}
