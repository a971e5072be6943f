// SPDX-License-Identifier: Apache-2.0
// The rules of LimitRanges.
import { type KindRules, listAt, withEmptyLists } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  keyPath,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { type JsonObject, sortedKeys } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { compareQuantities, quantityNanos } from "@purlin/kube-objects/typed";
import { containerResourceErrors, isHugePages, isNative, resourceNameErrors } from "./resource-names.ts";

const types = ["Pod", "Container", "PersistentVolumeClaim"];

function typeErrors(type: string, path: string): FieldError[] {
  const problems = labelKeyProblems(type).map((problem) => invalidValue(path, type, problem));
  if (problems.length > 0 || type.includes("/") || types.includes(type)) return problems;
  return [invalidValue(path, type, "must be a standard limit type or fully qualified")];
}

const lists = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;
const defaults = ["default", "defaultRequest"] as const;
type List = (typeof lists)[number];

/** One limit: its amounts by list and name. */
interface Limit {
  readonly path: string;
  readonly amount: (list: List, name: string) => string | undefined;
}

interface Order {
  readonly low: List;
  readonly high: List;
  /** The list that the error names, and whose amount it prints. */
  readonly at: List;
  readonly shown: List;
  readonly text: (low: string, high: string) => string;
}

const orders: readonly Order[] = [
  { low: "min", high: "max", at: "min", shown: "min", text: (a, b) => `min value ${a} is greater than max value ${b}` },
  {
    low: "min",
    high: "defaultRequest",
    at: "defaultRequest",
    shown: "defaultRequest",
    text: (a, b) => `min value ${a} is greater than default request value ${b}`,
  },
  {
    low: "defaultRequest",
    high: "max",
    at: "defaultRequest",
    shown: "defaultRequest",
    text: (a, b) => `default request value ${a} is greater than max value ${b}`,
  },
  {
    low: "defaultRequest",
    high: "default",
    at: "defaultRequest",
    shown: "defaultRequest",
    text: (a, b) => `default request value ${a} is greater than default limit value ${b}`,
  },
  {
    low: "min",
    high: "default",
    at: "default",
    shown: "min",
    text: (a, b) => `min value ${a} is greater than default value ${b}`,
  },
  {
    low: "default",
    high: "max",
    at: "default",
    shown: "max",
    text: (a, b) => `default value ${a} is greater than max value ${b}`,
  },
];

function orderErrors({ path, amount }: Limit, name: string): FieldError[] {
  return orders.flatMap(({ low, high, at, shown, text }) => {
    const [least, most] = [amount(low, name), amount(high, name)];
    if (least === undefined || most === undefined || compareQuantities(least, most) <= 0) return [];
    return [invalidValue(keyPath(`${path}.${at}`, name), amount(shown, name) ?? "", text(least, most))];
  });
}

function ratioErrors({ path, amount }: Limit, name: string): FieldError[] {
  const [ratio, least, most] = [amount("maxLimitRequestRatio", name), amount("min", name), amount("max", name)];
  if (ratio === undefined) return [];
  const at = keyPath(`${path}.maxLimitRequestRatio`, name);
  const small = compareQuantities(ratio, "1") < 0 ? [invalidValue(at, ratio, `ratio ${ratio} is less than 1`)] : [];
  if (least === undefined || most === undefined) return small;
  const bound = Number(quantityNanos(most)) / Number(quantityNanos(least));
  const isOver = Number(quantityNanos(ratio)) / 1e9 > bound;
  const text = Number.isFinite(bound) ? bound.toFixed(6) : bound > 0 ? "+Inf" : Number.isNaN(bound) ? "NaN" : "-Inf";
  return isOver ? [...small, invalidValue(at, ratio, `ratio ${ratio} is greater than max/min = ${text}`)] : small;
}

/** Defaults of a resource that cannot be overcommitted must be equal. */
function equalErrors({ path, amount }: Limit, name: string): FieldError[] {
  const [limit, request] = [amount("default", name), amount("defaultRequest", name)];
  const isFree = isNative(name) && !isHugePages(name);
  if (isFree || limit === undefined || request === undefined || compareQuantities(limit, request) === 0) return [];
  const text = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`;
  return [invalidValue(keyPath(`${path}.defaultRequest`, name), request, text)];
}

function limitErrors(limit: JsonObject, path: string): FieldError[] {
  const type = stringAt(limit, ["type"]);
  const isForPods = type === "Pod";
  const read = lists.filter((list) => !isForPods || !(defaults as readonly string[]).includes(list));
  const nameErrors = isForPods || type === "Container" ? containerResourceErrors : resourceNameErrors;
  const amount: Limit["amount"] = (list, name) => {
    const value = read.includes(list) ? objectAt(limit, [list])[name] : undefined;
    return value === undefined ? undefined : String(value);
  };
  const names = new Set(read.flatMap((list) => sortedKeys(objectAt(limit, [list]))));
  const forbidden = isForPods ? defaults.filter((list) => sortedKeys(objectAt(limit, [list])).length > 0) : [];
  const needsStorage = type === "PersistentVolumeClaim" && !amount("min", "storage") && !amount("max", "storage");
  const missing = "either minimum or maximum storage value is required, but neither was provided";
  return [
    ...read.flatMap((list) =>
      sortedKeys(objectAt(limit, [list])).flatMap((name) => nameErrors(name, keyPath(`${path}.${list}`, name))),
    ),
    ...forbidden.map((list) => forbiddenValue(`${path}.${list}`, "may not be specified when `type` is 'Pod'")),
    ...(needsStorage ? [requiredValue(`${path}.limits`, missing)] : []),
    ...[...names].flatMap((name) =>
      [orderErrors, ratioErrors, equalErrors].flatMap((check) => check({ path, amount }, name)),
    ),
  ];
}

/** The rules of LimitRanges. */
export const limitRangeRules: KindRules = withEmptyLists(["spec.limits"], {
  validate: (object) => {
    const seen = new Set<string>();
    return listAt(object, "spec", "limits").flatMap((limit, index) => {
      const [path, type] = [`spec.limits[${index}]`, stringAt(limit, ["type"])];
      const isTaken = seen.has(type);
      seen.add(type);
      return [
        ...typeErrors(type, `${path}.type`),
        ...(isTaken ? [duplicateValue(`${path}.type`, type)] : []),
        ...limitErrors(limit, path),
      ];
    });
  },
});
