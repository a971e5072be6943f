// SPDX-License-Identifier: Apache-2.0
import type { Log } from "@purlin/base";
import {
  ageColumn,
  type ControllerClient,
  choice,
  column,
  conditionColumn,
  conditions,
  createCrd,
  defaulted,
  type Fields,
  flag,
  listOf,
  mapOf,
  object,
  text,
} from "@purlin/kube-controller";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, parseApiVersion, type TypeRef, textAt, textsAt } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import type { ReferenceSpec } from "./references.ts";

/** Values that are published in the connection Secret of a managed resource. */
export type ConnectionDetails = Readonly<Record<string, string | Uint8Array>>;

/** A managed resource, as its handler sees it. */
export interface Managed {
  /** The whole object, frozen. */
  readonly object: KubeObject;
  /** The name of the external resource. Empty until `create` returns it, where the external system assigns it. */
  readonly externalName: string;
  /** `spec.forProvider`: the wanted state of the external resource, with resolved references. */
  readonly forProvider: JsonObject;
  /** `status.atProvider`: the state that `observe` returned last. */
  readonly atProvider: JsonObject;
  /** Aborts when the reconcile takes too long, or when the provider stops. */
  readonly signal: AbortSignal;
  /** Reads other objects, such as a provider configuration and its Secret. */
  readonly client: ControllerClient;
  readonly log: Log;
}

/** The state of an external resource. */
export interface Observation {
  readonly exists: boolean;
  /** Whether it is as `spec.forProvider` says; `update` is called otherwise. Counts only if it exists. */
  readonly upToDate?: boolean;
  /** Whether it can be used: the condition Ready. It can unless given. */
  readonly ready?: boolean;
  /** Why it cannot be used. */
  readonly message?: string | undefined;
  /** What becomes `status.atProvider`. It stays as it is unless given. */
  readonly atProvider?: JsonObject | undefined;
  /** Values that the external system chose, for fields of `spec.forProvider` that are not set. */
  readonly lateInit?: JsonObject | undefined;
  readonly connectionDetails?: ConnectionDetails | undefined;
}

/** What a create or an update made. */
interface Outcome {
  readonly connectionDetails?: ConnectionDetails | undefined;
}

/** What a create made. */
interface Creation extends Outcome {
  /** The name that the external system assigned. */
  readonly externalName?: string | undefined;
}

/**
 * Manages external resources of one kind. Each method may be called again after a crash or an error, so each must tolerate that its work
 * is done already. An error is reported on the managed resource, and the reconcile is repeated with backoff.
 */
export interface ManagedHandler {
  /** Reads the external resource and changes nothing. */
  observe(managed: Managed): Promise<Observation>;
  /** Creates the external resource. Called only when it does not exist. */
  create(managed: Managed): Promise<Creation | undefined>;
  /** Changes the external resource to what `spec.forProvider` says. */
  update(managed: Managed): Promise<Outcome | undefined>;
  /** Begins to delete the external resource. It is observed again until it is gone. */
  delete(managed: Managed): Promise<void>;
}

/** A kind of managed resources. */
export interface ManagedResource extends ManagedHandler {
  readonly type: TypeRef;
  /** The plural name of the kind, for its CRD. */
  readonly plural: string;
  /** Namespaced unless given. Cluster-scoped kinds are those of Crossplane v1: they have a deletion policy. */
  readonly scope?: "Namespaced" | "Cluster";
  /** The schema of `spec.forProvider`. */
  readonly forProvider: Schema;
  /** The schema of `status.atProvider`. */
  readonly atProvider?: Schema;
  /** Fields of `spec.forProvider` that may name another object instead of a value. */
  readonly references?: readonly ReferenceSpec[];
  /**
   * Where the external name comes from: the name of the managed resource, unless it is annotated (the default), or from `create`. A
   * name that `create` assigns is lost if the provider crashes at the wrong moment; the kit then waits for a user.
   */
  readonly externalName?: "fromName" | "fromCreate";
  /** How often an external resource is observed: a minute unless given. */
  readonly pollIntervalMs?: number;
  /** How long one reconcile may call the external system: a minute unless given. */
  readonly timeoutMs?: number;
  /** How long a resource that was just created may be invisible: 30 seconds unless given. */
  readonly creationGraceMs?: number;
}

/** Declares a kind of managed resources. */
export function defineManagedResource(resource: ManagedResource): ManagedResource {
  const { type, plural } = resource;
  if (!type.apiVersion.includes("/")) throw new Error(`${type.kind}: apiVersion must be GROUP/VERSION`);
  if (plural !== plural.toLowerCase()) throw new Error(`${type.kind}: plural must be lower case`);
  return resource;
}

/** The fields with the given values where they are not set, at any depth; the same object when all are set. Lists are not merged. */
export function lateInitialized(fields: JsonObject, values: JsonObject): JsonObject {
  let result = fields;
  for (const [key, value] of Object.entries(values)) {
    const current = fields[key];
    if (value === null || value === undefined) continue;
    if (current === undefined) result = { ...result, [key]: value };
    else if (isJsonObject(current) && isJsonObject(value)) {
      const merged = lateInitialized(current, value);
      if (merged !== current) result = { ...result, [key]: merged };
    }
  }
  return result;
}

