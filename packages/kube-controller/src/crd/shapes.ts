// SPDX-License-Identifier: Apache-2.0
// Shapes that several of our kinds share.
import { describeFields } from "./describe-fields.ts";
import { integer, listOf, object, type Schema, text, time } from "./schema.ts";

const condition: Schema = describeFields(
  object({
    "lastTransitionTime*": time,
    message: text,
    observedGeneration: integer,
    "reason*": text,
    "status*": text,
    "type*": text,
  }),
  {
    lastTransitionTime: "When the status of this condition last changed.",
    message: "Details for people.",
    observedGeneration: "The metadata.generation that this condition was computed for.",
    reason: "Why the condition has its status, as one word in CamelCase.",
    status: "True, False or Unknown.",
    type: "What the condition is about; unique in the list.",
  },
);

/** The conditions of an object, one a type. */
export const conditions: Schema = listOf(condition, { mapBy: "type" }, { description: "Conditions of the resource." });

/** A reference by name. */
export const nameRef: Schema = describeFields(object({ "name*": text }), { name: "Name of the referenced object." });
