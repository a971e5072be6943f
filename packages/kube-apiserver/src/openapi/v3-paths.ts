// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, referenceTo } from "@purlin/kube-objects";
import {
  CODE_TEXTS,
  type Content,
  type Operation,
  type Parameter,
  type PathOperations,
  sharedParameters,
} from "./operation.ts";

/** The `paths` of an OpenAPI v3 document, by path. */
export function v3Paths(paths: readonly PathOperations[]): JsonObject {
  const sorted = paths.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return Object.fromEntries(sorted.map(({ path, operations }) => [path, pathItem(operations)]));
}

function pathItem(operations: readonly Operation[]): JsonObject {
  const { shared, own } = sharedParameters(operations);
  const methods = operations.map((one) => [one.method, operationObject(one, own(one))] as const);
  return { ...Object.fromEntries(methods), ...(shared.length > 0 && { parameters: shared.map(parameterObject) }) };
}

function operationObject(operation: Operation, parameters: readonly Parameter[]): JsonObject {
  const { id, tag, action, kind, body, consumes, produces, responses } = operation;
  const answers = Object.entries(responses).map(([code, content]) => [code, answer(Number(code), content, produces)]);
  return {
    tags: [tag],
    operationId: id,
    ...(parameters.length > 0 && { parameters: parameters.map(parameterObject) }),
    ...(body !== undefined && {
      requestBody: { content: contents(body, consumes), ...(body.required && { required: true }) },
    }),
    responses: { ...Object.fromEntries(answers), 401: { description: CODE_TEXTS[401] ?? "" } },
    ...(action !== undefined && { "x-kubernetes-action": action }),
    ...(kind !== undefined && { "x-kubernetes-group-version-kind": { ...kind } }),
  };
}

function answer(code: number, content: Content, types: readonly string[]): JsonObject {
  return { description: CODE_TEXTS[code] ?? "", content: contents(content, types) };
}

function contents({ component }: Content, types: readonly string[]): JsonObject {
  const schema = component === undefined ? {} : { $ref: referenceTo(component) };
  return Object.fromEntries(types.toSorted().map((type) => [type, { schema }]));
}

function parameterObject({ name, in: where, type }: Parameter): JsonObject {
  return { name, in: where, ...(where === "path" && { required: true }), schema: { type, uniqueItems: true } };
}
