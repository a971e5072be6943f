// SPDX-License-Identifier: Apache-2.0
import type { GroupVersionKind } from "@purlin/kube-objects/object";
import type { ResourceType, Subresource } from "../registry/resource-type.ts";
import type { Content, Operation, Parameter, PathOperations } from "./operation.ts";
import { operationNames } from "./operation-names.ts";

/** Which component describes a kind; undefined when the document has none. */
type ComponentOf = (kind: GroupVersionKind) => string | undefined;

const parameter = (name: string, type: Parameter["type"], where: Parameter["in"] = "query"): Parameter => ({
  name,
  in: where,
  type,
});

const PRETTY = parameter("pretty", "string");
const NAME = parameter("name", "string", "path");
const NAMESPACE = parameter("namespace", "string", "path");
const VERSION = parameter("resourceVersion", "string");
const WRITE = [
  parameter("dryRun", "string"),
  parameter("fieldManager", "string"),
  parameter("fieldValidation", "string"),
];
const PATCH = [...WRITE, parameter("force", "boolean")];
const DELETE = [
  parameter("dryRun", "string"),
  parameter("gracePeriodSeconds", "integer"),
  parameter("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
  parameter("orphanDependents", "boolean"),
  parameter("propagationPolicy", "string"),
];
const SELECTION = [
  parameter("continue", "string"),
  parameter("fieldSelector", "string"),
  parameter("labelSelector", "string"),
  parameter("limit", "integer"),
  VERSION,
  parameter("resourceVersionMatch", "string"),
  parameter("sendInitialEvents", "boolean"),
  parameter("shardSelector", "string"),
  parameter("timeoutSeconds", "integer"),
];
const LIST = [...SELECTION, parameter("allowWatchBookmarks", "boolean"), parameter("watch", "boolean")];

const META = "io.k8s.apimachinery.pkg.apis.meta.v1";
const STATUS: Content = { component: `${META}.Status` };
const DELETE_OPTIONS: Content = { component: `${META}.DeleteOptions` };
const PATCH_BODY = { component: `${META}.Patch`, required: true };
const PLAIN_TYPES = ["application/json", "application/yaml"];
const STREAM_TYPE = "application/json;stream=watch";
const CUSTOM_PATCHES = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
// kubectl sends strategic merge patches to whatever lists them.
const BUILTIN_PATCHES = CUSTOM_PATCHES.toSpliced(2, 0, "application/strategic-merge-patch+json");

/** The paths of a resource, with the operations clients look up. */
export function resourcePaths(type: ResourceType, componentOf: ComponentOf): PathOperations[] {
  return new ResourceOperations(type, componentOf).paths();
}

class ResourceOperations {
  readonly #type: ResourceType;
  readonly #componentOf: ComponentOf;
  readonly #root: string;
  readonly #scoped: readonly Parameter[];

  constructor(type: ResourceType, componentOf: ComponentOf) {
    this.#type = type;
    this.#componentOf = componentOf;
    this.#root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
    this.#scoped = type.namespaced ? [NAMESPACE, PRETTY] : [PRETTY];
  }

  paths(): PathOperations[] {
    const { namespaced, resource, verbs, subresources } = this.#type;
    const collection = `${this.#root}${namespaced ? "/namespaces/{namespace}" : ""}/${resource}`;
    const paths = [
      { path: collection, operations: this.#collection() },
      { path: `${collection}/{name}`, operations: this.#named() },
      ...subresources.map((one) => ({ path: `${collection}/{name}/${one.name}`, operations: this.#sub(one) })),
    ];
    if (namespaced && verbs.includes("list")) {
      paths.push({ path: `${this.#root}/${resource}`, operations: [this.#listAcross()] });
    }
    return paths.filter(({ operations }) => operations.length > 0);
  }

  #collection(): Operation[] {
    const { verbs } = this.#type;
    const { kind } = this.#type;
    return [
      ...(verbs.includes("list") ? [this.#list(this.#name(kind), [...this.#scoped, ...LIST])] : []),
      ...(verbs.includes("create") ? [this.#create(this.#name(kind), this.#type, this.#scoped)] : []),
      ...(verbs.includes("deletecollection") ? [this.#deleteCollection()] : []),
    ];
  }

  #named(): Operation[] {
    const { verbs, kind } = this.#type;
    const name = this.#name(kind);
    return [
      ...(verbs.includes("get") ? [this.#read(name, this.#type)] : []),
      ...(verbs.includes("update") ? [this.#replace(name, this.#type)] : []),
      ...(verbs.includes("delete") ? [this.#delete()] : []),
      ...(verbs.includes("patch") ? [this.#patch(name, this.#type)] : []),
    ];
  }

  #sub({ name: part, verbs, kind = this.#type }: Subresource): Operation[] {
    const name = this.#name(`${this.#type.kind}${part.charAt(0).toUpperCase()}${part.slice(1)}`);
    return [
      ...(verbs.includes("get") ? [this.#read(name, kind)] : []),
      ...(verbs.includes("create") ? [this.#create(name, kind, [NAME, ...this.#scoped])] : []),
      ...(verbs.includes("update") ? [this.#replace(name, kind)] : []),
      ...(verbs.includes("patch") ? [this.#patch(name, kind)] : []),
    ];
  }

  #list(name: string, parameters: readonly Parameter[]): Operation {
    const list = this.#content({ ...this.#type, kind: this.#type.listKind });
    const produces = this.#type.custom ? PLAIN_TYPES : [...PLAIN_TYPES, STREAM_TYPE];
    return { ...this.#operation("get", "list", name, parameters), action: "list", produces, responses: { 200: list } };
  }

  #listAcross(): Operation {
    return this.#list(`${this.#type.kind}ForAllNamespaces`, [PRETTY, ...LIST]);
  }

  #create(name: string, kind: GroupVersionKind, parameters: readonly Parameter[]): Operation {
    const content = this.#content(kind);
    return {
      ...this.#operation("post", "create", name, [...parameters, ...WRITE]),
      kind: this.#told(kind),
      body: { ...content, required: true },
      responses: { 200: content, 201: content, 202: content },
    };
  }

  #read(name: string, kind: GroupVersionKind): Operation {
    const parameters = this.#type.custom ? [VERSION] : [];
    return {
      ...this.#operation("get", "read", name, [NAME, ...this.#scoped, ...parameters]),
      kind: this.#told(kind),
      responses: { 200: this.#content(kind) },
    };
  }

  #replace(name: string, kind: GroupVersionKind): Operation {
    const content = this.#content(kind);
    return {
      ...this.#operation("put", "replace", name, [NAME, ...this.#scoped, ...WRITE]),
      kind: this.#told(kind),
      body: { ...content, required: true },
      responses: { 200: content, 201: content },
    };
  }

  #patch(name: string, kind: GroupVersionKind): Operation {
    const content = this.#content(kind);
    return {
      ...this.#operation("patch", "patch", name, [NAME, ...this.#scoped, ...PATCH]),
      kind: this.#told(kind),
      body: PATCH_BODY,
      consumes: this.#type.custom ? CUSTOM_PATCHES : BUILTIN_PATCHES,
      responses: this.#type.custom ? { 200: content } : { 200: content, 201: content },
    };
  }

  #delete(): Operation {
    const { rules, resource, kind } = this.#type;
    // The description says so although a namespace comes back.
    const content = rules.returnsDeleted && resource !== "namespaces" ? this.#content(this.#type) : STATUS;
    return {
      ...this.#operation("delete", "delete", this.#name(kind), [NAME, ...this.#scoped, ...DELETE]),
      body: { ...DELETE_OPTIONS, required: false },
      responses: { 200: content, 202: content },
    };
  }

  #deleteCollection(): Operation {
    const { custom, kind } = this.#type;
    const parameters = custom ? LIST : [...DELETE, ...SELECTION];
    return {
      ...this.#operation("delete", "delete", `Collection${this.#name(kind)}`, [...this.#scoped, ...parameters]),
      action: "deletecollection",
      ...(!custom && { body: { ...DELETE_OPTIONS, required: false } }),
      responses: { 200: STATUS },
    };
  }

  #operation(
    method: Operation["method"],
    verb: string,
    name: string,
    parameters: readonly Parameter[],
  ): Omit<Operation, "responses"> {
    const consumes = this.#type.custom ? PLAIN_TYPES : ["*/*"];
    return {
      method,
      ...operationNames(verb, name, this.#root),
      action: method,
      kind: this.#told(this.#type),
      parameters,
      consumes,
      produces: PLAIN_TYPES,
    };
  }

  /** Parts of custom objects are said to be of the object's own kind. */
  #told({ group, version, kind }: GroupVersionKind): GroupVersionKind {
    return this.#type.custom
      ? { group: this.#type.group, version: this.#type.version, kind: this.#type.kind }
      : { group, version, kind };
  }

  #content({ group, version, kind }: GroupVersionKind): Content {
    return { component: this.#componentOf({ group, version, kind }) };
  }

  #name(kind: string): string {
    return this.#type.namespaced ? `Namespaced${kind}` : kind;
  }
}
