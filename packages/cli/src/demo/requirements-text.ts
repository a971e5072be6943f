// SPDX-License-Identifier: Apache-2.0
import type {
  Requirements,
  ResourceSelector,
  Resources,
  RunFunctionRequest,
  Schema,
  SchemaSelector,
} from "@purlin/function-protocol";

/** What a function asks for, in words; undefined when it asks for nothing. */
export function requirementsText(requirements: Requirements | undefined): string | undefined {
  const { resources, extraResources, schemas } = requirements ?? {};
  return list([
    ...[...(resources?.values() ?? [])].map(selectorText),
    ...[...(extraResources?.values() ?? [])].map(selectorText),
    ...[...(schemas?.values() ?? [])].map(schemaText),
  ]);
}

/** What a request carries in answer to requirements, in words; undefined when it answers none. */
export function answersText(requirements: Requirements | undefined, request: RunFunctionRequest): string | undefined {
  return list([
    ...foundText(requirements?.resources, request.requiredResources),
    ...foundText(requirements?.extraResources, request.extraResources),
    ...foundSchemaText(requirements?.schemas, request.requiredSchemas),
  ]);
}

function foundText(
  asked: ReadonlyMap<string, ResourceSelector> | undefined,
  answers: ReadonlyMap<string, Resources>,
): string[] {
  return [...(asked ?? [])].flatMap(([name, selector]) => {
    const answer = answers.get(name);
    if (answer === undefined) return [];
    return answer.items.length === 0 ? `no ${selectorText(selector).replace(/^every /, "")}` : selectorText(selector);
  });
}

function foundSchemaText(
  asked: ReadonlyMap<string, SchemaSelector> | undefined,
  answers: ReadonlyMap<string, Schema>,
): string[] {
  return [...(asked ?? [])].flatMap(([name, selector]) => {
    const answer = answers.get(name);
    if (answer === undefined) return [];
    if (answer.openapiV3 === undefined) return `no schema of ${selector.apiVersion} ${selector.kind}`;
    return `${schemaText(selector)} (${Math.ceil(answer.openapiV3.bytes.length / 1024)} KiB)`;
  });
}

function list(parts: readonly string[]): string | undefined {
  return parts.length === 0 ? undefined : parts.join(", ");
}

function schemaText({ apiVersion, kind }: SchemaSelector): string {
  return `the schema of ${apiVersion} ${kind}`;
}

function selectorText({ kind, match }: ResourceSelector): string {
  if (match === undefined) return `every ${kind}`;
  if (match.case === "matchName") return `${kind} "${match.value}"`;
  const labels = [...match.value.labels].map(([key, value]) => `${key}=${value}`);
  return labels.length === 0 ? `every ${kind}` : `every ${kind} with ${labels.join(",")}`;
}
