// SPDX-License-Identifier: Apache-2.0
import type { GroupVersionKind } from "@purlin/kube-objects/object";
import type { ResourceType, Subresource } from "../registry/registry.ts";
import { type Content, type Operation, operationNames, type Parameter, type PathOperations } from "./operation.ts";

/** Which component describes a kind; undefined when the document has none. */
type ComponentOf = (kind: GroupVersionKind) => string | undefined;

const parameter = (name: string, type: Parameter["type"], where: Parameter["in"] = "query"): Parameter => ({
  name,
  in: where,
  type,
});

const prettyParameter = parameter("pretty", "string");
const nameParameter = parameter("name", "string", "path");
const namespaceParameter = parameter("namespace", "string", "path");
const versionParameter = parameter("resourceVersion", "string");
const writeParameters = [
  parameter("dryRun", "string"),
  parameter("fieldManager", "string"),
  parameter("fieldValidation", "string"),
];
const patchParameters = [...writeParameters, parameter("force", "boolean")];
const deleteParameters = [
  parameter("dryRun", "string"),
  parameter("gracePeriodSeconds", "integer"),
  parameter("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
  parameter("orphanDependents", "boolean"),
  parameter("propagationPolicy", "string"),
];
const selectionParameters = [
  parameter("continue", "string"),
  parameter("fieldSelector", "string"),
  parameter("labelSelector", "string"),
  parameter("limit", "integer"),
  versionParameter,
  parameter("resourceVersionMatch", "string"),
  parameter("sendInitialEvents", "boolean"),
  parameter("shardSelector", "string"),
  parameter("timeoutSeconds", "integer"),
];
const listParameters = [
  ...selectionParameters,
  parameter("allowWatchBookmarks", "boolean"),
  parameter("watch", "boolean"),
];

const metaPrefix = "io.k8s.apimachinery.pkg.apis.meta.v1";
const statusContent: Content = { component: `${metaPrefix}.Status` };
const deleteOptionsContent: Content = { component: `${metaPrefix}.DeleteOptions` };
const patchBody = { component: `${metaPrefix}.Patch`, required: true };
const plainTypes = ["application/json", "application/yaml"];
const streamType = "application/json;stream=watch";
const customPatches = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
// kubectl sends strategic merge patches to whatever lists them.
const builtinPatches = customPatches.toSpliced(2, 0, "application/strategic-merge-patch+json");

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
    this.#scoped = type.namespaced ? [namespaceParameter, prettyParameter] : [prettyParameter];
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
      ...(verbs.includes("list") ? [this.#list(this.#name(kind), [...this.#scoped, ...listParameters])] : []),
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

  #sub({ name: part, verbs, kind: other = this.#type }: Subresource): Operation[] {
    const { group, version } = this.#type;
    const kind = other.version === "" ? { group, version, kind: other.kind } : other;
    const name = this.#name(`${this.#type.kind}${part.charAt(0).toUpperCase()}${part.slice(1)}`);
    return [
      ...(verbs.includes("get") ? [this.#read(name, kind)] : []),
      ...(verbs.includes("create") ? [this.#create(name, kind, [nameParameter, ...this.#scoped])] : []),
      ...(verbs.includes("update") ? [this.#replace(name, kind)] : []),
      ...(verbs.includes("patch") ? [this.#patch(name, kind)] : []),
    ];
  }

  #list(name: string, parameters: readonly Parameter[]): Operation {
    const list = this.#content({ ...this.#type, kind: this.#type.listKind });
    const produces = this.#type.custom ? plainTypes : [...plainTypes, streamType];
    return {
      ...this.#operation("get", { verb: "list", name, parameters }),
      action: "list",
      produces,
      responses: { 200: list },
    };
  }

  #listAcross(): Operation {
    return this.#list(`${this.#type.kind}ForAllNamespaces`, [prettyParameter, ...listParameters]);
  }

  #create(name: string, kind: GroupVersionKind, parameters: readonly Parameter[]): Operation {
    const content = this.#content(kind);
    return {
      ...this.#operation("post", { verb: "create", name, parameters: [...parameters, ...writeParameters] }),
      kind: this.#kindOf(kind),
      body: { ...content, required: true },
      responses: { 200: content, 201: content, 202: content },
    };
  }

  #read(name: string, kind: GroupVersionKind): Operation {
    const parameters = this.#type.custom ? [versionParameter] : [];
    return {
      ...this.#operation("get", { verb: "read", name, parameters: [nameParameter, ...this.#scoped, ...parameters] }),
      kind: this.#kindOf(kind),
      responses: { 200: this.#content(kind) },
    };
  }

  #replace(name: string, kind: GroupVersionKind): Operation {
    const content = this.#content(kind);
    return {
      ...this.#operation("put", {
        verb: "replace",
        name,
        parameters: [nameParameter, ...this.#scoped, ...writeParameters],
      }),
      kind: this.#kindOf(kind),
      body: { ...content, required: true },
      responses: { 200: content, 201: content },
    };
  }

  #patch(name: string, kind: GroupVersionKind): Operation {
    const content = this.#content(kind);
    return {
      ...this.#operation("patch", {
        verb: "patch",
        name,
        parameters: [nameParameter, ...this.#scoped, ...patchParameters],
      }),
      kind: this.#kindOf(kind),
      body: patchBody,
      consumes: this.#type.custom ? customPatches : builtinPatches,
      responses: this.#type.custom ? { 200: content } : { 200: content, 201: content },
    };
  }

  #delete(): Operation {
    const { rules, resource, kind } = this.#type;
    // The description says so although a namespace comes back.
    const content = rules.returnsDeleted && resource !== "namespaces" ? this.#content(this.#type) : statusContent;
    return {
      ...this.#operation("delete", {
        verb: "delete",
        name: this.#name(kind),
        parameters: [nameParameter, ...this.#scoped, ...deleteParameters],
      }),
      body: { ...deleteOptionsContent, required: false },
      responses: { 200: content, 202: content },
    };
  }

  #deleteCollection(): Operation {
    const { custom, kind } = this.#type;
    const parameters = custom ? listParameters : [...deleteParameters, ...selectionParameters];
    return {
      ...this.#operation("delete", {
        verb: "delete",
        name: `Collection${this.#name(kind)}`,
        parameters: [...this.#scoped, ...parameters],
      }),
      action: "deletecollection",
      ...(!custom && { body: { ...deleteOptionsContent, required: false } }),
      responses: { 200: statusContent },
    };
  }

  #operation(
    method: Operation["method"],
    {
      verb,
      name,
      parameters,
    }: { readonly verb: string; readonly name: string; readonly parameters: readonly Parameter[] },
  ): Omit<Operation, "responses"> {
    const consumes = this.#type.custom ? plainTypes : ["*/*"];
    return {
      method,
      ...operationNames(verb, name, this.#root),
      action: method,
      kind: this.#kindOf(this.#type),
      parameters,
      consumes,
      produces: plainTypes,
    };
  }

  /** Subresources of custom objects have the object's own kind. */
  #kindOf({ group, version, kind }: GroupVersionKind): GroupVersionKind {
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
