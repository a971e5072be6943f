// SPDX-License-Identifier: Apache-2.0
// Moving from `kubectl apply` to `kubectl apply --server-side` without conflicts: the annotation in which kubectl keeps
// its last configuration says which fields were its own all along.

import { goJson } from "../json/go-text.ts";
import { parseJson } from "../json/json-text.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  withOwnValue,
  withoutOwnValue,
} from "../json/json-value.ts";
import { annotationsBytes, maxAnnotationsBytes } from "../metadata/validate-metadata.ts";
import { lastAppliedAnnotation } from "../object/metadata.ts";
import type { TypedObject } from "./apply-versions.ts";
import { difference, type FieldSet } from "./field-set.ts";
import { compareTyped } from "./typed-compare.ts";
import { fieldSetOf } from "./typed-field-set.ts";
import { typeProblem } from "./typed-validate.ts";

/** The annotation in which kubectl keeps the configuration it applied last. */

/** The manager under which kubectl applies, and the only one whose annotation counts. */
export const kubectlManager = "kubectl";

function annotationsOf(object: JsonValue): JsonObject | undefined {
  const metadata = isJsonObject(object) ? ownValue(object, "metadata") : undefined;
  const annotations = isJsonObject(metadata) ? ownValue(metadata, "annotations") : undefined;
  return isJsonObject(annotations) ? annotations : undefined;
}

function lastApplied(object: JsonValue): string {
  const annotations = annotationsOf(object);
  const text = annotations && ownValue(annotations, lastAppliedAnnotation);
  return typeof text === "string" ? text : "";
}

/**
 * The fields of the last applied configuration that the live object still has with the same value; undefined when the
 * annotation is missing or malformed, so that nothing is allowed.
 */
export function fieldsLastApplied(live: TypedObject, apiVersion: string): FieldSet | undefined {
  const text = lastApplied(live.value);
  const config = text === "" ? undefined : parseConfig(text);
  if (!config || ownValue(config, "apiVersion") !== apiVersion) return undefined;
  const strict = { allowDuplicates: false };
  if (typeProblem(live.type, live.value, strict) !== undefined) return undefined;
  if (typeProblem(live.type, config, strict) !== undefined) return undefined;
  const { modified, added, removed } = compareTyped(live.type, config, live.value);
  return difference(difference(difference(fieldSetOf(live.type, config), modified), added), removed);
}

// Clients write the annotation; a value that does not parse is ignored.
function parseConfig(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isJsonObject(value) && typeof ownValue(value, "kind") === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The object with its annotation rewritten from the applied configuration, if it has one. */
export function syncLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  if (lastApplied(object) === "") return object;
  const text = `${goJson(withoutLastApplied(config))}\n`;
  const metadata = ownValue(object, "metadata");
  const annotations = annotationsOf(object);
  if (!isJsonObject(metadata) || !annotations) return object;
  const changed = withOwnValue(annotations, lastAppliedAnnotation, text);
  const fits = annotationsBytes(changed as Readonly<Record<string, string>>) <= maxAnnotationsBytes;
  const kept = fits ? changed : withoutOwnValue(annotations, lastAppliedAnnotation);
  return { ...object, metadata: { ...metadata, annotations: kept } };
}

function withoutLastApplied(config: JsonObject): JsonObject {
  const metadata = ownValue(config, "metadata");
  const annotations = annotationsOf(config);
  if (!isJsonObject(metadata) || !annotations) return config;
  const rest = withoutOwnValue(annotations, lastAppliedAnnotation);
  return { ...config, metadata: { ...metadata, annotations: rest } };
}
