// SPDX-License-Identifier: Apache-2.0
import {
  compareQuantities,
  type FieldError,
  invalidValue,
  type JsonObject,
  keyPath,
  labelKeyProblems,
  requiredValue,
  sortedKeys,
} from "@purlin/kube-objects";
import { objectAt } from "../read-field.ts";
import type { Check } from "./checks.ts";

const STANDARD: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"]);
const isHugePages = (name: string): boolean => name.startsWith("hugepages-");
const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");
const mayExceed = (name: string): boolean => isNative(name) && !isHugePages(name);

function nameErrors(name: string, path: string): FieldError[] {
  const found = labelKeyProblems(name).map((problem) => invalidValue(path, name, problem));
  if (found.length > 0 || name.includes("/") || STANDARD.has(name) || isHugePages(name)) return found;
  const isResource = ["pods", "services", "storage", "persistentvolumeclaims"].includes(name);
  return [
    ...(isResource ? [] : [invalidValue(path, name, "must be a standard resource type or fully qualified")]),
    invalidValue(path, name, "must be a standard resource for containers"),
  ];
}

function amountErrors(amounts: JsonObject, path: string): FieldError[] {
  return sortedKeys(amounts).flatMap((name) => {
    const [at, amount] = [keyPath(path, name), String(amounts[name])];
    return [
      ...nameErrors(name, at),
      ...(compareQuantities(amount, "0") < 0
        ? [invalidValue(at, amount, "must be greater than or equal to 0")]
        : !isNative(name) && compareQuantities(amount, wholeOf(amount)) !== 0
          ? [invalidValue(at, amount, "must be an integer")]
          : []),
    ];
  });
}

/** The amount itself where it is whole; anything else is another one. */
function wholeOf(amount: string): string {
  return /[num]$/.test(amount) ? "-1" : amount;
}

/** What is wrong with what a container asks for and may use. */
export const resources: Check = (container, path) => {
  const [limits, requests] = [objectAt(container, "resources", "limits"), objectAt(container, "resources", "requests")];
  const at = `${path}.resources`;
  return [...amountErrors(limits, `${at}.limits`), ...requestErrors(requests, limits, at)];
};

function requestErrors(requests: JsonObject, limits: JsonObject, path: string): FieldError[] {
  return sortedKeys(requests).flatMap((name) => {
    const own = amountErrors({ [name]: requests[name] ?? "0" }, `${path}.requests`);
    const [asked, limit] = [String(requests[name]), limits[name]];
    if (limit === undefined) {
      const why = "Limit must be set for non overcommitable resources";
      return mayExceed(name) ? own : [...own, requiredValue(`${path}.limits`, why)];
    }
    const order = compareQuantities(asked, String(limit));
    if (order !== 0 && !mayExceed(name)) {
      return [...own, invalidValue(`${path}.requests`, asked, `must be equal to ${name} limit of ${String(limit)}`)];
    }
    return order > 0
      ? [
          ...own,
          invalidValue(`${path}.requests`, asked, `must be less than or equal to ${name} limit of ${String(limit)}`),
        ]
      : own;
  });
}
