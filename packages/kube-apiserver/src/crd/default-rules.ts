// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import { createRuleSet, type RuleSet, validatingRules } from "@purlin/cel";
import { childPath, type FieldError, type FieldPath, invalidValue, keyPath } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { checkEmbeddedResources, checkValue, type Schema, type SchemaFinding } from "@purlin/kube-objects/schema";
import { prune } from "@purlin/kube-objects/structural";
import { type Problem, pause, pausing, type SchemaProps } from "./schema-props.ts";

/**
 * What is wrong with the defaults of a structural schema: they must be valid and hold nothing that would be pruned. Takes time in proportion
 * to the defaults: each is checked along its value, as schemas inside each other can all have one.
 */
export function* defaultProblems(schema: SchemaProps, path: FieldPath): Generator<Problem> {
  let made: { readonly rules: RuleSet | undefined } | undefined;
  const wholeRules = (): RuleSet | undefined => {
    made ??= { rules: createRuleSet(schema.json as Schema) };
    return made.rules;
  };
  yield* nodeProblems(schema, { path, isRoot: true, rules: wholeRules });
}

interface NodePlace {
  readonly path: FieldPath;
  readonly isRoot: boolean;
  /** The rules of the node. Read only where there is a default. */
  readonly rules: () => RuleSet | undefined;
}

function* nodeProblems(schema: SchemaProps, { path, isRoot, rules }: NodePlace): Generator<Problem> {
  if (isPartDone()) yield pause;
  if (schema.default !== undefined) {
    const at = childPath(path, "default");
    // A whole object is a resource like one inside another: it says what it is.
    const own = isRoot ? { ...schema.json, "x-kubernetes-embedded-resource": true } : schema.json;
    if (!isClean(own, schema.default)) yield invalidValue(at, schema.default, "must not have unknown fields");
    yield pause;
    yield* firstProblems(own, schema.default, { path: at, rules });
  }
  const items = schema.items?.schema;
  if (items !== undefined) {
    const ofItems = rulesInside(schema, items, () => rules()?.items);
    yield* nodeProblems(items, { path: childPath(path, "items"), isRoot: false, rules: ofItems });
  }
  for (const [name, property] of schema.properties) {
    const ofProperty = rulesInside(schema, property, () => rules()?.properties.get(name));
    const inside = keyPath(childPath(path, "properties"), name);
    yield* nodeProblems(property, { path: inside, isRoot: false, rules: ofProperty });
  }
}

/**
 * The rules of a schema in another one. A default is checked by itself: its rules run also where expressions do not see it, or what it is in,
 * because of a schema without a type.
 */
function rulesInside(
  parent: SchemaProps,
  child: SchemaProps,
  find: () => RuleSet | undefined,
): () => RuleSet | undefined {
  let made: { readonly rules: RuleSet | undefined } | undefined;
  return () => {
    if (parent.type !== "" && isSeen(child)) return find();
    made ??= { rules: createRuleSet(child.json as Schema, child.is("x-kubernetes-embedded-resource")) };
    return made.rules;
  };
}

/** Whether expressions see values of a schema: not when it has no type, or is a list or map of such values. */
function isSeen(schema: SchemaProps): boolean {
  if (schema.is("x-kubernetes-int-or-string")) return true;
  if (schema.type === "array") return schema.items?.schema !== undefined && isSeen(schema.items.schema);
  const values = schema.additionalProperties?.schema;
  return schema.type !== "" && (values === undefined || isSeen(values));
}

type DefaultPlace = Pick<NodePlace, "path" | "rules">;

/** What the first check that finds anything finds: resources inside, then values, then rules. */
function* firstProblems(schema: JsonObject, value: JsonValue, place: DefaultPlace): Generator<Problem> {
  const resources = checkEmbeddedResources(value, schema);
  yield pause;
  const findings = resources.length > 0 ? resources : checkValue(value, schema, { ignoresIntOrString: true });
  yield pause;
  const problems =
    findings.length > 0
      ? findings.flatMap((finding) => atDefault(finding, place.path))
      : yield* pausing(findingRuleProblems(value, place));
  yield* problems;
}

/** The reference puts a point even before the index of an item. */
function atDefault({ type, body, field }: SchemaFinding, path: FieldPath): FieldError[] {
  if (type === "UnknownField") return [];
  return [{ type, body, field: field === "<nil>" ? path : `${path}.${field}` }];
}

/** A default has to be valid as a value that stays, and as one that comes. */
function* findingRuleProblems(value: JsonValue, { path, rules: find }: DefaultPlace): Work<readonly FieldError[]> {
  const rules = find();
  if (rules === undefined) return [];
  yield;
  const staying = yield* validatingRules(rules, value, { path, oldValue: value });
  const { errors } = staying.errors.length > 0 ? staying : yield* validatingRules(rules, value, { path });
  return errors;
}

function isClean(schema: JsonObject, value: JsonValue): boolean {
  // Pruning works on whole objects; the value stands in one under a name of its own.
  const around = { type: "object", properties: { value: schema } };
  const { object } = prune({ value }, around);
  return jsonEqual(isJsonObject(object) ? (object["value"] ?? null) : null, value);
}
