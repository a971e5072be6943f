// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, type JsonValue, referenceTo } from "@purlin/kube-objects";
import type { ResourceType, Subresource } from "../registry/resource-type.ts";

/** Which component describes a kind; undefined when the document has none. */
export type ComponentOf = (kind: {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}) => string | undefined;

const parameter = (name: string, type: string, where: "query" | "path" = "query"): JsonObject => ({
  name,
  in: where,
  ...(where === "path" && { required: true }),
  schema: { type, uniqueItems: true },
});

const pretty = parameter("pretty", "string");
const namespaceParameter = parameter("namespace", "string", "path");
const nameParameter = parameter("name", "string", "path");
const writeParameters = [
  parameter("dryRun", "string"),
  parameter("fieldManager", "string"),
  parameter("fieldValidation", "string"),
];
const patchParameters = [...writeParameters, parameter("force", "boolean")];
const deleteParameters = [
  parameter("dryRun", "string"),
  parameter("gracePeriodSeconds", "integer"),
  parameter("orphanDependents", "boolean"),
  parameter("propagationPolicy", "string"),
];
const listParameters = [
  ...["continue", "fieldSelector", "labelSelector", "resourceVersion", "resourceVersionMatch"].map((name) =>
    parameter(name, "string"),
  ),
  parameter("limit", "integer"),
  parameter("timeoutSeconds", "integer"),
  ...["allowWatchBookmarks", "sendInitialEvents", "watch"].map((name) => parameter(name, "boolean")),
];

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const answerTypes = ["application/json", "application/yaml"];

/** The paths of the resources of one group-version, with the operations clients look up. */
export function operationPaths(types: readonly ResourceType[], componentOf: ComponentOf): JsonObject {
  const paths: Record<string, JsonValue> = {};
  for (const type of types) for (const [path, item] of pathsOf(type, componentOf)) paths[path] = item;
  return paths;
}

function* pathsOf(type: ResourceType, componentOf: ComponentOf): Generator<[string, JsonObject]> {
  const base = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced ? "/namespaces/{namespace}" : "";
  const operations = new Operations(type, componentOf);
  const inScope = type.namespaced ? [namespaceParameter, pretty] : [pretty];
  const one = [nameParameter, ...inScope];
  yield [`${base}${scope}/${type.resource}`, { ...operations.collection(), parameters: inScope }];
  if (type.namespaced && type.verbs.includes("list")) {
    yield [`${base}/${type.resource}`, { get: operations.list(), parameters: [...listParameters, pretty] }];
  }
  const named = operations.named();
  if (Object.keys(named).length > 0) yield [`${base}${scope}/${type.resource}/{name}`, { ...named, parameters: one }];
  for (const subresource of type.subresources) {
    const path = `${base}${scope}/${type.resource}/{name}/${subresource.name}`;
    yield [path, { ...operations.sub(subresource), parameters: one }];
  }
}

/** The operations of one resource. */
class Operations {
  readonly #type: ResourceType;
  readonly #componentOf: ComponentOf;

  constructor(type: ResourceType, componentOf: ComponentOf) {
    this.#type = type;
    this.#componentOf = componentOf;
  }

  collection(): JsonObject {
    const { verbs } = this.#type;
    return {
      ...(verbs.includes("list") && { get: { ...this.list(), parameters: listParameters } }),
      ...(verbs.includes("create") && { post: this.#write("post", this.#type) }),
      ...(verbs.includes("deletecollection") && { delete: this.#delete("deletecollection") }),
    };
  }

  list(): JsonObject {
    return this.#operation("list", this.#type, {
      responses: responses(this.#schema({ ...this.#type, kind: this.#type.listKind })),
    });
  }

  named(): JsonObject {
    const { verbs } = this.#type;
    return {
      ...(verbs.includes("get") && { get: this.#read(this.#type) }),
      ...(verbs.includes("update") && { put: this.#write("put", this.#type) }),
      ...(verbs.includes("patch") && { patch: this.#patch(this.#type) }),
      ...(verbs.includes("delete") && { delete: this.#delete("delete") }),
    };
  }

  sub({ verbs, kind = this.#type }: Subresource): JsonObject {
    return {
      ...(verbs.includes("get") && { get: this.#read(kind) }),
      ...(verbs.includes("update") && { put: this.#write("put", kind) }),
      ...(verbs.includes("patch") && { patch: this.#patch(kind) }),
      ...(verbs.includes("create") && { post: this.#write("post", kind) }),
    };
  }

  #read(kind: Kind): JsonObject {
    return this.#operation("get", kind, { responses: responses(this.#schema(kind)) });
  }

  #write(action: "post" | "put", kind: Kind): JsonObject {
    const schema = this.#schema(kind);
    return this.#operation(action, kind, {
      parameters: writeParameters,
      requestBody: { content: { "*/*": { schema } }, required: true },
      responses: responses(schema),
    });
  }

  #patch(kind: Kind): JsonObject {
    const types = [
      "application/apply-patch+yaml",
      "application/json-patch+json",
      "application/merge-patch+json",
      // kubectl sends strategic merge patches to whatever lists them here.
      ...(this.#type.custom ? [] : ["application/strategic-merge-patch+json"]),
    ];
    const content = Object.fromEntries(types.map((name) => [name, { schema: refTo(`${meta}.Patch`) }]));
    return this.#operation("patch", kind, {
      parameters: patchParameters,
      requestBody: { content, required: true },
      responses: responses(this.#schema(kind)),
    });
  }

  #delete(action: "delete" | "deletecollection"): JsonObject {
    return this.#operation(action, this.#type, {
      parameters: action === "delete" ? deleteParameters : [...deleteParameters, ...listParameters],
      requestBody: { content: { "*/*": { schema: refTo(`${meta}.DeleteOptions`) } } },
      responses: responses(refTo(`${meta}.Status`)),
    });
  }

  #operation(action: string, { group, version, kind }: Kind, rest: JsonObject): JsonObject {
    return {
      ...rest,
      tags: [tagOf(this.#type)],
      "x-kubernetes-action": action,
      "x-kubernetes-group-version-kind": { group, kind, version },
    };
  }

  #schema(kind: Kind): JsonObject {
    const component = this.#componentOf(kind);
    return component === undefined ? {} : refTo(component);
  }
}

const refTo = (component: string): JsonObject => ({ $ref: referenceTo(component) });

type Kind = Parameters<ComponentOf>[0];

function tagOf({ group, version }: ResourceType): string {
  return `${group === "" ? "core" : group.replace(/\.k8s\.io$/, "").replaceAll(".", "")}_${version}`;
}

function responses(schema: JsonObject): JsonObject {
  const content = Object.fromEntries(answerTypes.map((type) => [type, { schema }]));
  return { "200": { description: "OK", content }, "401": { description: "Unauthorized" } };
}
