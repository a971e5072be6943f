// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import type { ApplyType } from "./apply-type.ts";
import { type FieldSet, type FieldSetChildren, fieldSetNode, hasChildren, isEmptySet } from "./field-set.ts";
import { decodeFieldsV1 } from "./fields-v1.ts";
import { managedFieldsOf } from "./managers.ts";
import { extractFields } from "./typed-remove.ts";

/** Whose fields to extract. */
interface ExtractOptions {
  readonly manager: string;
  readonly subresource?: string;
}

/**
 * What a manager applied to an object: the fields it owns by Apply, with the values they have now. Undefined when it
 * owns none. The result is a configuration to change and apply again.
 */
export function extractApplied(type: ApplyType, object: JsonObject, options: ExtractOptions): JsonObject | undefined {
  const { manager, subresource = "" } = options;
  const entry = managedFieldsOf(object)?.find(
    (one) => one.operation === "Apply" && one.manager === manager && (one.subresource ?? "") === subresource,
  );
  if (!entry) return undefined;
  const extracted = extractFields(type, object, leavesOf(decodeFieldsV1(entry.fieldsV1 ?? {})));
  const { apiVersion, kind } = object;
  return {
    ...(isJsonObject(extracted) ? extracted : {}),
    ...(apiVersion ? { apiVersion } : {}),
    ...(kind ? { kind } : {}),
  };
}

/** Only the paths with nothing below them. */
export function leavesOf(set: FieldSet): FieldSet {
  const children = (of: FieldSetChildren): FieldSetChildren => {
    if (!of) return undefined;
    const kept = [...of].map(([name, child]) => [name, leavesOf(child)] as const);
    return new Map(kept.filter(([, child]) => !isEmptySet(child)));
  };
  return hasChildren(set) ? fieldSetNode(false, children(set.fields), children(set.items)) : set;
}
