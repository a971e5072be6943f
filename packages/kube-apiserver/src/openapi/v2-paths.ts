// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  type Content,
  codeTexts,
  type Operation,
  type Parameter,
  type PathOperations,
  sharedParameters,
} from "./operation.ts";

/** The `paths` of an OpenAPI v2 document, by path. */
export function v2Paths(paths: readonly PathOperations[]): JsonObject {
  const sorted = paths.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return Object.fromEntries(sorted.map(({ path, operations }) => [path, pathItem(operations)]));
}

/** How components are referred to in this version. */
export function definitionReference(component: string): string {
  return `#/definitions/${component}`;
}

function pathItem(operations: readonly Operation[]): JsonObject {
  const { shared, own } = sharedParameters(operations);
  const methods = operations.map((one) => [one.method, operationObject(one, own(one))] as const);
  return { ...Object.fromEntries(methods), ...(shared.length > 0 && { parameters: shared.map(parameterObject) }) };
}

function operationObject(operation: Operation, own: readonly Parameter[]): JsonObject {
  const { id, tag, action, kind, body, consumes, produces, responses } = operation;
  const parameters = [...(body === undefined ? [] : [bodyParameter(body)]), ...own.map(parameterObject)];
  const answers = Object.entries(responses).map(([code, content]) => [code, answer(Number(code), content)]);
  return {
    consumes,
    produces,
    schemes: ["https"],
    tags: [tag],
    operationId: id,
    ...(parameters.length > 0 && { parameters }),
    responses: { ...Object.fromEntries(answers), 401: { description: codeTexts[401] ?? "" } },
    ...(action !== undefined && { "x-kubernetes-action": action }),
    ...(kind !== undefined && { "x-kubernetes-group-version-kind": { ...kind } }),
  };
}

function bodyParameter(body: Content & { readonly required: boolean }): JsonObject {
  return { name: "body", in: "body", ...(body.required && { required: true }), schema: schemaOf(body) };
}

function answer(code: number, content: Content): JsonObject {
  return { description: codeTexts[code] ?? "", schema: schemaOf(content) };
}

function schemaOf({ component }: Content): JsonObject {
  return component === undefined ? {} : { $ref: definitionReference(component) };
}

function parameterObject({ name, in: where, type }: Parameter): JsonObject {
  return { uniqueItems: true, type, name, in: where, ...(where === "path" && { required: true }) };
}
