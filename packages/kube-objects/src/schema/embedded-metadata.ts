// SPDX-License-Identifier: Apache-2.0
import { builtinData } from "../builtin/builtin-data.ts";
import { type FieldError, invalidValue } from "../field-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ObjectMeta } from "../metadata.ts";
import { pathSegmentName } from "../metadata-names.ts";
import { validateObjectMeta } from "../metadata-validation.ts";
import { inlineReferences } from "../openapi/inline-references.ts";
import { checkValue } from "./check-value.ts";
import { withoutForbiddenNulls } from "./drop-nulls.ts";
import { wholeValue } from "./whole-value.ts";

let schema: JsonObject | undefined;

function objectMetaSchema(): JsonObject {
  const component = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
  schema ??= inlineReferences({ components: { schemas: builtinData().schemas } }, component);
  return schema;
}

/**
 * Checks the metadata of an object inside another one. It needs no name, and may be in a namespace or not; the kind is
 * not known, so any name will do that can be part of a path.
 */
export function checkEmbeddedMetadata(field: string, metadata: JsonValue): FieldError[] {
  const [mistyped] = checkValue(withoutForbiddenNulls(metadata, objectMetaSchema()), objectMetaSchema());
  if (mistyped) {
    const place = mistyped.path === "" ? "" : `${mistyped.path}: `;
    return [invalidValue(field, wholeValue(metadata), `${place}${mistyped.body}`)];
  }
  const meta: ObjectMeta = isJsonObject(metadata) ? metadata : {};
  const named = { ...meta, name: meta.name || "fakename" };
  return validateObjectMeta(named, { namespaced: Boolean(meta.namespace), name: pathSegmentName }, field);
}
