// SPDX-License-Identifier: Apache-2.0
// Differences between two objects, by field.
export { compareValues, type FieldChange } from "./compare.ts";
