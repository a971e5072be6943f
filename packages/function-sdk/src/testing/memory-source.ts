// SPDX-License-Identifier: Apache-2.0

import {
  create,
  isJsonObject,
  type JsonObject,
  type RequirementSource,
  type ResourceSelector,
  Resources,
  Schema,
  type SchemaSelector,
} from "@purlin/function-protocol";
import { compareUtf8 } from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import { builtinSchema } from "@purlin/kube-objects/openapi";
import { resourceMessage } from "../resource/resource-message.ts";
import { mustStruct } from "./new-request.ts";

/** What a control plane in a test knows. */
export interface MemorySourceOptions {
  /** The objects that exist, or a function that selects them. */
  readonly resources?: readonly object[] | ((selector: ResourceSelector) => readonly object[]) | undefined;
  /**
   * Schemas by `apiVersion/Kind`, such as `example.org/v1/App`, or a function that finds them. Built-in kinds that are not
   * among them have the schemas that a control plane answers with; null means that there is no such kind.
   */
  readonly schemas?:
    | Readonly<Record<string, object | null>>
    | ((selector: SchemaSelector) => object | null | undefined)
    | undefined;
}

/** Answers requirements from memory, as a control plane answers them from its cluster. */
export function createMemorySource({ resources = [], schemas = {} }: MemorySourceOptions): RequirementSource {
  const select =
    typeof resources === "function" ? resources : (selector: ResourceSelector) => choose(resources, selector);
  return {
    resources: async (selector) => {
      const items = select(selector).map((object) => resourceMessage(mustStruct(object)));
      return create(Resources, { items });
    },
    schema: async (selector) => {
      const schema = findSchema(schemas, selector);
      return create(Schema, { openapiV3: schema && mustStruct(schema) });
    },
  };
}

function findSchema(
  schemas: NonNullable<MemorySourceOptions["schemas"]>,
  selector: SchemaSelector,
): object | undefined {
  const { apiVersion, kind } = selector;
  const key = `${apiVersion}/${kind}`;
  const table = typeof schemas === "function" ? { [key]: schemas(selector) } : schemas;
  const own = Object.hasOwn(table, key) ? table[key] : undefined;
  if (own === null) return undefined;
  return own ?? builtinSchema({ ...parseApiVersion(apiVersion), kind });
}

function choose(objects: readonly object[], selector: ResourceSelector): object[] {
  const found = objects.filter((object) => matches(object as JsonObject, selector));
  return found.sort((a, b) => compareUtf8(placeOf(a as JsonObject), placeOf(b as JsonObject)));
}

function matches(object: JsonObject, selector: ResourceSelector): boolean {
  if (object["apiVersion"] !== selector.apiVersion || object["kind"] !== selector.kind) return false;
  const { namespace, name, labels } = metadataOf(object);
  if (selector.namespace && namespace !== "" && namespace !== selector.namespace) return false;
  switch (selector.match?.case) {
    case "matchName":
      // By name without a namespace is a cluster-scoped object.
      return name === selector.match.value && (namespace === "" || Boolean(selector.namespace));
    case "matchLabels":
      return [...selector.match.value.labels].every(([key, value]) => labels[key] === value);
    case undefined:
      return true;
  }
}

function metadataOf(object: JsonObject): { namespace: string; name: string; labels: JsonObject } {
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const { namespace, name, labels } = metadata;
  return {
    namespace: typeof namespace === "string" ? namespace : "",
    name: typeof name === "string" ? name : "",
    labels: isJsonObject(labels) ? labels : {},
  };
}

function placeOf(object: JsonObject): string {
  const { namespace, name } = metadataOf(object);
  return `${namespace}/${name}`;
}
