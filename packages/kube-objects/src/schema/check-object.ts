// SPDX-License-Identifier: Apache-2.0
import { invalidValue, requiredValue, tooMany } from "../errors/field-error.ts";
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";
import {
  type CheckContext,
  deferredAbove,
  fieldOf,
  fieldPlace,
  inBody,
  isFull,
  keyPlace,
  type Outcome,
  type Place,
  placeText,
  report,
  reportInvalid,
} from "./outcome.ts";
import type { SchemaNode } from "./schema-node.ts";

/** An object to check against the keywords for objects. */
interface ObjectCheck {
  readonly members: JsonObject;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
}

/** The context of a check and where its findings go. */
interface Run {
  readonly context: CheckContext;
  readonly outcome: Outcome;
}

/** Checks how many members an object has, that required ones are there and no forbidden ones, and each by its schema. */
export function checkObject(context: CheckContext, outcome: Outcome, check: ObjectCheck): void {
  const keys = Object.keys(check.members);
  const run = { context, outcome };
  let count = 0;
  if (context.deferred && keys.length > deferredAbove) {
    const checkAt = (i: number): void => void checkMember(run, check, keys[i] ?? "");
    context.deferred.push({ size: keys.length, depth: context.progress.depth, checkAt });
    count = keys.length;
  } else {
    for (const key of keys) {
      if (isFull(outcome)) return;
      if (checkMember(run, check, key)) count++;
    }
  }
  checkCount(outcome, check, count);
  if (!context.partial) checkRequired(outcome, check);
  outcome.matches++;
}

/** Checks a member by its schema. False when it is not there, which undefined means. */
function checkMember({ context, outcome }: Run, { members, node, place }: ObjectCheck, key: string): boolean {
  const value = members[key];
  const schema = schemaOf(node, key);
  if (value === undefined) return false;
  if (schema) {
    const inner = Object.hasOwn(node.properties, key) ? fieldPlace(place, key) : keyPlace(place, key);
    context.check(context, outcome, { value, schema, place: inner });
  } else if (node.additionalProperties === false && !Object.hasOwn(node.properties, key)) {
    const text = `${placeText(place)}.${key} in body is a forbidden property`;
    report(outcome, text, invalidValue(fieldOf(place), key, text));
  }
  return true;
}

function schemaOf({ properties, additionalProperties }: SchemaNode, key: string): JsonObject | undefined {
  const schema: JsonValue | undefined = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
  return isJsonObject(schema) ? schema : undefined;
}

function checkCount(outcome: Outcome, { node, place }: ObjectCheck, count: number): void {
  const { minProperties, maxProperties } = node.limits;
  if (minProperties !== undefined && count < minProperties) {
    reportInvalid(outcome, place, { value: count, complaint: `should have at least ${minProperties} properties` });
  }
  if (maxProperties !== undefined && count > maxProperties) {
    const text = inBody(place, `should have at most ${maxProperties} properties`);
    report(outcome, text, tooMany(fieldOf(place), count, maxProperties));
  }
}

function checkRequired(outcome: Outcome, { members, node, place }: ObjectCheck): void {
  for (const key of node.required) {
    if (ownValue(members, key) !== undefined) continue;
    const missing = keyPlace(place, key);
    report(outcome, inBody(missing, "is required"), requiredValue(fieldOf(missing)));
  }
}
