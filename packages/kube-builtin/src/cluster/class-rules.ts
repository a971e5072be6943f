// SPDX-License-Identifier: Apache-2.0
// The rules of PriorityClasses, RuntimeClasses and Leases.
import {
  all,
  type Check,
  type KindRules,
  listAt,
  metaOf,
  named,
  notNegative,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicatePrinted,
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, validateLabels } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { atRoot, changes, goStruct, immutable, inMember } from "../checks/rule-checks.ts";
import { overheadErrors } from "../pods/containers.ts";
import { tolerationErrors } from "../pods/scheduling.ts";

const highestPriority = 1_000_000_000;
const systemValues: Readonly<Record<string, number>> = {
  "system-node-critical": 2_000_001_000,
  "system-cluster-critical": 2_000_000_000,
};
const policies = ["PreemptLowerPriority", "Never"];

function systemProblem(name: string, object: JsonObject): string | undefined {
  const value = systemValues[name];
  if (value === undefined) return `${name} is not a known system priority class`;
  if (numberAt(object, ["value"]) !== value) return `value of ${name} PriorityClass must be ${value}`;
  return object["globalDefault"] === true ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

function priorityErrors(object: JsonObject): FieldError[] {
  const [name, policy] = [metaOf(object).name ?? "", memberAt(object, ["preemptionPolicy"])];
  const isSystem = name.startsWith("system-");
  const problem = isSystem ? systemProblem(name, object) : undefined;
  const reserved = `priority class names with 'system-' prefix are reserved for system use only. error: ${problem}`;
  const highest = `maximum allowed value of a user defined priority is ${highestPriority}`;
  const isTooHigh = !isSystem && numberAt(object, ["value"]) > highestPriority;
  return [
    ...(problem === undefined ? [] : [forbiddenValue("metadata.name", reserved)]),
    ...(isTooHigh ? [forbiddenValue("value", highest)] : []),
    ...(policy === "" ? [requiredValue("preemptionPolicy")] : []),
    ...(typeof policy === "string" && policy !== "" && !policies.includes(policy)
      ? [unsupportedValue("preemptionPolicy", policy, policies)]
      : []),
  ];
}

/** The rules of PriorityClasses. */
export const priorityClassRules: KindRules = {
  validateNew: priorityErrors,
  validateChange: changes(
    (object, old) =>
      object["value"] === old["value"] ? [] : [forbiddenValue("value", "may not be changed in an update.")],
    immutable(["preemptionPolicy"]),
  ),
};

/** Tolerations of a list, each once. */
const tolerations: Check = (scheduling, path) => {
  const seen = new Set<string>();
  return listAt(scheduling, "tolerations").flatMap((one, index) => {
    const key = ["key", "operator", "value", "effect"].map((name) => stringAt(one, [name])).join("\n");
    const isTaken = seen.has(key);
    seen.add(key);
    const at = `${path}.tolerations[${index}]`;
    return [...tolerationErrors(one, at), ...(isTaken ? [duplicatePrinted(at, goStruct(inGo(one)))] : [])];
  });
};

/** A toleration as the reference prints it. */
function inGo(one: JsonObject): JsonObject {
  return {
    Key: stringAt(one, ["key"]),
    Operator: stringAt(one, ["operator"]),
    Value: stringAt(one, ["value"]),
    Effect: stringAt(one, ["effect"]),
    TolerationSeconds: memberAt(one, ["tolerationSeconds"]) ?? null,
  };
}

const scheduling: Check = all(
  (one, path) => validateLabels(objectAt(one, ["nodeSelector"]) as Record<string, string>, `${path}.nodeSelector`),
  tolerations,
);

/** The rules of RuntimeClasses. */
export const runtimeClassRules: KindRules = {
  acceptsAnyFinalizer: true,
  validate: atRoot(
    all(
      named("handler", dns1123LabelProblems),
      within("overhead", (overhead, path) => overheadErrors(objectAt(overhead, ["podFixed"]), path)),
      within("scheduling", scheduling),
    ),
  ),
  validateChange: immutable(["handler"]),
};

/** The rules of Leases. */
export const leaseRules: KindRules = {
  acceptsAnyFinalizer: true,
  droppedFields: [
    ["spec", "strategy"],
    ["spec", "preferredHolder"],
  ],
  validate: inMember(
    "spec",
    all((spec, path) => {
      const seconds = memberAt(spec, ["leaseDurationSeconds"]);
      return typeof seconds === "number" && seconds <= 0
        ? [invalidValue(`${path}.leaseDurationSeconds`, seconds, "must be greater than 0")]
        : [];
    }, notNegative("leaseTransitions")),
  ),
};
