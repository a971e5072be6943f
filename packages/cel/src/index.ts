// SPDX-License-Identifier: Apache-2.0
export {
  compileExpression,
  createSchemaEnv,
  type Expression,
  type ExpressionResult,
  type SchemaEnv,
  type SchemaEnvOptions,
} from "./expression.ts";
export { type ParsedUrl, parseUrl } from "./library/parse-url.ts";
export { UrlProblem } from "./library/url-escaping.ts";
export type { CompileFailure } from "./program.ts";
export { type CheckOptions, checkRules, checkRulesInTurns } from "./rules/check-rules.ts";
export { objectCostLimit, ruleCostLimit } from "./rules/cost-limits.ts";
export type { FieldError, FieldErrorType } from "./rules/field-error.ts";
export { FieldPathProblem, type FoundField, resolveFieldPath } from "./rules/field-path.ts";
export { createRuleSet, type RuleSet } from "./rules/rule-set.ts";
export {
  type RuleOutcome,
  type ValidateOptions,
  validateRules,
  validateRulesInTurns,
} from "./rules/validate-rules.ts";
export type { Schema, ValidationRule } from "./schema/schema.ts";
