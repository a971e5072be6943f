// SPDX-License-Identifier: Apache-2.0
import { type FieldError, invalidValue } from "../field-error.ts";
import type { JsonValue } from "../json/json-value.ts";
import type { ObjectMeta } from "../metadata.ts";
import { pathSegmentName } from "../metadata-names.ts";
import { validateObjectMeta } from "../metadata-validation.ts";
import { TypedFormError } from "../typed/typed-error.ts";
import { toTypedMetadata } from "../typed/typed-form.ts";
import { wholeValue } from "./whole-value.ts";

/**
 * Checks the metadata of an object inside another one. It needs no name, and may be in a namespace or not; the kind is
 * not known, so any name will do that can be part of a path.
 */
export function checkEmbeddedMetadata(field: string, metadata: JsonValue): FieldError[] {
  let meta: ObjectMeta;
  try {
    meta = toTypedMetadata(metadata).metadata;
  } catch (error) {
    if (error instanceof TypedFormError) return [invalidValue(field, wholeValue(metadata), error.message)];
    throw error;
  }
  const named = { ...meta, name: meta.name || "fakename" };
  return validateObjectMeta(named, { namespaced: Boolean(meta.namespace), name: pathSegmentName }, field);
}
