// SPDX-License-Identifier: Apache-2.0
import { type FieldError, invalidValue, requiredValue } from "../errors/field-error.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { dns1035LabelProblems, pathSegmentName } from "../metadata/names.ts";
import { validateObjectMeta } from "../metadata/validate-metadata.ts";
import { parseApiVersion } from "../object/gvk.ts";
import type { ObjectMeta } from "../object/object-meta.ts";
import { TypedFormError } from "../typed/typed-error.ts";
import { toTypedMetadata } from "../typed/typed-form.ts";
import { bracketedText, fieldPlace, type SchemaFinding } from "./finding.ts";
import { walkStructure } from "./structural-walk.ts";
import { wholeValue } from "./whole-value.ts";

/**
 * Checks objects declared as resources of their own (`x-kubernetes-embedded-resource`): they must say what they are by a
 * proper `apiVersion` and `kind`, and their `metadata`, if any, must be proper metadata.
 */
export function checkEmbeddedResources(value: unknown, schema: JsonObject): SchemaFinding[] {
  const findings: SchemaFinding[] = [];
  walkStructure(value, schema, {
    object(members, node, place) {
      if (!node.embeddedResource || findings.length >= mostFindings) return;
      const pathOf = (name: string): string => bracketedText(fieldPlace(place, name));
      const metadata = ownValue(members, "metadata");
      const errors = [
        ...checkName(pathOf("apiVersion"), ownValue(members, "apiVersion"), apiVersionProblem),
        ...checkName(pathOf("kind"), ownValue(members, "kind"), kindProblem),
        ...(metadata === undefined ? [] : checkEmbeddedMetadata(pathOf("metadata"), metadata)),
      ];
      findings.push(...errors.map((error) => ({ ...error, path: error.field })));
    },
  });
  return findings;
}

/** The first ones are enough: a list can have as many findings as items. */
const mostFindings = 100;

function checkName(
  field: string,
  value: JsonValue | undefined,
  problemOf: (text: string) => string | undefined,
): FieldError[] {
  if (value === undefined) return [requiredValue(field)];
  if (typeof value !== "string") return [invalidValue(field, wholeValue(value), "must be a string")];
  const problem = value === "" ? "must not be empty" : problemOf(value);
  return problem === undefined ? [] : [invalidValue(field, value, problem)];
}

function apiVersionProblem(text: string): string | undefined {
  try {
    parseApiVersion(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function kindProblem(text: string): string | undefined {
  const problems = dns1035LabelProblems(text.toLowerCase());
  return problems.length === 0 ? undefined : `may have mixed case, but should otherwise match: ${problems.join(",")}`;
}

/**
 * Checks the metadata of an object inside another one. It needs no name, and may be in a namespace or not; the kind is
 * not known, so any name will do that can be part of a path.
 */
function checkEmbeddedMetadata(field: string, metadata: JsonValue): FieldError[] {
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
