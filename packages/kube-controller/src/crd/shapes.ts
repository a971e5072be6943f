// SPDX-License-Identifier: Apache-2.0
// Shapes that several of our kinds share.
import { describeFields } from "./describe-fields.ts";
import { integer, listOf, object, type Schema, text, time } from "./schema.ts";

const condition: Schema = object({
  "lastTransitionTime*": time,
  message: text,
  observedGeneration: integer,
  "reason*": text,
  "status*": text,
  "type*": text,
});

function conditionsOf(item: Schema): Schema {
  return listOf(item, { mapBy: "type" }, { description: "Conditions of the resource." });
}

/** The conditions of a kind that an author defines. Crossplane adds no texts to its fields, and neither do we. */
export const bareConditions: Schema = conditionsOf(condition);

/** The conditions of an object, one a type. */
export const conditions: Schema = conditionsOf(
  describeFields(condition, {
    lastTransitionTime: "When the status of this condition last changed.",
    message: "Details for people.",
    observedGeneration: "The metadata.generation that this condition was computed for.",
    reason: "Why the condition has its status, as one word in CamelCase.",
    status: "True, False or Unknown.",
    type: "What the condition is about; unique in the list.",
  }),
);

/** A reference by name in a kind that an author defines. */
export const bareNameRef: Schema = object({ "name*": text });

/** A reference by name. */
export const nameRef: Schema = describeFields(bareNameRef, { name: "Name of the referenced object." });
