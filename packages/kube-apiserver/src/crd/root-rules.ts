// SPDX-License-Identifier: Apache-2.0
import { childPath, type FieldError, type FieldPath, invalidPrinted, invalidValue } from "@purlin/kube-objects/errors";
import { type JsonObject, ownValue } from "@purlin/kube-objects/json";
import { printSchema, schemaFields } from "./schema-struct.ts";

/** What a root may say that does not get lost when the status is validated by itself. */
const allowed: readonly string[] = [
  ...["Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"],
  ...["MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"],
  ...["Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"],
];

/** What the root of a schema says that it may not, where the status is a resource of its own; the first such thing only. */
export function* rootProblems(schema: JsonObject, path: FieldPath): Generator<FieldError> {
  const enabled = "at the root of the schema if the status subresource is enabled";
  for (const { name, member, zero } of schemaFields) {
    const value = ownValue(schema, member) ?? zero;
    if (value === zero) continue;
    if (name === "Type" && value !== "object") {
      yield invalidValue(childPath(path, "type"), value, `only "object" is allowed as the type ${enabled}`);
      return;
    }
    if (!allowed.includes(name)) {
      yield invalidPrinted(path, printSchema(schema), `only [${allowed.join(" ")}] fields are allowed ${enabled}`);
      return;
    }
  }
}
