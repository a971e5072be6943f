// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { memberAt, objectAt } from "@purlin/kube-objects/object";
import { rulesOfRole } from "../auth/rbac/policy-rule.ts";
import { missingRights } from "../auth/rbac/rule-coverage.ts";
import { metaOf } from "../objects/object-meta.ts";
import { ruleObject } from "./bootstrap-roles.ts";

const autoupdate = "rbac.authorization.kubernetes.io/autoupdate";

/**
 * A role as it must be after a start: with all rights, labels and annotations of the bootstrap role. What was added to it stays.
 * Returns the same object when nothing is missing, or when its annotation turns updates off.
 */
export function reconciledRole(existing: JsonObject, wanted: JsonObject): JsonObject {
  if (isProtected(existing)) return existing;
  const missing = missingRights(rulesOfRole(existing), rulesOfRole(wanted)).map(ruleObject);
  const rules = missing.length === 0 ? {} : { rules: [...listAt(existing, "rules"), ...missing] };
  return withMetadata({ ...existing, ...rules, ...missingSelectors(existing, wanted) }, existing, wanted);
}

function missingSelectors(existing: JsonObject, wanted: JsonObject): JsonObject {
  const path = ["aggregationRule", "clusterRoleSelectors"] as const;
  const held = listAt(existing, ...path);
  const missing = listAt(wanted, ...path).filter((selector) => !held.some((one) => jsonEqual(one, selector)));
  return missing.length === 0 ? {} : { aggregationRule: { clusterRoleSelectors: [...held, ...missing] } };
}

/**
 * A binding as it must be after a start: with all subjects of the bootstrap binding; undefined when it refers to another role and
 * has to be created again.
 */
export function reconciledBinding(existing: JsonObject, wanted: JsonObject): JsonObject | undefined {
  if (isProtected(existing)) return existing;
  if (!jsonEqual(objectAt(existing, ["roleRef"]), objectAt(wanted, ["roleRef"]))) return undefined;
  const held = listAt(existing, "subjects");
  const missing = listAt(wanted, "subjects").filter((subject) => !held.some((one) => jsonEqual(one, subject)));
  const subjects = missing.length === 0 ? {} : { subjects: [...held, ...missing] };
  return withMetadata({ ...existing, ...subjects }, existing, wanted);
}

function isProtected(object: JsonObject): boolean {
  return metaOf(object).annotations?.[autoupdate] === "false";
}

function withMetadata(changed: JsonObject, existing: JsonObject, wanted: JsonObject): JsonObject {
  const [meta, expected] = [objectAt(existing, ["metadata"]), objectAt(wanted, ["metadata"])];
  const metadata = {
    ...meta,
    labels: { ...objectAt(expected, ["labels"]), ...objectAt(meta, ["labels"]) },
    annotations: { ...objectAt(expected, ["annotations"]), ...objectAt(meta, ["annotations"]) },
  };
  const result = { ...changed, metadata };
  return jsonEqual(result, existing) ? existing : result;
}

function listAt(object: JsonObject, ...path: readonly string[]): readonly JsonObject[] {
  const value: JsonValue | undefined = memberAt(object, [...path]);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
