// SPDX-License-Identifier: Apache-2.0
// What a Job does when one of its Pods fails, by exit code and by condition, and when it has succeeded.
import { type Check, eachItem, listAt, notNegative } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  invalidPrinted,
  invalidValue,
  requiredValue,
  tooLong,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import {
  goJson,
  goQuote,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  utf8Length,
} from "@purlin/kube-objects/json";
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
  const each = firstErrors(codes, (code, index) => {
    const at = `${path}[${index}]`;
    const isTaken = seen.has(code);
    seen.add(code);
    return [
      ...(code === 0 && operator === "In" ? [invalidValue(at, code, "must not be 0 for the In operator")] : []),
      ...(isTaken ? [duplicateValue(at, code)] : []),
    ];
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
    ...(policy === "OnFailure" ? [invalidValue(`${path}.template.spec.restartPolicy`, policy, why)] : []),
    ...(rules.length > maxRules ? [tooMany(at, rules.length, maxRules)] : []),
    ...firstErrors(rules, (rule, index) => ruleErrors(rule, `${at}[${index}]`, { spec, containers })),
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

const maxIndexBytes = 64 * 1024;

/** What is wrong with the policy by which an indexed Job has succeeded. */
export function successPolicyErrors(spec: JsonObject, path: string): FieldError[] {
  const policy = memberAt(spec, ["successPolicy"]);
  if (!isJsonObject(policy)) return [];
  const [rules, at] = [listAt(policy, "rules"), `${path}.successPolicy`];
  if (spec["completionMode"] !== "Indexed") {
    return [invalidPrinted(at, printedPolicy(rules), "requires indexed completion mode")];
  }
  const none = "at least one rules must be specified when the successPolicy is specified";
  const completions = Number(memberAt(spec, ["completions"]) ?? 0);
  return [
    ...(rules.length === 0 ? [requiredValue(`${at}.rules`, none)] : []),
    ...(rules.length > maxRules ? [tooMany(`${at}.rules`, rules.length, maxRules)] : []),
    ...firstErrors(rules, (rule, index) => successRule(rule, `${at}.rules[${index}]`, completions)),
  ];
}

/** The policy as the reference prints its Go type. */
function printedPolicy(rules: readonly JsonObject[]): string {
  const shown = rules.map(
    (rule) =>
      `{"SucceededIndexes":${goJson(rule["succeededIndexes"] ?? null)},"SucceededCount":${goJson(rule["succeededCount"] ?? null)}}`,
  );
  return `{"Rules":${rules.length === 0 ? "null" : `[${shown.join(",")}]`}}`;
}

function successRule(rule: JsonObject, path: string, completions: number): FieldError[] {
  const [count, indexes] = [memberAt(rule, ["succeededCount"]), memberAt(rule, ["succeededIndexes"])];
  const none = "at least one of succeededCount or succeededIndexes must be specified";
  const found = typeof indexes === "string" ? countedIndexes(indexes, completions) : { total: 0 };
  const at = `${path}.succeededIndexes`;
  const isLong = typeof indexes === "string" && utf8Length(indexes) > maxIndexBytes;
  return [
    ...(typeof count !== "number" && typeof indexes !== "string" ? [requiredValue(path, none)] : []),
    ...(isLong ? [tooLong(at, maxIndexBytes)] : []),
    ...("problem" in found
      ? [invalidValue(at, String(indexes), `error parsing succeededIndexes: ${found.problem}`)]
      : []),
    ...notNegative("succeededCount")(rule, path),
    ...(typeof count === "number"
      ? countErrors(count, `${path}.succeededCount`, {
          completions,
          total: typeof indexes === "string" ? ("total" in found ? found.total : 0) : undefined,
        })
      : []),
  ];
}

interface Counts {
  readonly completions: number;
  /** The number of indexes that are named; undefined when none are. */
  readonly total: number | undefined;
}

function countErrors(count: number, path: string, { completions, total }: Counts): FieldError[] {
  const above = (limit: number, what: string): FieldError[] =>
    count > limit ? [invalidValue(path, count, `must be less than or equal to ${limit} (the number of ${what})`)] : [];
  return [
    ...above(completions, "specified completions"),
    ...(total === undefined ? [] : above(total, "indexes in the specified succeededIndexes field")),
  ];
}

/** The indexes of one part of a text such as `0,2-4`, or why it is not such a part. */
export function indexInterval(
  text: string,
  completions: number,
): { readonly first: number; readonly last: number } | { readonly problem: string } {
  const parts = text.split("-");
  if (parts.length > 2) {
    const why = "violates the requirement that an index interval can have at most two parts separated by '-'";
    return { problem: `the fragment ${goQuote(text)} ${why}` };
  }
  for (const part of parts) {
    if (!/^[+-]?\d+$/.test(part)) return { problem: `cannot convert string to integer for index: ${goQuote(part)}` };
    if (Number(part) >= completions) return { problem: `too large index: ${goQuote(part)}` };
  }
  const [first = 0, last = first] = parts.map(Number);
  return parts.length === 2 && first >= last ? { problem: order(first, last) } : { first, last };
}

/** The number of indexes in a text such as `0,2-4`, or why it is not such a text. */
export function countedIndexes(
  text: string,
  completions: number,
): { readonly total: number } | { readonly problem: string } {
  let [total, end] = [0, -1];
  if (text === "") return { total };
  for (const part of text.split(",")) {
    const interval = indexInterval(part, completions);
    if ("problem" in interval) return interval;
    if (total > 0 && end >= interval.first) return { problem: order(end, interval.first) };
    total += interval.last - interval.first + 1;
    end = interval.last;
  }
  return { total };
}

const order = (previous: number, current: number): string =>
  `non-increasing order, previous: ${previous}, current: ${current}`;
