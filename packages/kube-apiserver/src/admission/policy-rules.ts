// SPDX-License-Identifier: Apache-2.0
// What is wrong with admission policies and their bindings.
import { type AdmissionExpression, type AdmissionScope, compileAdmissionExpression } from "@purlin/cel";
import {
  type FieldError,
  invalidPrinted,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { mutationTypes } from "./policy.ts";

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reservedWords: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

/** The errors of a ValidatingAdmissionPolicy. */
export function validatingPolicyErrors(policy: JsonObject): FieldError[] {
  const spec = objectAt(policy, ["spec"]);
  const { scope, errors } = commonErrors(spec, allOperations);
  return [
    ...errors,
    ...emptyErrors(spec),
    ...objectsAt(spec, ["validations"]).flatMap((one, index) =>
      validationErrors(one, `spec.validations[${index}]`, scope),
    ),
    ...objectsAt(spec, ["auditAnnotations"]).flatMap((one, index) =>
      expressionErrors(one, {
        path: `spec.auditAnnotations[${index}]`,
        member: "valueExpression",
        scope,
        types: ["string", "null"],
      }),
    ),
  ];
}

/** The errors of a MutatingAdmissionPolicy. */
export function mutatingPolicyErrors(policy: JsonObject): FieldError[] {
  const spec = objectAt(policy, ["spec"]);
  const { scope, errors } = commonErrors(spec, mutatingOperations);
  const mutations = objectsAt(spec, ["mutations"]);
  const policyOfReinvocation = stringAt(spec, ["reinvocationPolicy"]);
  return [
    ...errors,
    ...(mutations.length === 0 ? [requiredValue("spec.mutations", "mutations must contain at least one item")] : []),
    ...mutations.flatMap((one, index) => mutationErrors(one, `spec.mutations[${index}]`, scope)),
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

const allOperations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const mutatingOperations = ["*", "CONNECT", "CREATE", "UPDATE"];

/** The errors of what both kinds of policies have. */
function commonErrors(spec: JsonObject, operations: readonly string[]): CommonErrors {
  const base: AdmissionScope = {
    hasParams: isJsonObject(memberAt(spec, ["paramKind"])),
    hasAuthorizer: true,
    hasNamespace: true,
  };
  const types = new Map<string, AdmissionExpression["type"]>();
  const variables = objectsAt(spec, ["variables"]).flatMap((one, index) => {
    const scope = { ...base, variables: new Map(types) };
    return variableErrors(one, { path: `spec.variables[${index}]`, scope, types });
  });
  const errors = [
    ...constraintErrors(spec, operations),
    ...objectsAt(spec, ["matchConditions"]).flatMap((one, index) =>
      expressionErrors(one, { path: `spec.matchConditions[${index}]`, scope: base, types: ["bool"] }),
    ),
    ...variables,
  ];
  return { scope: { ...base, variables: types }, errors };
}

function constraintErrors(spec: JsonObject, operations: readonly string[]): FieldError[] {
  const constraints = memberAt(spec, ["matchConstraints"]);
  if (!isJsonObject(constraints)) return [requiredValue("spec.matchConstraints")];
  const rules = objectsAt(constraints, ["resourceRules"]);
  if (rules.length === 0) return [requiredValue("spec.matchConstraints.resourceRules")];
  const path = "spec.matchConstraints.resourceRules.operations";
  return rules.flatMap((rule) =>
    textsAt(rule, ["operations"]).flatMap((operation) =>
      operations.includes(operation) ? [] : [unsupportedValue(path, operation, operations)],
    ),
  );
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
  const compiled = compileAdmissionExpression(text, scope, "any");
  if (!("problem" in compiled)) types.set(name, compiled.type);
  return [
    ...(name === "" ? [requiredValue(`${path}.name`, "name is not specified")] : []),
    ...(name !== "" && !isName ? [invalidValue(`${path}.name`, name, "must be a valid CEL identifier")] : []),
    ...("problem" in compiled ? [invalidValue(`${path}.expression`, text, compiled.problem)] : []),
  ];
}

function validationErrors(one: JsonObject, path: string, scope: AdmissionScope): FieldError[] {
  const message = stringAt(one, ["message"]);
  const hasMessageExpression = stringAt(one, ["messageExpression"]).trim() !== "";
  const messageScope = { ...scope, hasAuthorizer: false };
  return [
    ...expressionErrors(one, { path, scope, types: ["bool"] }),
    ...(hasMessageExpression
      ? expressionErrors(one, { path, scope: messageScope, types: ["string"], member: "messageExpression" })
      : []),
    ...(/[\n\r]/.test(message) ? [invalidValue(`${path}.message`, message, "must not contain line breaks")] : []),
  ];
}

/** The errors of a MutatingAdmissionPolicyBinding. */
export function mutatingBindingErrors(binding: JsonObject): FieldError[] {
  const spec = objectAt(binding, ["spec"]);
  const paramRef = memberAt(spec, ["paramRef"]);
  return [
    ...(stringAt(spec, ["policyName"]) === "" ? [requiredValue("spec.policyName")] : []),
    ...(isJsonObject(paramRef) && stringAt(paramRef, ["name"]) === "" && !isJsonObject(memberAt(paramRef, ["selector"]))
      ? [requiredValue("spec.paramRef", "one of name or selector must be specified")]
      : []),
  ];
}

/** The errors of a ValidatingAdmissionPolicyBinding. */
export function validatingBindingErrors(binding: JsonObject): FieldError[] {
  const actions = textsAt(binding, ["spec", "validationActions"]);
  const twice =
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
  return [
    ...mutatingBindingErrors(binding),
    ...(actions.length === 0
      ? [requiredValue("spec.validationActions", "at least one validation action is required")]
      : []),
    ...(actions.includes("Deny") && actions.includes("Warn")
      ? [invalidValue("spec.validationActions", actions, twice)]
      : []),
  ];
}
