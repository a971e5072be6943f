// SPDX-License-Identifier: Apache-2.0
import { childPath, type FieldError, type FieldPath, indexPath, invalidValue, tooLong } from "../errors/field-error.ts";
import { isGoPrintable } from "../json/go-text.ts";
import { utf8Length } from "../json/json-value.ts";
import type { ManagedFieldsEntry } from "../object/kube-object.ts";

/** A field manager's name may not take more bytes than this. */
export const maxFieldManagerBytes = 128;

const maxSubresourceBytes = 256;

/** What is wrong with a field manager's name: its length, and characters that do not print. */
export function validateFieldManager(manager: string, path: FieldPath): FieldError[] {
  const errors = utf8Length(manager) > maxFieldManagerBytes ? [tooLong(path, maxFieldManagerBytes)] : [];
  let offset = 0;
  for (const char of manager) {
    if (!isGoPrintable(char)) {
      const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      errors.push(invalidValue(path, manager, `invalid character U+${code} (at position ${offset})`));
    }
    offset += utf8Length(char);
  }
  return errors;
}

/** What is wrong with a list of managedFields entries, without looking into the field sets. */
export function validateManagedFieldEntries(entries: readonly ManagedFieldsEntry[], path: FieldPath): FieldError[] {
  return entries.flatMap((entry, index) => entryErrors(entry, indexPath(path, index)));
}

function entryErrors(entry: ManagedFieldsEntry, path: FieldPath): FieldError[] {
  const { operation = "", fieldsType = "", manager = "", subresource = "" } = entry;
  const errors: FieldError[] = [];
  if (operation !== "Apply" && operation !== "Update") {
    errors.push(invalidValue(childPath(path, "operation"), operation, "must be `Apply` or `Update`"));
  }
  if (fieldsType !== "" && fieldsType !== "FieldsV1") {
    errors.push(invalidValue(childPath(path, "fieldsType"), fieldsType, "must be `FieldsV1`"));
  }
  errors.push(...validateFieldManager(manager, childPath(path, "manager")));
  if (utf8Length(subresource) > maxSubresourceBytes) {
    errors.push(tooLong(childPath(path, "subresource"), maxSubresourceBytes));
  }
  return errors;
}
