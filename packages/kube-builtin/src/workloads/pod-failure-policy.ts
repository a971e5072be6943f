// SPDX-License-Identifier: Apache-2.0
// What a Job does when one of its Pods fails, by exit code and by condition.
import { type Check, eachItem, listAt } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  invalidPrinted,
  invalidValue,
  requiredValue,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

const maxRules = 20;
const maxConditions = 20;
const maxCodes = 255;

const quoted = (values: readonly string[]): string => `valid values: [${values.map((one) => `"${one}"`).join(" ")}]`;

/** A text that is required and one of a few. */
function chosen(name: string, supported: readonly string[]): Check {
  return (object, path) => {
    const text = stringAt(object, [name]);
    if (text === "") return [requiredValue(`${path}.${name}`, quoted(supported))];
    return supported.includes(text) ? [] : [unsupportedValue(`${path}.${name}`, text, supported)];
  };
}

const condition: Check = (one, path) => {
  const type = stringAt(one, ["type"]);
  return [
    ...labelKeyProblems(type).map((problem) => invalidValue(`${path}.type`, type, problem)),
    ...chosen("status", ["False", "True", "Unknown"])(one, path),
  ];
};

/** Exit codes are unique and in order; zero is not a failure. */
function codeErrors(codes: readonly JsonValue[], operator: string, path: string): FieldError[] {
  if (codes.length === 0) return [invalidValue(path, [], "at least one value is required")];
  if (codes.length > maxCodes) return [tooMany(path, codes.length, maxCodes)];
  const seen = new Set<JsonValue>();
  const each = codes.flatMap((code, index) => {
    const at = `${path}[${index}]`;
    if (seen.has(code)) return [duplicateValue(at, code)];
    seen.add(code);
    return code === 0 && operator === "In" ? [invalidValue(at, code, "must not be 0 for the In operator")] : [];
  });
  const isOrdered = codes.every((code, index) => index === 0 || Number(codes[index - 1]) <= Number(code));
  return [...each, ...(isOrdered ? [] : [invalidValue(path, [...codes], "must be ordered")])];
}

function exitCodeErrors(codes: JsonObject, path: string, containers: ReadonlySet<string>): FieldError[] {
  const container = memberAt(codes, ["containerName"]);
  const values = memberAt(codes, ["values"]);
  const unknown = "must be one of the container or initContainer names in the pod template";
  return [
    ...chosen("operator", ["In", "NotIn"])(codes, path),
    ...(typeof container === "string" && !containers.has(container)
      ? [invalidValue(`${path}.containerName`, container, unknown)]
      : []),
    ...codeErrors(isJsonArray(values) ? values : [], stringAt(codes, ["operator"]), `${path}.values`),
  ];
}

const actions = ["Count", "FailIndex", "FailJob", "Ignore"];

/** What is wrong with the failure policy of a Job. */
export function failurePolicyErrors(spec: JsonObject, path: string): FieldError[] {
  const at = `${path}.podFailurePolicy.rules`;
  const rules = listAt(spec, "podFailurePolicy", "rules");
  const template = objectAt(spec, ["template", "spec"]);
  const containers = new Set(
    ["containers", "initContainers"].flatMap((list) => listAt(template, list).map((one) => stringAt(one, ["name"]))),
  );
  const policy = stringAt(template, ["restartPolicy"]);
  const why = 'only "Never" is supported when podFailurePolicy is specified';
  return [
    ...(policy === "Never" ? [] : [invalidValue(`${path}.template.spec.restartPolicy`, policy, why)]),
    ...(rules.length > maxRules ? [tooMany(at, rules.length, maxRules)] : []),
    ...rules.flatMap((rule, index) => ruleErrors(rule, `${at}[${index}]`, { spec, containers })),
  ];
}

interface RuleContext {
  readonly spec: JsonObject;
  readonly containers: ReadonlySet<string>;
}

function ruleErrors(rule: JsonObject, path: string, { spec, containers }: RuleContext): FieldError[] {
  const codes = memberAt(rule, ["onExitCodes"]);
  const conditions = listAt(rule, "onPodConditions");
  const isByIndex = stringAt(rule, ["action"]) === "FailIndex";
  const hasLimit = typeof memberAt(spec, ["backoffLimitPerIndex"]) === "number";
  const [hasCodes, hasConditions] = [isJsonObject(codes), conditions.length > 0];
  return [
    ...chosen("action", actions)(rule, path),
    ...(isByIndex && !hasLimit
      ? [invalidValue(`${path}.action`, "FailIndex", "requires the backoffLimitPerIndex to be set")]
      : []),
    ...(isJsonObject(codes) ? exitCodeErrors(codes, `${path}.onExitCodes`, containers) : []),
    ...(conditions.length > maxConditions
      ? [tooMany(`${path}.onPodConditions`, conditions.length, maxConditions)]
      : eachItem("onPodConditions", condition)(rule, path)),
    ...(hasCodes && hasConditions
      ? [invalidPrinted(path, "", "specifying both OnExitCodes and OnPodConditions is not supported")]
      : []),
    ...(hasCodes || hasConditions
      ? []
      : [invalidPrinted(path, "", "specifying one of OnExitCodes and OnPodConditions is required")]),
  ];
}
