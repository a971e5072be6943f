// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import {
  all,
  type Check,
  eachItem,
  type KindRules,
  listAt,
  metaOf,
  operationRuleErrors,
  selectorProblems,
  webhookConditionErrors,
  webhookTargetErrors,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  findingFirstErrors,
  firstErrors,
  invalidValue,
  repeatsIn,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject } from "@purlin/kube-objects/json";
import { dns1035LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { exactlyOneOf, optionallyOneOf } from "../checks/rule-checks.ts";

const sideEffectClasses = ["None", "NoneOnDryRun"];
const knownReviewVersions = ["v1", "v1beta1"];

const texts = (object: JsonObject, name: string): string[] => {
  const value = memberAt(object, [name]);
  return Array.isArray(value) ? value.map(String) : [];
};

const name: Check = (hook, path) => {
  const text = stringAt(hook, ["name"]);
  if (text === "") return [requiredValue(`${path}.name`)];
  const problems = dns1123SubdomainProblems(text);
  const found =
    problems.length === 0 && text.split(".").length < 3
      ? ["should be a domain with at least three segments separated by dots"]
      : problems;
  return found.map((problem) => invalidValue(`${path}.name`, text, problem));
};

const sideEffects: Check = (hook, path) =>
  typeof memberAt(hook, ["sideEffects"]) === "string"
    ? exactlyOneOf("sideEffects", sideEffectClasses)(hook, path)
    : [requiredValue(`${path}.sideEffects`, "must specify one of None, NoneOnDryRun")];

const timeout: Check = (hook, path) => {
  const seconds = memberAt(hook, ["timeoutSeconds"]);
  const why = "the timeout value must be between 1 and 30 seconds";
  return typeof seconds === "number" && (seconds < 1 || seconds > 30)
    ? [invalidValue(`${path}.timeoutSeconds`, seconds, why)]
    : [];
};

const clientConfig: Check = (hook, path) =>
  webhookTargetErrors(objectAt(hook, ["clientConfig"]), `${path}.clientConfig`);

const reviewVersions: Check = (hook, path) => {
  const versions = texts(hook, "admissionReviewVersions");
  const at = `${path}.admissionReviewVersions`;
  if (versions.length === 0) return [requiredValue(at, `must specify one of ${knownReviewVersions.join(", ")}`)];
  const isRepeated = repeatsIn(versions);
  const isKnown = versions.some((one) => knownReviewVersions.includes(one));
  return [
    ...firstErrors(versions, (one, index) => {
      const problems = isRepeated(index) ? ["duplicate version"] : dns1035LabelProblems(one);
      return problems.map((problem) => invalidValue(`${at}[${index}]`, one, problem));
    }),
    ...(isKnown ? [] : [invalidValue(at, versions, `must include at least one of ${knownReviewVersions.join(", ")}`)]),
  ];
};

const beforeConditions: Check = all(
  name,
  eachItem("rules", operationRuleErrors),
  optionallyOneOf("failurePolicy", ["Fail", "Ignore"]),
  optionallyOneOf("matchPolicy", ["Equivalent", "Exact"]),
  sideEffects,
  timeout,
  within("namespaceSelector", selectorProblems),
  within("objectSelector", selectorProblems),
  clientConfig,
  optionallyOneOf("reinvocationPolicy", ["IfNeeded", "Never"]),
);

function webhookErrors(configuration: JsonObject): Work<FieldError[]> {
  const names = new Set<string>();
  return findingFirstErrors(listAt(configuration, "webhooks"), function* (hook, index) {
    const [path, own] = [`webhooks[${index}]`, stringAt(hook, ["name"])];
    const isTaken = names.has(own);
    if (own !== "") names.add(own);
    return [
      ...beforeConditions(hook, path),
      ...(yield* webhookConditionErrors(hook, path)),
      ...reviewVersions(hook, path),
      ...(isTaken ? [duplicateValue(`${path}.name`, own)] : []),
    ];
  });
}

const staticSuffix = ".static.k8s.io";

/** Names that the real server keeps for configuration from files. */
export const staticNameWarnings: NonNullable<KindRules["warnings"]> = (object) => {
  const why = "are reserved for static manifest-based configurations and cannot be managed via the API";
  return (metaOf(object).name ?? "").endsWith(staticSuffix)
    ? [`metadata.name: names ending with ${goQuote(staticSuffix)} ${why}`]
    : [];
};

/** The rules of both kinds of webhook configurations. */
export const webhookRules: KindRules = { validatingRest: webhookErrors };
