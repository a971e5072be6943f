// SPDX-License-Identifier: Apache-2.0
// Shapes that several of our kinds share.
import { integer, listOf, object, type Schema, text, time } from "./schema.ts";

/** The conditions of an object, one a type. */
export const conditions: Schema = listOf(
  object({
    "lastTransitionTime*": time,
    message: text,
    observedGeneration: integer,
    "reason*": text,
    "status*": text,
    "type*": text,
  }),
  { mapBy: "type" },
  { description: "Conditions of the resource." },
);

/** A reference by name. */
export const nameRef: Schema = object({ "name*": text });
