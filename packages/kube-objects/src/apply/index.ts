// SPDX-License-Identifier: Apache-2.0
// Server-side apply and field ownership.
export { applyTypeOf, customResourceType } from "./apply-schema.ts";
export type { ApplyType } from "./apply-type.ts";
export type { ApplyVersions } from "./apply-versions.ts";
export { createFieldManager, type FieldManager, unlessOnlyTimesChanged } from "./field-manager.ts";
export { emptySet, type FieldSet, fieldSetOfPaths } from "./field-set.ts";
export { decodeFieldsV1, encodeFieldsV1 } from "./fields-v1.ts";
export { decodeManagers, managedFieldsOf, managerName, timestamp } from "./managers.ts";
export { managersOfParent, managersOfScale } from "./scale-managers.ts";
export { fieldSetOf } from "./typed-field-set.ts";
export { mergeUnowned } from "./typed-merge.ts";
