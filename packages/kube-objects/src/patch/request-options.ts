// SPDX-License-Identifier: Apache-2.0
// The query parameters that create, update, patch and delete have in common.
import { type FieldError, forbiddenValue, requiredValue, unsupportedValue } from "../errors/field-error.ts";
import { validateFieldManager } from "../metadata/managed-fields.ts";

/** The options of a create, update or patch as they came. */
interface WriteOptions {
  readonly fieldManager?: string;
  readonly dryRun?: readonly string[];
  readonly fieldValidation?: string;
}

/** The options of a patch as they came. */
export interface PatchOptions extends WriteOptions {
  readonly force?: boolean;
}

/** What is wrong with the options of a create or update. */
export function validateWriteOptions({
  fieldManager = "",
  dryRun = [],
  fieldValidation = "",
}: WriteOptions): FieldError[] {
  return [
    ...validateFieldManager(fieldManager, "fieldManager"),
    ...validateDryRun(dryRun),
    ...validateFieldValidation(fieldValidation),
  ];
}

/** What is wrong with the options of a patch. An apply has to name its manager; nothing else can be forced. */
export function validatePatchOptions(options: PatchOptions, isApply: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (isApply && !options.fieldManager) errors.push(requiredValue("fieldManager", "is required for apply patch"));
  if (!isApply && options.force !== undefined) {
    errors.push(forbiddenValue("force", "may not be specified for non-apply patch"));
  }
  return [...errors, ...validateWriteOptions(options)];
}

/** What is wrong with the values of dryRun. */
export function validateDryRun(dryRun: readonly string[]): FieldError[] {
  return dryRun.every((value) => value === "All") ? [] : [unsupportedValue("dryRun", dryRun, ["All"])];
}

const fieldValidations = ["", "Ignore", "Strict", "Warn"];

function validateFieldValidation(value: string): FieldError[] {
  return fieldValidations.includes(value) ? [] : [unsupportedValue("fieldValidation", value, fieldValidations)];
}
