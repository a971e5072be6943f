// SPDX-License-Identifier: Apache-2.0
// The schema type, and checks of values against schemas. Does not load the schemas of the built-in kinds.
export { checkSchema, findingText } from "./check-schema.ts";
export { checkingValue, checkValue } from "./check-value.ts";
export { closestName } from "./closest-name.ts";
export { checkEmbeddedResources } from "./embedded-resources.ts";
export type { SchemaFinding } from "./finding.ts";
export { isCheckedFormat } from "./formats.ts";
export { checkListTypes } from "./list-types.ts";
export type { Schema, ValidationRule } from "./schema.ts";
export { findUnknownFields } from "./unknown-fields.ts";
