// SPDX-License-Identifier: Apache-2.0
// The rules of FlowSchemas and PriorityLevelConfigurations.
import {
  all,
  type Check,
  eachItem,
  type KindRules,
  listAt,
  metaOf,
  needed,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidValue,
  repeatsIn,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { hasObject } from "../checks/rule-checks.ts";

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/** A list of names in which a star stands alone. */
function names(list: string, { required, noun }: { readonly required: string; readonly noun: string }): Check {
  return (rule, path) => {
    const [given, at] = [textsAt(rule, [list]), `${path}.${list}`];
    if (given.length === 0) return [requiredValue(at, required)];
    const isMixed = given.length > 1 && given.includes("*");
    return isMixed ? [invalidValue(at, given, `if '*' is present, must not specify other ${noun}`)] : [];
  };
}

const ruleVerbs: Check = all(
  names("verbs", { required: "verbs must contain at least one value", noun: "verbs" }),
  (rule, path) => {
    const given = textsAt(rule, ["verbs"]);
    const isKnown = given.includes("*") || given.every((verb) => verbs.includes(verb));
    return isKnown ? [] : [unsupportedValue(`${path}.verbs`, given, verbs)];
  },
);

const namespaceText = "each member of this list must be '*' or a DNS-1123 label; ";

const namespaces: Check = (rule, path) => {
  const [given, at] = [textsAt(rule, ["namespaces"]), `${path}.namespaces`];
  const required = "resource rules that are not cluster scoped must supply at least one namespace";
  if (given.length === 0 && rule["clusterScope"] !== true) return [requiredValue(at, required)];
  if (given.includes("*")) {
    return given.length > 1 ? [invalidValue(at, given, "if '*' is present, must not specify other namespaces")] : [];
  }
  return firstErrors(given, (one, index) =>
    dns1123LabelProblems(one).map((problem) => invalidValue(`${at}[${index}]`, one, namespaceText + problem)),
  );
};

const resourceRule: Check = all(
  ruleVerbs,
  names("apiGroups", { required: "resource rules must supply at least one api group", noun: "api groups" }),
  names("resources", { required: "resource rules must supply at least one resource", noun: "resources" }),
  namespaces,
);

function urlProblem(url: string): string | undefined {
  if (url === "") return "must not be empty";
  if (url === "/") return undefined;
  if (!url.startsWith("/")) return "must start with slash";
  if (url.includes(" ")) return "must not contain white-space";
  if (url.includes("//")) return "must not contain double slash";
  const stars = url.split("*").length - 1;
  return stars > 1 || (stars === 1 && !url.endsWith("/*")) ? "wildcard can only do suffix matching" : undefined;
}

const urls: Check = all(
  names("nonResourceURLs", { required: "nonResourceURLs must contain at least one value", noun: "non-resource URLs" }),
  (rule, path) => {
    const given = textsAt(rule, ["nonResourceURLs"]);
    if (given.includes("*")) return [];
    return firstErrors(given, (url, index) => {
      const problem = urlProblem(url);
      return problem === undefined ? [] : [invalidValue(`${path}.nonResourceURLs[${index}]`, url, problem)];
    });
  },
);

const serviceAccount: Check = (subject, path) => {
  const [name, namespace] = [stringAt(subject, ["name"]), stringAt(subject, ["namespace"])];
  return [
    ...(name === "" ? [requiredValue(`${path}.name`)] : []),
    ...(name === "" || name === "*"
      ? []
      : dns1123SubdomainProblems(name).map((problem) => invalidValue(`${path}.name`, name, problem))),
    ...(namespace === ""
      ? [requiredValue(`${path}.namespace`, "must specify namespace for service account")]
      : dns1123LabelProblems(namespace).map((problem) => invalidValue(`${path}.namespace`, namespace, problem))),
  ];
};

const subjects: readonly (readonly [kind: string, member: string, check: Check])[] = [
  ["Group", "group", needed("name")],
  ["ServiceAccount", "serviceAccount", serviceAccount],
  ["User", "user", needed("name")],
];

const subject: Check = (one, path) => {
  const kind = stringAt(one, ["kind"]);
  const kinds = subjects.map(([known]) => known);
  if (!kinds.includes(kind)) return [unsupportedValue(`${path}.kind`, kind, kinds)];
  return subjects.flatMap(([own, member, check]) => {
    const isThere = hasObject(one, member);
    const at = `${path}.${member}`;
    if (own !== kind) {
      return isThere ? [forbiddenValue(at, `${member} is forbidden when subject kind is not '${own}'`)] : [];
    }
    return isThere
      ? check(objectAt(one, [member]), at)
      : [requiredValue(at, `${member} is required when subject kind is '${own}'`)];
  });
};

const policyRule: Check = all(
  (rule, path) =>
    listAt(rule, "subjects").length === 0
      ? [requiredValue(`${path}.subjects`, "subjects must contain at least one value")]
      : [],
  eachItem("subjects", subject),
  (rule, path) =>
    listAt(rule, "resourceRules").length + listAt(rule, "nonResourceRules").length === 0
      ? [requiredValue(path, "at least one of resourceRules and nonResourceRules has to be non-empty")]
      : [],
  eachItem("resourceRules", resourceRule),
  eachItem("nonResourceRules", all(ruleVerbs, urls)),
);

const maxPrecedence = 10_000;

function precedenceErrors(spec: JsonObject, name: string): FieldError[] {
  const [value, at] = [numberAt(spec, ["matchingPrecedence"]), "spec.matchingPrecedence"];
  const first = "only the schema named 'exempt' may have matchingPrecedence 1";
  return [
    ...(value <= 0 ? [invalidValue(at, value, "must be a positive value")] : []),
    ...(value > maxPrecedence ? [invalidValue(at, value, `must not be greater than ${maxPrecedence}`)] : []),
    ...(value === 1 && name !== "exempt" ? [invalidValue(at, value, first)] : []),
  ];
}

const methods = ["ByNamespace", "ByUser"];

function schemaErrors(object: JsonObject): FieldError[] {
  const spec = objectAt(object, ["spec"]);
  const level = stringAt(spec, ["priorityLevelConfiguration", "name"]);
  const at = "spec.priorityLevelConfiguration.name";
  const [method, type] = [hasObject(spec, "distinguisherMethod"), stringAt(spec, ["distinguisherMethod", "type"])];
  return [
    ...precedenceErrors(spec, metaOf(object).name ?? ""),
    ...(method && !methods.includes(type)
      ? [unsupportedValue("spec.distinguisherMethod.type", { Type: type }, methods)]
      : []),
    ...(level === "" ? [requiredValue(at, "must reference a priority level")] : []),
    ...(level === "" ? [] : dns1123SubdomainProblems(level).map((problem) => invalidValue(at, level, problem))),
    ...eachItem("rules", policyRule)(spec, "spec"),
  ];
}

/** Conditions have types, each once. */
const typedConditions: Check = (status, path) => {
  const types = listAt(status, "conditions").map((one) => stringAt(one, ["type"]));
  const isRepeated = repeatsIn(types);
  return firstErrors(types, (type, index) => {
    const at = `${path}.conditions[${index}].type`;
    return [...(isRepeated(index) ? [duplicateValue(at, type)] : []), ...(type === "" ? [requiredValue(at)] : [])];
  });
};

const statusErrors = (object: JsonObject): readonly FieldError[] =>
  typedConditions(objectAt(object, ["status"]), "status");

/** The rules of FlowSchemas. */
export const flowSchemaRules: KindRules = { validate: (object) => [...schemaErrors(object), ...statusErrors(object)] };

const percent: Check = (level, path) => {
  const value = memberAt(level, ["lendablePercent"]);
  return typeof value === "number" && (value < 0 || value > 100)
    ? [invalidValue(`${path}.lendablePercent`, value, "must be between 0 and 100, inclusive")]
    : [];
};

const shares: Check = (level, path) => {
  const value = numberAt(level, ["nominalConcurrencyShares"]);
  return value < 0 ? [invalidValue(`${path}.nominalConcurrencyShares`, value, "must be a non-negative integer")] : [];
};

const maxQueues = 10_000_000;
const maxHashBits = 60;

/** The random bits that dealing a hand of queues needs. */
function entropyBits(queues: number, hand: number): number {
  return Math.ceil(Array.from({ length: hand }, (_, index) => Math.log2(queues - index)).reduce((a, b) => a + b, 0));
}

function handProblem(hand: number, queues: number): string | undefined {
  if (hand <= 0) return "must be positive";
  if (hand > queues) return `should not be greater than queues (${queues})`;
  const isTooMuch = hand > maxHashBits || entropyBits(queues, hand) > maxHashBits;
  return isTooMuch
    ? `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${maxHashBits}`
    : undefined;
}

const queuing: Check = (one, path) => {
  const [limit, queues, hand] = ["queueLengthLimit", "queues", "handSize"].map((name) => numberAt(one, [name])) as [
    number,
    number,
    number,
  ];
  const problem = handProblem(hand, queues);
  return [
    ...(limit <= 0 ? [invalidValue(`${path}.queueLengthLimit`, limit, "must be positive")] : []),
    ...(queues <= 0 ? [invalidValue(`${path}.queues`, queues, "must be positive")] : []),
    ...(queues > maxQueues ? [invalidValue(`${path}.queues`, queues, `must not be greater than ${maxQueues}`)] : []),
    ...(problem === undefined ? [] : [invalidValue(`${path}.handSize`, hand, problem)]),
  ];
};

const responses = ["Queue", "Reject"];

const limitResponse: Check = (response, path) => {
  const [type, isThere] = [stringAt(response, ["type"]), hasObject(response, "queuing")];
  const at = `${path}.queuing`;
  if (type === "") return [requiredValue(`${path}.type`)];
  if (!responses.includes(type)) return [unsupportedValue(`${path}.type`, type, responses)];
  if (type === "Reject") {
    return isThere ? [forbiddenValue(at, "must be nil if limited.limitResponse.type is not Limited")] : [];
  }
  return isThere
    ? queuing(objectAt(response, ["queuing"]), at)
    : [requiredValue(at, "must not be empty if limited.limitResponse.type is Limited")];
};

const limited: Check = all(
  shares,
  (level, path) => limitResponse(objectAt(level, ["limitResponse"]), `${path}.limitResponse`),
  percent,
  (level, path) => {
    const value = numberAt(level, ["borrowingLimitPercent"]);
    const why = "if specified, must be a non-negative integer";
    return value < 0 ? [invalidValue(`${path}.borrowingLimitPercent`, value, why)] : [];
  },
);

const levelTypes = ["Exempt", "Limited"];

function levelErrors(object: JsonObject): readonly FieldError[] {
  const spec = objectAt(object, ["spec"]);
  const type = stringAt(spec, ["type"]);
  const isExempt = metaOf(object).name === "exempt";
  const why = "must be 'Exempt' if and only if `name` is 'exempt'";
  const misnamed = isExempt === (type === "Exempt") ? [] : [invalidValue("spec.type", type, why)];
  if (type === "") return [...misnamed, requiredValue("spec.type")];
  if (!levelTypes.includes(type)) return [...misnamed, unsupportedValue("spec.type", type, levelTypes)];
  const [own, other] = type === "Exempt" ? ["exempt", "limited"] : ["limited", "exempt"];
  const unwanted = type === "Exempt" ? "must be nil if the type is not Limited" : "must be nil if the type is Limited";
  const isMissing = type === "Limited" && !hasObject(spec, "limited");
  return [
    ...misnamed,
    ...(hasObject(spec, other) ? [forbiddenValue(`spec.${other}`, unwanted)] : []),
    ...(isMissing ? [requiredValue("spec.limited", "must not be empty when type is Limited")] : []),
    ...within(own, type === "Exempt" ? all(shares, percent) : limited)(spec, "spec"),
  ];
}

/** The rules of PriorityLevelConfigurations. */
export const priorityLevelRules: KindRules = {
  validate: (object) => [...levelErrors(object), ...statusErrors(object)],
};
