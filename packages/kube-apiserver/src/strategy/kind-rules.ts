// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import type { FieldError } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { subdomainName } from "@purlin/kube-objects/metadata";
import { memberAt, withMember } from "@purlin/kube-objects/object";
import type { AdmissionPlugin } from "../admission/admission.ts";
import type { User } from "../auth/user.ts";
import type { RuleMetrics } from "../metrics/request-metrics.ts";
import type { ResourceType, Subresource, WriteRules } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import type { TablePrinter } from "../table/table.ts";
import type { VersionConversions } from "./apply-versions.ts";
import type { Endpoint, MetaChecks } from "./object-strategy.ts";

/** The rules of one kind with a typed form, beyond what its type says. Every rule is optional and pure. */
export interface KindRules {
  /** Changes a body right after it was decoded: fields that stand for others. `sent` is the body as received. */
  readonly decode?: (object: JsonObject, sent: JsonObject) => JsonObject;
  /** {@link KindRules.decode} in parts, for fields that may be large. */
  readonly decodingFields?: (object: JsonObject) => Work<JsonObject>;
  /** Lists and maps, by their paths, that count as set when they are sent empty; `*` stands for each item of a list. */
  readonly keepsEmpty?: readonly (readonly string[])[];
  /** Fills in defaults. Returns the same object when there is nothing to fill in. */
  readonly defaults?: (object: JsonObject) => JsonObject;
  /** Sets members of a new object. `user` sends the request. */
  readonly prepareCreate?: (object: JsonObject, user?: User) => JsonObject;
  /** A new object keeps the status that it is sent with. Default: the status of a new object is empty. */
  readonly keepsNewStatus?: boolean;
  readonly prepareUpdate?: (object: JsonObject, old: JsonObject, endpoint: Endpoint) => JsonObject;
  /** Fields of features that are off by default: a write drops them. */
  readonly droppedFields?: readonly (readonly string[])[];
  /** The same for fields that are not at one path, such as those of containers. */
  readonly withoutDisabled?: (object: JsonObject) => JsonObject;
  /** Validates an object, new or changed. */
  readonly validate?: (object: JsonObject) => readonly FieldError[];
  /** Validates, after `validate`, what takes long of an object in parts. */
  readonly validatingRest?: (object: JsonObject) => Work<readonly FieldError[]>;
  /** Validates what applies only to a new object. */
  readonly validateNew?: (object: JsonObject) => readonly FieldError[];
  /** Validates a change, beyond the object itself. */
  readonly validateChange?: (object: JsonObject, old: JsonObject, endpoint: Endpoint) => readonly FieldError[];
  /** Validates what takes long in parts: what `validateNew` and `validateChange` would say. `old` is missing for a new object. */
  readonly validating?: (
    object: JsonObject,
    old: JsonObject | undefined,
    endpoint: Endpoint,
  ) => Work<readonly FieldError[]>;
  /** Which checks of metadata the kind repeats for a change. Default: those of the change, not those of the whole. */
  readonly metaChecks?: (endpoint: Endpoint) => MetaChecks;
  /** Accepts finalizers without a domain. Default: only the standard ones. */
  readonly acceptsAnyFinalizer?: boolean;
  /** Warnings for the client that writes the object. */
  readonly warnings?: (object: JsonObject, old: JsonObject | undefined, endpoint: Endpoint) => readonly string[];
  /** Warnings for every request for the kind. */
  readonly requestWarnings?: readonly string[];
  readonly requireDeletable?: (object: JsonObject) => void;
  readonly markDeleted?: (object: JsonObject) => JsonObject;
  readonly blocksDeletion?: (object: JsonObject) => boolean;
  /** Selectable fields beyond name and namespace. */
  readonly fields?: Readonly<Record<string, (object: JsonObject) => string>>;
  /** Why a field is not selectable, where the kind has its own text for it. */
  readonly fieldProblem?: (field: string) => string | undefined;
  /** The kind as another group shows it. */
  readonly toServed?: (stored: JsonObject) => JsonObject;
  readonly toStored?: (served: JsonObject) => JsonObject;
  /** How objects go from one version of the kind to another, for managers that recorded their fields at another version. */
  readonly conversions?: VersionConversions;
  /** Members that a write to an endpoint cannot own. Default: the spec for the status, the status for the object. */
  readonly resets?: { readonly [endpoint in Endpoint]?: readonly string[][] };
  /** Members that the kind writes even in an empty object. */
  readonly emptyMembers?: { readonly spec?: JsonObject; readonly annotations?: JsonObject };
  /** Default: the name and the creation time. */
  readonly printer?: TablePrinter;
  /** Where objects keep the members that their Scale shows. Required for a kind with a scale subresource. */
  readonly scale?: ScalePaths;
}

/** The values that the Scale of an object shows. */
export interface ScaleState {
  /** The desired replicas; undefined when the object does not set them. */
  readonly wanted: number | undefined;
  readonly current: number;
  /** The selector of the scaled objects as text; empty when there is none. */
  readonly selector: string;
}

/** Where objects of a type keep the members that their Scale shows. */
export interface ScalePaths {
  readonly replicas: readonly string[];
  readonly read: (object: JsonObject) => ScaleState;
  /** The path of the replicas in each version of the kind; null for a version without a Scale. */
  readonly byVersion: ReadonlyMap<string, readonly string[] | null>;
}

