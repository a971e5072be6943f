// SPDX-License-Identifier: Apache-2.0
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import type { Environment } from "../check/environment.ts";
import { estimateCost } from "../estimate/estimate.ts";
import { trimSpace } from "../library/text.ts";
import { compile, type Program } from "../program.ts";
import { type DeclType, environmentOf, maxRequestBytes } from "../schema/decl-type.ts";
import type { TypeKind } from "../types/types.ts";
import { FieldPathProblem, resolveFieldPath } from "./field-path.ts";

/** An expression with the most it can cost. */
export interface CostedProgram {
  readonly program: Program;
  readonly maxCost: bigint;
}

/** A rule after compilation. A rule that is blank has neither program nor error. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly condition?: CostedProgram;
  readonly error?: string;
  readonly message?: CostedProgram;
  readonly messageError?: string;
  /** Where to report a failure, below the node the rule is on. */
  readonly fieldPath?: string;
}

/** Compiles the rules of one schema node. */
export class RuleCompiler {
  readonly #schema: Schema;
  readonly #decl: DeclType;
  readonly #environments: Map<boolean, Environment> = new Map();

  constructor(schema: Schema, decl: DeclType) {
    this.#schema = schema;
    this.#decl = decl;
  }

  compile(rule: ValidationRule): CompiledRule {
    if (trimSpace(rule.rule) === "") return { rule };
    const env = this.#environment(rule.optionalOldSelf === true);
    const condition = this.#expression(rule.rule, env, {
      type: "bool",
      wrongType: "cel expression must evaluate to a bool",
      prefix: "",
    });
    if (typeof condition === "string") return { rule, error: condition };
    return { rule, condition, ...this.#message(rule, env), ...this.#fieldPath(rule) };
  }

  #message({ messageExpression }: ValidationRule, env: Environment): Pick<CompiledRule, "message" | "messageError"> {
    if (!messageExpression) return {};
    const message = this.#expression(messageExpression, env, {
      type: "string",
      wrongType: "messageExpression must evaluate to a string",
      prefix: "messageExpression ",
    });
    return typeof message === "string" ? { messageError: message } : { message };
  }

  #fieldPath({ fieldPath }: ValidationRule): Pick<CompiledRule, "fieldPath"> {
    if (!fieldPath) return {};
    try {
      return { fieldPath: resolveFieldPath(fieldPath, this.#schema).path };
    } catch (problem) {
      if (problem instanceof FieldPathProblem) return {};
      throw problem;
    }
  }

  #expression(text: string, env: Environment, wanted: Wanted): CostedProgram | string {
    const program = compile(text, env);
    if ("problem" in program) {
      const stage =
        program.stage === "compile" ? "compilation" : wanted.prefix === "" ? "program instantiation" : "instantiation";
      return `${wanted.prefix}${stage} failed: ${program.problem}`;
    }
    if (program.type.kind !== wanted.type) return wanted.wrongType;
    return { program, maxCost: estimateCost(program.root, this.#decl).max };
  }

  #environment(hasOptionalOldSelf: boolean): Environment {
    const known = this.#environments.get(hasOptionalOldSelf);
    if (known) return known;
    const env = environmentOf(this.#decl, hasOptionalOldSelf);
    this.#environments.set(hasOptionalOldSelf, env);
    return env;
  }
}

interface Wanted {
  readonly type: TypeKind;
  readonly wrongType: string;
  readonly prefix: string;
}

/** How often values of a type can be in one object, when nothing bounds the lists and maps around them. */
export function maxCardinality({ minSize }: DeclType): bigint {
  return BigInt(Math.floor(maxRequestBytes / (minSize + 1)));
}
