// SPDX-License-Identifier: Apache-2.0
// Selectors, parameters, tolerations and conditions of devices, which claims, classes and slices have in common.
import { deviceSelectorProblem } from "@purlin/cel";
import { type Check, eachItem } from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  forbiddenValue,
  internalFieldError,
  invalidValue,
  requiredValue,
  tooLong,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goJson, isJsonObject, type JsonObject, type JsonValue, utf8Length } from "@purlin/kube-objects/json";
import { labelKeyProblems, labelValueProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { driverName, hasObject } from "../checks/rule-checks.ts";
import { limited, maxItems, repeated } from "./device-names.ts";

/** The errors of a value that has to be a JSON object. */
export function rawObjectErrors(value: JsonValue | undefined, path: string): FieldError[] {
  const most = 10 * 1024;
  if (value === undefined || value === null) return [requiredValue(path)];
  if (utf8Length(goJson(value)) > most) return [tooLong(path, most)];
  return isJsonObject(value) ? [] : [invalidValue(path, "<value omitted>", "must be a valid JSON object")];
}

const opaque: Check = (config, path) => [
  ...driverName("driver")(config, path),
  ...rawObjectErrors(memberAt(config, ["parameters"]), `${path}.parameters`),
];

/** Parameters for a driver. */
export const configuration: Check = (config, path) =>
  hasObject(config, "opaque")
    ? opaque(objectAt(config, ["opaque"]), `${path}.opaque`)
    : [requiredValue(`${path}.opaque`)];

const maxExpression = 10 * 1024;

function expressionErrors(text: string, path: string): FieldError[] {
  if (utf8Length(text) > maxExpression) return [tooLong(path, maxExpression)];
  const problem = deviceSelectorProblem(text);
  if (problem === undefined) return [];
  if (problem.kind === "forbidden") return [forbiddenValue(path, problem.detail)];
  return [
    problem.kind === "internal" ? internalFieldError(path, problem.detail) : invalidValue(path, text, problem.detail),
  ];
}

const selector: Check = (one, path) =>
  hasObject(one, "cel")
    ? expressionErrors(stringAt(one, ["cel", "expression"]), `${path}.cel.expression`)
    : [requiredValue(`${path}.cel`)];

/** Expressions that select devices. */
export const selectors: Check = limited("selectors", maxItems, eachItem("selectors", selector));

const tolerationOperators = ["Equal", "Exists"];
/** What happens to Pods that do not tolerate a taint of a device. */
export const taintEffects: readonly string[] = ["NoExecute", "NoSchedule", "None"];

/** A taint of a device that a request tolerates. */
export const toleration: Check = (one, path) => {
  const [key, operator, value, effect] = ["key", "operator", "value", "effect"].map((name) =>
    stringAt(one, [name]),
  ) as [string, string, string, string];
  return [
    ...(key === "" ? [] : labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem))),
    ...operatorErrors(operator, value, path),
    ...(effect === "" || taintEffects.includes(effect)
      ? []
      : [unsupportedValue(`${path}.effect`, effect, taintEffects)]),
  ];
};

function operatorErrors(operator: string, value: string, path: string): FieldError[] {
  switch (operator) {
    case "Exists":
      return value === "" ? [] : [invalidValue(`${path}.value`, value, "must be empty for operator `Exists`")];
    case "Equal":
      return labelValueProblems(value).map((problem) => invalidValue(`${path}.value`, value, problem));
    case "":
      return [requiredValue(`${path}.operator`)];
    default:
      return [unsupportedValue(`${path}.operator`, operator, tolerationOperators)];
  }
}

const maxConditions = 4;

function conditionTypes(object: JsonObject, name: string, path: string): FieldError[] {
  const [types, at] = [textsAt(object, [name]), `${path}.${name}`];
  if (types.length > maxConditions) return [tooMany(at, types.length, maxConditions)];
  return types.flatMap((type, index) =>
    labelKeyProblems(type).map((problem) => invalidValue(`${at}[${index}]`, type, problem)),
  );
}

/** The conditions that a device waits for, and those that end the waiting. Both are needed, and they differ. */
export const bindingConditions: Check = (object, path) => {
  const [awaited, failed] = [textsAt(object, ["bindingConditions"]), textsAt(object, ["bindingFailureConditions"])];
  const at = `${path}.bindingFailureConditions`;
  const overlap = "bindingFailureConditions must not overlap with bindingConditions";
  return [
    ...conditionTypes(object, "bindingConditions", path),
    ...conditionTypes(object, "bindingFailureConditions", path),
    ...repeated(awaited, `${path}.bindingConditions`),
    ...repeated(failed, at),
    ...failed.flatMap((type, index) =>
      awaited.includes(type) ? [invalidValue(`${at}[${index}]`, type, overlap)] : [],
    ),
    ...(awaited.length === 0 && failed.length > 0
      ? [
          invalidValue(
            `${path}.bindingConditions`,
            null,
            "bindingConditions are required to use bindingFailureConditions",
          ),
        ]
      : []),
    ...(failed.length === 0 && awaited.length > 0
      ? [invalidValue(at, null, "bindingFailureConditions are required to use bindingConditions")]
      : []),
  ];
};
