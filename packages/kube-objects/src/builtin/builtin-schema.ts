// SPDX-License-Identifier: Apache-2.0
import type { GroupVersionKind } from "../gvk.ts";
import type { JsonObject } from "../json/json-value.ts";
import { findSchema } from "../openapi/find-schema.ts";
import { inlineReferences } from "../openapi/inline-references.ts";
import { openAPIPathKey } from "../openapi/path-key.ts";
import { builtinOpenAPI } from "./builtin-openapi.ts";

/** The schema of a built-in kind with its references inlined; undefined when the kind is not built in. */
export function builtinSchema(gvk: GroupVersionKind): JsonObject | undefined {
  const document = builtinOpenAPI().document(openAPIPathKey(gvk));
  const component = document && findSchema(document, gvk);
  return document === undefined || component === undefined ? undefined : inlineReferences(document, component);
}
