// SPDX-License-Identifier: Apache-2.0
// Label selectors as they stand in objects: `matchLabels` and `matchExpressions`.
import { isPartDone, type Work } from "@purlin/base";
import {
  childPath,
  type FieldError,
  type FieldPath,
  forbiddenValue,
  indexPath,
  invalidValue,
  requiredValue,
} from "../errors/field-error.ts";
import { badRequest } from "../errors/status-error-constructors.ts";
import { goQuote } from "../json/go-text.ts";
import { ownValue, sortedKeys } from "../json/json-value.ts";
import { labelKeyProblems, labelValueProblems } from "../metadata/names.ts";
import { validateLabels } from "../metadata/validate-metadata.ts";
import { createRequirement, type LabelOperator, type LabelRequirement } from "./label-requirement.ts";
import { type LabelSelector, matchesLabels, selectNothing, sortRequirements } from "./label-selector.ts";

/** One entry of `matchExpressions`. */
interface LabelSelectorExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | null;
}

/** A LabelSelector as JSON. */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>> | null;
  readonly matchExpressions?: readonly LabelSelectorExpression[] | null;
}

const operators: Readonly<Record<string, LabelOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
};

/**
 * The selector an object means. No selector at all selects nothing, an empty one everything. Throws BadRequest when an
 * expression makes no sense.
 */
export function labelSelectorOf(object: LabelSelectorObject | null | undefined): LabelSelector {
  if (object === null || object === undefined) return selectNothing;
  const matchLabels = object.matchLabels ?? {};
  return sortRequirements([
    ...sortedKeys(matchLabels).map((key) => createRequirement(key, "=", [matchLabels[key] ?? ""])),
    ...(object.matchExpressions ?? []).map(({ key, operator, values }) =>
      createRequirement(key, knownOperator(operator), values ?? []),
    ),
  ]);
}

/** {@link labelSelectorOf} in parts, for a selector that is known to be valid. Its requirements stay in the order of the object. */
export function* readingLabelSelector({ matchLabels, matchExpressions }: LabelSelectorObject): Work<LabelSelector> {
  const requirements: LabelRequirement[] = [];
  for (const key of Object.keys(matchLabels ?? {})) {
    if (isPartDone()) yield;
    requirements.push({ key, operator: "=", values: [matchLabels?.[key] ?? ""] });
  }
  for (const { key, operator, values } of matchExpressions ?? []) {
    if (isPartDone()) yield;
    requirements.push({ key, operator: knownOperator(operator), values: values ?? [] });
  }
  return requirements;
}

/** Whether labels meet a valid selector. Its first label that they lack ends the search: a selector may be as long as a request. */
export function meetsLabelSelector(object: LabelSelectorObject, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels, matchExpressions } = object;
  for (const key of Object.keys(matchLabels ?? {})) {
    if (ownValue(labels, key) !== (matchLabels?.[key] ?? "")) return false;
  }
  return matchesLabels(labelSelectorOf({ matchExpressions: matchExpressions ?? [] }), labels);
}

function knownOperator(operator: string): LabelOperator {
  const known = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
  if (known === undefined) throw badRequest(`${goQuote(operator)} is not a valid label selector operator`);
  return known;
}

/** What is wrong with a selector in an object, as field errors. */
export function validateLabelSelector(object: LabelSelectorObject | null | undefined, path: FieldPath): FieldError[] {
  if (object === null || object === undefined) return [];
  return [
    ...validateLabels(object.matchLabels ?? {}, childPath(path, "matchLabels")),
    ...(object.matchExpressions ?? []).flatMap((expression, index) =>
      expressionErrors(expression, indexPath(childPath(path, "matchExpressions"), index)),
    ),
  ];
}

function expressionErrors({ key, operator, values }: LabelSelectorExpression, path: FieldPath): FieldError[] {
  const list = values ?? [];
  return [
    ...operatorErrors(operator, list.length, path),
    ...labelKeyProblems(key).map((text) => invalidValue(childPath(path, "key"), key, text)),
    ...list.flatMap((value, index) =>
      labelValueProblems(value).map((text) => invalidValue(indexPath(childPath(path, "values"), index), value, text)),
    ),
  ];
}

function operatorErrors(operator: string, count: number, path: FieldPath): FieldError[] {
  const values = childPath(path, "values");
  switch (operator) {
    case "In":
    case "NotIn":
      return count > 0 ? [] : [requiredValue(values, "must be specified when `operator` is 'In' or 'NotIn'")];
    case "Exists":
    case "DoesNotExist":
      return count === 0
        ? []
        : [forbiddenValue(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return [invalidValue(childPath(path, "operator"), operator, "not a valid selector operator")];
  }
}
