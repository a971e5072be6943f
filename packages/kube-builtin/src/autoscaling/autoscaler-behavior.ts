// SPDX-License-Identifier: Apache-2.0
// The behavior of a HorizontalPodAutoscaler in an annotation of autoscaling/v1, where all members begin with a capital letter.
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printJson,
} from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";

const directions = ["scaleUp", "scaleDown"] as const;
const ruleMembers = ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"] as const;
const policyMembers = ["type", "value", "periodSeconds"] as const;

const capital = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1);

/** The text of a behavior; members that are not set are null. */
export function behaviorText(behavior: JsonObject): string {
  return printJson(written(behavior, directions, (rules) => written(rules, ruleMembers, policies)));
}

const policies = (value: JsonObject): JsonValue => written(value, policyMembers, (one) => one);

function written(object: JsonObject, members: readonly string[], write: (value: JsonObject) => JsonValue): JsonObject {
  const value = (member: JsonValue | undefined): JsonValue => {
    if (isJsonArray(member)) return member.map((one) => (isJsonObject(one) ? write(one) : one));
    return isJsonObject(member) ? write(member) : (member ?? null);
  };
  return Object.fromEntries(members.map((name) => [capital(name), value(memberAt(object, [name]))]));
}

/** The behavior in an annotation; undefined when the annotation does not hold one. */
export function behaviorFromText(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    const value = parseJson(text);
    const read = isJsonObject(value) ? readMembers(value) : {};
    return Object.keys(read).length === 0 ? undefined : read;
  } catch {
    return undefined;
  }
}

function readMembers(object: JsonObject): JsonObject {
  const members = Object.entries(object).filter(([, value]) => value !== null);
  return Object.fromEntries(
    members.map(([name, value]) => [name.slice(0, 1).toLowerCase() + name.slice(1), readValue(value)]),
  );
}

function readValue(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(readValue);
  return isJsonObject(value) ? readMembers(value) : value;
}
