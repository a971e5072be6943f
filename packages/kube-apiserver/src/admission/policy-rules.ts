// SPDX-License-Identifier: Apache-2.0
// What is wrong with admission policies and their bindings. To compile each expression is a part.
import { inOnePart, type Work } from "@purlin/base";
import { type AdmissionExpression, type AdmissionScope, compileAdmissionExpression } from "@purlin/cel";
import {
  duplicateValue,
  type FieldError,
  findingFirstErrors,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  repeatsIn,
  requiredValue,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import {
  dns1035LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  pathSegmentName,
} from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { type Check, named, selectorProblems, within } from "../objects/checks.ts";
import { conditionErrors, matchResourcesErrors, mutatingRuleErrors } from "./match-rules.ts";
import { mutationTypes } from "./policy.ts";

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reservedWords: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

/** The errors of a ValidatingAdmissionPolicy. */
export function* validatingPolicyErrors(policy: JsonObject): Work<FieldError[]> {
  const spec = objectAt(policy, ["spec"]);
  const { scope, errors } = yield* commonErrors(spec);
  return [
    ...errors,
    ...emptyErrors(spec),
    ...(yield* expressionsErrors(spec, "validations", (one, path) => validationErrors(one, path, scope))),
    ...(yield* annotationErrors(policy, scope)),
  ];
}

const maxAnnotations = 20;
const maxValueExpression = 5 * 1024;

function* annotationErrors(policy: JsonObject, scope: AdmissionScope): Work<FieldError[]> {
  const annotations = objectsAt(policy, ["spec", "auditAnnotations"]);
  const path = "spec.auditAnnotations";
  const keys = annotations.map((one) => stringAt(one, ["key"]));
  const inGo = annotations.map((one) => ({
    Key: stringAt(one, ["key"]),
    ValueExpression: stringAt(one, ["valueExpression"]),
  }));
  const isRepeated = repeatsIn(keys);
  const tooManyErrors =
    annotations.length > maxAnnotations
      ? [invalidValue(path, inGo, `must not have more than ${maxAnnotations} auditAnnotations`)]
      : [];
  const errorsOf = (one: JsonObject, index: number): readonly FieldError[] => {
    const [at, key] = [`${path}[${index}]`, keys[index] ?? ""];
    const qualified = `${stringAt(policy, ["metadata", "name"])}/${key}`;
    const isLong = Buffer.byteLength(stringAt(one, ["valueExpression"]).trim()) > maxValueExpression;
    const checked = { path: at, member: "valueExpression", scope, types: ["string", "null"] };
    return [
      ...labelKeyProblems(qualified).map((problem) => invalidValue(`${at}.key`, qualified, problem)),
      ...(isLong
        ? [requiredValue(`${at}.valueExpression`, `must not exceed ${maxValueExpression} bytes in length`)]
        : expressionErrors(one, checked)),
      ...(isRepeated(index) ? [duplicateValue(`${at}.key`, key)] : []),
    ];
  };
  return [...tooManyErrors, ...(yield* findingFirstErrors(annotations, inOnePart(errorsOf)))];
}

/** The errors of a MutatingAdmissionPolicy. */
export function* mutatingPolicyErrors(policy: JsonObject): Work<FieldError[]> {
  const spec = objectAt(policy, ["spec"]);
  const { scope, errors } = yield* commonErrors(spec, mutatingRuleErrors);
  const mutations = objectsAt(spec, ["mutations"]);
  const policyOfReinvocation = stringAt(spec, ["reinvocationPolicy"]);
  return [
    ...errors,
    ...(mutations.length === 0 ? [requiredValue("spec.mutations", "mutations must contain at least one item")] : []),
    ...(yield* expressionsErrors(spec, "mutations", (one, path) => mutationErrors(one, path, scope))),
    ...(policyOfReinvocation === "" ? [requiredValue("spec.reinvocationPolicy")] : []),
    ...(policyOfReinvocation !== "" && !reinvocationPolicies.includes(policyOfReinvocation)
      ? [unsupportedValue("spec.reinvocationPolicy", policyOfReinvocation, reinvocationPolicies)]
      : []),
  ];
}

const reinvocationPolicies = ["IfNeeded", "Never"];
const patchTypes = ["ApplyConfiguration", "JSONPatch"];

function mutationErrors(mutation: JsonObject, path: string, scope: AdmissionScope): FieldError[] {
  const patchType = stringAt(mutation, ["patchType"]);
  if (patchType === "") return [requiredValue(`${path}.patchType`)];
  if (patchType !== "ApplyConfiguration" && patchType !== "JSONPatch") {
    return [unsupportedValue(`${path}.patchType`, patchType, patchTypes)];
  }
  const [own, other] =
    patchType === "JSONPatch" ? ["jsonPatch", "applyConfiguration"] : ["applyConfiguration", "jsonPatch"];
  const wrong = isJsonObject(mutation[other])
    ? [invalidPrinted(`${path}.${other}`, `"{${other}}"`, `must not be specified when patchType is ${patchType}`)]
    : [];
  const patch = mutation[own];
  const at = `${path}.${own}`;
  if (!isJsonObject(patch)) return [...wrong, requiredValue(at, `must be specified when patchType is ${patchType}`)];
  if (stringAt(patch, ["expression"]).trim() === "") return [...wrong, requiredValue(`${at}.expression`)];
  const checked = { path: at, scope: { ...scope, hasPatchTypes: true }, types: mutationTypes[patchType] };
  return [...wrong, ...expressionErrors(patch, checked)];
}

interface CommonErrors {
  /** What later expressions can refer to. */
  readonly scope: AdmissionScope;
  readonly errors: readonly FieldError[];
}

/** The errors of what both kinds of policies have. */
function* commonErrors(spec: JsonObject, ruleErrors: Check = () => []): Work<CommonErrors> {
  const base: AdmissionScope = {
    hasParams: isJsonObject(memberAt(spec, ["paramKind"])),
    hasAuthorizer: true,
    hasNamespace: true,
  };
  const types = new Map<string, AdmissionExpression["type"]>();
  const variables = yield* expressionsErrors(spec, "variables", (one, path) => {
    const scope = { ...base, variables: new Map(types) };
    return variableErrors(one, { path, scope, types });
  });
  const errors = [
    ...failurePolicyErrors(spec),
    ...paramKindErrors(spec),
    ...constraintErrors(spec, ruleErrors),
    ...(yield* conditionErrors(spec, "spec", base)),
    ...variables,
  ];
  return { scope: { ...base, variables: types }, errors };
}

/** Each expression is compiled, and each sees the variables before it. The reference has no limit but that of the request. */
const maxExpressions = 1000;

/** The errors of a list of objects with expressions. */
function* expressionsErrors(
  spec: JsonObject,
  name: "variables" | "validations" | "mutations",
  errorsOf: (one: JsonObject, path: string) => readonly FieldError[],
): Work<FieldError[]> {
  const objects = objectsAt(spec, [name]);
  if (objects.length > maxExpressions) return [tooMany(`spec.${name}`, objects.length, maxExpressions)];
  return yield* findingFirstErrors(
    objects,
    inOnePart((one, index) => errorsOf(one, `spec.${name}[${index}]`)),
  );
}

const failurePolicies = ["Fail", "Ignore"];

function failurePolicyErrors(spec: JsonObject): FieldError[] {
  const policy = stringAt(spec, ["failurePolicy"]);
  return failurePolicies.includes(policy) ? [] : [unsupportedValue("spec.failurePolicy", policy, failurePolicies)];
}

function paramKindErrors(spec: JsonObject): FieldError[] {
  const paramKind = memberAt(spec, ["paramKind"]);
  if (!isJsonObject(paramKind)) return [];
  const kind = stringAt(paramKind, ["kind"]);
  const problems = dns1035LabelProblems(kind.toLowerCase());
  const why = `may have mixed case, but should otherwise match: ${problems.join(",")}`;
  return [
    ...apiVersionErrors(stringAt(paramKind, ["apiVersion"]), "spec.paramKind.apiVersion"),
    ...(kind === "" ? [requiredValue("spec.paramKind.kind")] : []),
    ...(kind !== "" && problems.length > 0 ? [invalidValue("spec.paramKind.kind", kind, why)] : []),
  ];
}

function apiVersionErrors(apiVersion: string, path: string): FieldError[] {
  if (apiVersion === "") return [requiredValue(path)];
  const parts = apiVersion === "/" ? ["", ""] : apiVersion.split("/");
  if (parts.length > 2) return [invalidValue(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  const [group, version] = parts.length === 1 ? ["", apiVersion] : [parts[0] ?? "", parts[1] ?? ""];
  const groupProblems = group === "" ? [] : dns1123SubdomainProblems(group);
  const versionProblems = version === "" ? [] : dns1035LabelProblems(version);
  return [
    ...(groupProblems.length > 0 ? [invalidValue(path, group, groupProblems.join(","))] : []),
    ...(version === "" ? [invalidValue(path, apiVersion, "version must be specified")] : []),
    ...(versionProblems.length > 0 ? [invalidValue(path, version, versionProblems.join(","))] : []),
  ];
}

function constraintErrors(spec: JsonObject, ruleErrors: Check): FieldError[] {
  const constraints = memberAt(spec, ["matchConstraints"]);
  const path = "spec.matchConstraints";
  if (!isJsonObject(constraints)) return [requiredValue(path)];
  const hasRules = objectsAt(constraints, ["resourceRules"]).length > 0;
  return [
    ...matchResourcesErrors(constraints, path),
    ...(hasRules ? [] : [requiredValue(`${path}.resourceRules`)]),
    ...ruleErrors(constraints, path),
  ];
}

function emptyErrors(spec: JsonObject): FieldError[] {
  const lists = ["validations", "auditAnnotations"];
  if (lists.some((name) => objectsAt(spec, [name]).length > 0)) return [];
  const why = "validations or auditAnnotations must contain at least one item";
  return lists.map((name) => requiredValue(`spec.${name}`, why));
}

interface Checked {
  readonly path: string;
  readonly scope: AdmissionScope;
  readonly types: readonly string[] | "any";
  /** Default: `expression`. */
  readonly member?: string;
}

function expressionErrors(one: JsonObject, { path, scope, types, member = "expression" }: Checked): FieldError[] {
  const text = stringAt(one, [member]);
  if (text.trim() === "") return [requiredValue(`${path}.${member}`, `${member} is not specified`)];
  const compiled = compileAdmissionExpression(text, scope, types);
  return "problem" in compiled ? [invalidValue(`${path}.${member}`, text, compiled.problem)] : [];
}

interface CheckedVariable extends Pick<Checked, "path" | "scope"> {
  readonly types: Map<string, AdmissionExpression["type"]>;
}

function variableErrors(one: JsonObject, { path, scope, types }: CheckedVariable): FieldError[] {
  const [name, text] = [stringAt(one, ["name"]), stringAt(one, ["expression"])];
  const isName = identifier.test(name) && !reservedWords.has(name);
  const compiled = text.trim() === "" ? undefined : compileAdmissionExpression(text, scope, "any");
  if (compiled !== undefined && !("problem" in compiled)) types.set(name, compiled.type);
  return [
    ...(name.trim() === "" ? [requiredValue(`${path}.name`, "name is not specified")] : []),
    ...(name.trim() !== "" && !isName ? [invalidValue(`${path}.name`, name, "must be a valid CEL identifier")] : []),
    ...(compiled === undefined ? [requiredValue(`${path}.expression`, "expression is not specified")] : []),
    ...(compiled !== undefined && "problem" in compiled
      ? [invalidValue(`${path}.expression`, text, compiled.problem)]
      : []),
  ];
}

function validationErrors(one: JsonObject, path: string, scope: AdmissionScope): FieldError[] {
  const [message, messageExpression] = [stringAt(one, ["message"]), stringAt(one, ["messageExpression"])];
  const messageScope = { ...scope, hasAuthorizer: false };
  const reason = memberAt(one, ["reason"]);
  return [
    ...expressionErrors(one, { path, scope, types: ["bool"] }),
    ...blankErrors(messageExpression, `${path}.messageExpression`),
    ...(messageExpression.trim() === ""
      ? []
      : expressionErrors(one, { path, scope: messageScope, types: ["string"], member: "messageExpression" })),
    ...blankErrors(message, `${path}.message`),
    ...(/[\n\r]/.test(message.trim())
      ? [invalidValue(`${path}.message`, message, "must not contain line breaks")]
      : []),
    ...(typeof reason === "string" && !validationReasons.includes(reason)
      ? [unsupportedValue(`${path}.reason`, reason, validationReasons)]
      : []),
  ];
}

const validationReasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

function blankErrors(text: string, path: string): FieldError[] {
  return text !== "" && text.trim() === "" ? [invalidValue(path, text, "must be non-empty if specified")] : [];
}

/** The errors of a MutatingAdmissionPolicyBinding. */
export function mutatingBindingErrors(binding: JsonObject): FieldError[] {
  const spec = objectAt(binding, ["spec"]);
  return [...bindingErrors(spec), ...within("matchResources", mutatingRuleErrors)(spec, "spec")];
}

const bindingErrors = (spec: JsonObject): FieldError[] => [
  ...named("policyName", dns1123SubdomainProblems)(spec, "spec"),
  ...within("paramRef", paramRefErrors)(spec, "spec"),
  ...within("matchResources", matchResourcesErrors)(spec, "spec"),
];

const paramActions = ["Deny", "Allow"];

const paramRefErrors: Check = (paramRef, path) => {
  const [name, action] = [stringAt(paramRef, ["name"]), stringAt(paramRef, ["parameterNotFoundAction"])];
  const hasSelector = isJsonObject(memberAt(paramRef, ["selector"]));
  const both = name !== "" && hasSelector;
  const exclusive = "name and selector are mutually exclusive";
  return [
    ...(name === "" ? [] : pathSegmentName(name, false)).map((problem) => invalidValue(`${path}.name`, name, problem)),
    ...(both ? [forbiddenValue(`${path}.name`, exclusive)] : []),
    ...within("selector", selectorProblems)(paramRef, path),
    ...(both ? [forbiddenValue(`${path}.selector`, exclusive)] : []),
    ...(name === "" && !hasSelector ? [requiredValue(path, "one of name or selector must be specified")] : []),
    ...(action === "" ? [requiredValue(`${path}.parameterNotFoundAction`)] : []),
    ...(action !== "" && !paramActions.includes(action)
      ? [unsupportedValue(`${path}.parameterNotFoundAction`, action, paramActions)]
      : []),
  ];
};

const validationActions = ["Audit", "Deny", "Warn"];

/** The errors of a ValidatingAdmissionPolicyBinding. */
export function validatingBindingErrors(binding: JsonObject): FieldError[] {
  const actions = textsAt(binding, ["spec", "validationActions"]);
  const twice =
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
  const path = "spec.validationActions";
  const isRepeated = repeatsIn(actions);
  return [
    ...bindingErrors(objectAt(binding, ["spec"])),
    ...firstErrors(actions, (action, index) => [
      ...(validationActions.includes(action) ? [] : [unsupportedValue(`${path}[${index}]`, action, validationActions)]),
      ...(isRepeated(index) ? [duplicateValue(`${path}[${index}]`, action)] : []),
    ]),
    ...(actions.includes("Deny") && actions.includes("Warn") ? [invalidValue(path, actions, twice)] : []),
    ...(actions.length === 0 ? [requiredValue(path, "at least one validation action is required")] : []),
  ];
}
