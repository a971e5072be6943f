// SPDX-License-Identifier: Apache-2.0
// Checks of values against schemas. Loads neither the built-in schemas nor their protobuf tables.
export { checkSchema, findingText } from "./check-schema.ts";
export { checkingValue, checkValue } from "./check-value.ts";
export { closestName } from "./closest-name.ts";
export type { SchemaFinding } from "./finding.ts";
export { isCheckedFormat } from "./formats.ts";
export { checkListTypes } from "./list-types.ts";
export type { Schema, ValidationRule } from "./schema.ts";
export { findUnknownFields } from "./unknown-fields.ts";
