// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "../json/json-value.ts";
import type { GroupVersionKind } from "../object/gvk.ts";
import { builtinOpenAPI } from "./builtin-openapi.ts";
import { findSchema } from "./find-schema.ts";
import { inlineReferences } from "./inline-references.ts";
import { openAPIPathKey } from "./path-key.ts";

/** The schema of a built-in kind with its references inlined; undefined when the kind is not built in. */
export function builtinSchema(gvk: GroupVersionKind): JsonObject | undefined {
  const document = builtinOpenAPI().document(openAPIPathKey(gvk));
  const component = document && findSchema(document, gvk);
  return document === undefined || component === undefined ? undefined : inlineReferences(document, component);
}
