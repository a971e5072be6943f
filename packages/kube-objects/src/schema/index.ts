// SPDX-License-Identifier: Apache-2.0
// The schema type, and checks of values against schemas. Does not load the schemas of the built-in kinds.
export { checkSchema, closestName, findingText, findUnknownFields } from "./check-schema.ts";
export { checkingValue, checkValue } from "./check-value.ts";
export { isCheckedFormat } from "./formats.ts";
export type { SchemaFinding } from "./outcome.ts";
export type { Schema, ValidationRule } from "./schema-node.ts";
export { checkEmbeddedResources, checkingEmbeddedResources, checkingListTypes } from "./structural-checks.ts";