/** A kind to serve. */
export interface KindDefinition {
  readonly type: ResourceType;
  readonly rules?: KindRules;
  /** Objects of the kind that every cluster has. The server creates those that are missing when it starts. */
  readonly initialObjects?: readonly JsonObject[];
  /** Admission plugins that come with the kind. They may concern other kinds, as those of LimitRanges concern Pods. */
  readonly admission?: readonly AdmissionPlugin[];
  /**
   * An initial object that exists, with what it lacks; the same object when it lacks nothing, undefined when it has to be created again.
   * Default: an object that exists is left as it is.
   */
  readonly reconcileInitial?: (existing: JsonObject, wanted: JsonObject) => JsonObject | undefined;
  /** Controllers that come with the kind, for what clients expect of every cluster. They run while the server does. */
  readonly controllers?: (deps: KindControllerDeps) => readonly KindController[];
}

/** A controller that runs in the server. */
export interface KindController {
  start(): void;
  stop(): void;
}

/** What a controller in the server works with; the store is that of the kinds. */
export interface KindControllerDeps {
  /** Sends the requests of a controller, with the rights of the ServiceAccount that it has in Kubernetes. */
  readonly clientOf: (account: string) => KindClient;
  /** Called with errors; the work is repeated. */
  readonly onError: (error: unknown) => void;
}

/** Changes objects as any client can; a failure throws its Status. */
interface KindClient {
  send(
    method: string,
    path: string,
    request: { readonly query?: Readonly<Record<string, string>>; readonly body?: JsonObject },
  ): Promise<unknown>;
}

/** What the rules of kinds may depend on. */
interface KindDeps {
  readonly store: Store<JsonObject>;
  readonly now: () => Date;
  /** Observes the rules of definitions. */
  readonly ruleMetrics?: RuleMetrics;
}

/** Makes the kinds that one server serves; called once per server. */
export type KindSource = (deps: KindDeps) => readonly KindDefinition[];

/** Metadata checks of kinds whose rules for a change include all rules for new objects. */
export function wholeMetaChecks(endpoint: Endpoint): MetaChecks {
  return { ofChange: true, ofWhole: endpoint === "" };
}

/**
 * Adds to the rules of a kind that some of its lists, named by their paths, are always written. The reference's storage does not distinguish an empty list from
 * a missing one, so an empty list is read back as null; the client that sent it still owns it.
 */
export function withEmptyLists(members: readonly string[], rules: KindRules = {}): KindRules {
  const paths = members.map((member) => member.split("."));
  const asNull = (object: JsonObject): JsonObject =>
    paths.reduce((made, path) => (isEmpty(memberAt(made, path)) ? withMember(made, path, null) : made), object);
  return {
    ...rules,
    keepsEmpty: [...(rules.keepsEmpty ?? []), ...paths],
    prepareCreate: asNull,
    prepareUpdate: asNull,
  };
}

function isEmpty(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Every verb of a resource. */
export const allVerbs: readonly string[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** The subresource `status`, as most kinds have it. */
export const statusSubresource: Subresource = { name: "status", verbs: ["get", "patch", "update"] };

/** The subresource `scale`, read and written as a Scale. */
export const scaleSubresource: Subresource = {
  name: "scale",
  verbs: ["get", "patch", "update"],
  kind: { group: "autoscaling", version: "v1", kind: "Scale" },
};

const defaultRules: WriteRules = {
  name: subdomainName,
  createOnUpdate: false,
  unconditionalUpdate: true,
  generation: undefined,
  returnsDeleted: false,
  orphansByDefault: false,
  ttlSeconds: undefined,
};

/** The group and version of some kinds, and where discovery lists the group. */
interface KindGroup {
  readonly group: string;
  readonly version: string;
  /** Groups of a higher priority come first; groups of the same priority by name. */
  readonly priority: number;
}

/** One kind in a table of kinds. */
export interface KindRow {
  readonly resource: string;
  readonly kind: string;
  readonly short?: readonly string[];
  readonly categories?: readonly string[];
  readonly cluster?: true;
  readonly verbs?: readonly string[];
  readonly subresources?: readonly Subresource[];
  readonly unserved?: ResourceType["unserved"];
  readonly write?: Partial<WriteRules>;
  readonly rules?: KindRules;
  readonly initialObjects?: readonly JsonObject[];
  readonly admission?: KindDefinition["admission"];
  readonly reconcileInitial?: KindDefinition["reconcileInitial"];
  readonly controllers?: KindDefinition["controllers"];
  /** The group whose objects of the same resource these are. */
  readonly storedIn?: string;
  /** The storage version in discovery, if it is not the served one. */
  readonly storageVersion?: string;
}

/** The kinds of one group and version. */
export function defineKinds(group: KindGroup, rows: readonly KindRow[]): KindDefinition[] {
  return rows.map((row) => ({
    type: typeOf(group, row),
    ...(row.rules && { rules: row.rules }),
    ...(row.initialObjects && { initialObjects: row.initialObjects }),
    ...(row.admission && { admission: row.admission }),
    ...(row.reconcileInitial && { reconcileInitial: row.reconcileInitial }),
    ...(row.controllers && { controllers: row.controllers }),
  }));
}

function typeOf({ group, version, priority }: KindGroup, row: KindRow): ResourceType {
  const { resource, kind } = row;
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    resource,
    singular: kind.toLowerCase(),
    shortNames: row.short ?? [],
    categories: row.categories ?? [],
    namespaced: row.cluster !== true,
    verbs: row.verbs ?? allVerbs,
    subresources: row.subresources ?? [],
    ...(row.unserved && { unserved: row.unserved }),
    custom: false,
    groupPriority: priority,
    storage: { group: row.storedIn ?? group, version: row.storageVersion ?? "v1", resource },
    rules: { ...defaultRules, ...row.write },
  };
}
