// SPDX-License-Identifier: Apache-2.0
// What is wrong with validating admission policies and their bindings.
import { type AdmissionExpression, type AdmissionScope, compileAdmissionExpression } from "@purlin/cel";
import { type FieldError, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reservedWords: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

/** The errors of a ValidatingAdmissionPolicy. */
export function validatingPolicyErrors(policy: JsonObject): FieldError[] {
  const spec = objectAt(policy, ["spec"]);
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
  const scope = { ...base, variables: types };
  return [
    ...constraintErrors(spec),
    ...objectsAt(spec, ["matchConditions"]).flatMap((one, index) =>
      expressionErrors(one, { path: `spec.matchConditions[${index}]`, scope: base, types: ["bool"] }),
    ),
    ...variables,
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

function constraintErrors(spec: JsonObject): FieldError[] {
  const constraints = memberAt(spec, ["matchConstraints"]);
  if (!isJsonObject(constraints)) return [requiredValue("spec.matchConstraints")];
  const hasRules = objectsAt(constraints, ["resourceRules"]).length > 0;
  return hasRules ? [] : [requiredValue("spec.matchConstraints.resourceRules")];
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

/** The errors of a ValidatingAdmissionPolicyBinding. */
export function validatingBindingErrors(binding: JsonObject): FieldError[] {
  const spec = objectAt(binding, ["spec"]);
  const actions = textsAt(spec, ["validationActions"]);
  const paramRef = memberAt(spec, ["paramRef"]);
  const twice =
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
  return [
    ...(stringAt(spec, ["policyName"]) === "" ? [requiredValue("spec.policyName")] : []),
    ...(isJsonObject(paramRef) && stringAt(paramRef, ["name"]) === "" && !isJsonObject(memberAt(paramRef, ["selector"]))
      ? [requiredValue("spec.paramRef", "one of name or selector must be specified")]
      : []),
    ...(actions.length === 0
      ? [requiredValue("spec.validationActions", "at least one validation action is required")]
      : []),
    ...(actions.includes("Deny") && actions.includes("Warn")
      ? [invalidValue("spec.validationActions", actions, twice)]
      : []),
  ];
}
