// SPDX-License-Identifier: Apache-2.0
export { type AdmissionScope, anyObject, type ObjectType, objectTypeOf, typeChecker } from "./admission/environment.ts";
export {
  type AdmissionExpression,
  compileAdmissionExpression,
  ExpressionBudget,
  type ExpressionValues,
  evaluateAdmission,
  evaluatePatch,
  outOfBudget,
  type PolicyVariable,
  VariableValues,
} from "./admission/expression.ts";
export { type AccessCheck, authorizerValue, type CheckAccess, requestResourceValue } from "./library/authorizer.ts";
export { parseUrl, UrlSyntaxError } from "./library/parse-url.ts";
export { evaluateExpression, syntaxProblem } from "./program.ts";
export { type CheckOptions, checkingRules, checkRules } from "./rules/check-rules.ts";
export { deviceSelectorProblem } from "./rules/device-selector.ts";
export {
  createRuleSet,
  declaresRules,
  type FoundField,
  RulePathError,
  type RuleSet,
  resolveFieldPath,
} from "./rules/rule-set.ts";
export { validatingRules } from "./rules/validate-rules.ts";
export { untyped as untypedValue } from "./schema/schema-map.ts";