const actions = choice("Observe", "Create", "Update", "Delete", "LateInitialize", "*");

const policy = object({ resolution: choice("Required", "Optional"), resolve: choice("Always", "IfNotPresent") });

function referenceFields({ field }: ReferenceSpec): Fields {
  return {
    [`${field}Ref`]: object({ "name*": text, namespace: text, policy }),
    [`${field}Selector`]: object({ matchLabels: mapOf(), matchControllerRef: flag, namespace: text, policy }),
  };
}

/** The CRD of a kind of managed resources: its own fields, and those that all managed resources have. */
export function managedResourceCrd(resource: ManagedResource): KubeObject {
  const { type, plural, scope = "Namespaced", forProvider, atProvider, references = [] } = resource;
  const { group, version } = parseApiVersion(type.apiVersion);
  const isCluster = scope === "Cluster";
  const added = Object.assign({}, ...references.map(referenceFields)) as Fields;
  const secretRef = isCluster ? object({ "name*": text, "namespace*": text }) : object({ "name*": text });
  const spec = object({
    "forProvider*": withProperties(forProvider, object(added).properties ?? {}),
    managementPolicies: defaulted(listOf(actions), ["*"]),
    providerConfigRef: object({ "name*": text, kind: text }),
    writeConnectionSecretToRef: secretRef,
    ...(isCluster && { deletionPolicy: defaulted(choice("Orphan", "Delete"), "Delete") }),
  });
  const status = object({ atProvider: atProvider ?? object({}), conditions, lastHandledReconcileAt: text });
  return createCrd({
    group,
    kind: type.kind,
    plural,
    categories: ["crossplane", "managed"],
    isNamespaced: !isCluster,
    versions: [
      {
        name: version,
        fields: { "spec*": spec, status },
        columns: [
          conditionColumn("SYNCED", "Synced"),
          conditionColumn("READY", "Ready"),
          column("EXTERNAL-NAME", ".metadata.annotations.crossplane\\.io/external-name"),
          ageColumn,
        ],
        hasStatus: true,
      },
    ],
  });
}

function withProperties(schema: Schema, properties: Readonly<Record<string, Schema>>): Schema {
  return { ...schema, properties: { ...properties, ...schema.properties } };
}

/** What may be done to an external resource. */
export interface ManagementPolicy {
  /** Why the combination of policies cannot be used. */
  readonly problem: string | undefined;
  readonly isPaused: boolean;
  readonly isObserveOnly: boolean;
  readonly mayCreate: boolean;
  readonly mayUpdate: boolean;
  readonly mayDelete: boolean;
  readonly mayLateInitialize: boolean;
}

/** The combinations that mean something, each with its actions in alphabetical order. An empty one pauses. */
const supported: ReadonlySet<string> = new Set([
  "*",
  "Create,Delete,LateInitialize,Observe,Update",
  "Observe",
  "",
  "Create,Delete,Observe,Update",
  "Create,LateInitialize,Observe,Update",
  "Create,Observe,Update",
  "Create,Delete,LateInitialize,Observe",
  "Create,LateInitialize,Observe",
  "Create,Delete,Observe",
  "Create,Observe",
  "Delete,Observe",
  "Observe,Update",
  "LateInitialize,Observe",
  "LateInitialize,Observe,Update",
]);

/** The policy of a managed resource. `spec.deletionPolicy` counts for cluster-scoped kinds, as in Crossplane v1. */
export function managementPolicyOf(object: KubeObject, isLegacy: boolean): ManagementPolicy {
  const given = memberAt(object, ["spec", "managementPolicies"]);
  const actions = new Set(Array.isArray(given) ? textsAt(object, ["spec", "managementPolicies"]) : ["*"]);
  const has = (action: string): boolean => actions.has(action) || actions.has("*");
  const list = [...actions].toSorted();
  return {
    problem: supported.has(list.join(",")) ? undefined : unsupported(list),
    isPaused: actions.size === 0,
    isObserveOnly: actions.size === 1 && actions.has("Observe"),
    mayCreate: has("Create"),
    mayUpdate: has("Update"),
    mayDelete: isLegacy ? mayDeleteLegacy(object, actions) : has("Delete"),
    mayLateInitialize: has("LateInitialize"),
  };
}

function unsupported(actions: readonly string[]): string {
  return `\`spec.managementPolicies\` is set to a value([${actions.join(" ")}]) which is not supported. Check docs for supported policies`;
}

/** Of the two policies the one that is not its default wins. */
function mayDeleteLegacy(object: KubeObject, actions: ReadonlySet<string>): boolean {
  const orphans = textAt(object, ["spec", "deletionPolicy"]) === "Orphan";
  const isDefault = actions.size === 1 && actions.has("*");
  return isDefault ? !orphans : actions.has("Delete");
}
