// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "../json/json-value.ts";
import { type CheckValueOptions, checkValue } from "./check-value.ts";
import { withoutForbiddenNulls } from "./drop-nulls.ts";
import { checkEmbeddedResources } from "./embedded-resources.ts";
import type { SchemaFinding } from "./finding.ts";
import { checkListTypes } from "./list-types.ts";
import { checkUnknownFields } from "./unknown-fields.ts";

/** How an object is checked. */
export interface CheckSchemaOptions extends CheckValueOptions {
  /** Whether fields that the schema does not know are findings, which catches typing errors. Ignored by default. */
  readonly unknownFields?: "report" | "ignore";
  /** What a member that is null without being allowed to means: a mistake (the default), or that it is not there. */
  readonly nulls?: "reject" | "absent";
}

/**
 * Checks an object against an OpenAPI v3 schema without references: the keywords, the uniqueness of lists that are sets
 * or maps, embedded resources and, when asked for, unknown fields. Finds what the reference server finds in a custom
 * resource, in the same words; rules in CEL are not evaluated. An empty list means that the object fits.
 *
 * Never throws. Takes time proportional to the sizes of the object and the schema, and a bounded time per pattern.
 */
export function checkSchema(object: unknown, schema: JsonObject, options: CheckSchemaOptions = {}): SchemaFinding[] {
  const value = options.nulls === "absent" ? withoutForbiddenNulls(object, schema) : object;
  return [
    ...checkValue(value, schema, options),
    ...checkListTypes(value, schema),
    ...(options.partial ? [] : checkEmbeddedResources(value, schema)),
    ...(options.unknownFields === "report" ? checkUnknownFields(value, schema) : []),
  ];
}

/** A finding as one line for people: where, and what. */
export function findingText({ path, body }: SchemaFinding): string {
  return path === "" ? body : `${path}: ${body}`;
}
