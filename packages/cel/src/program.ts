// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { check } from "./check/checker.ts";
import type { Environment } from "./check/environment.ts";
import { validateAst } from "./check/validators.ts";
import {
  type Amounts,
  amountsOfPart,
  Evaluation,
  maxWork,
  onePart,
  PlanningError,
  type Step,
  type StepResult,
  suspended,
  type Variables,
} from "./eval/evaluation.ts";
import { plan } from "./eval/planner.ts";
import { PatternStore } from "./library/regex.ts";
import { toJson } from "./schema/raw-json.ts";
import { untyped } from "./schema/schema-map.ts";
import { childrenOf, type Expr } from "./syntax/ast.ts";
import { parse } from "./syntax/parser.ts";
import { createSource, renderIssues } from "./syntax/source.ts";
import { type CelType, dynType } from "./types/types.ts";
import { CelError, CostExceededError, EvaluationError, isError, Meter, type Value } from "./values/value.ts";

/** What came of an evaluation, and what it cost. */
export interface Outcome {
  /** An error is a CelError. */
  readonly value: Value;
  readonly cost: number;
  /** The work it took beside CEL's cost. */
  readonly work: number;
}

/** A compiled expression. It can be evaluated any number of times. */
export interface Program {
  readonly root: Expr;
  readonly type: CelType;
  /** Whether the expression reads `oldSelf`. */
  readonly usesOldSelf: boolean;
  /**
   * Evaluates in parts. An evaluation that reaches the cost limit, or does more work than the work limit, ends with an error. The
   * variables must not change meanwhile.
   */
  evaluating(variables: Variables, limits: EvaluationLimits): Work<Outcome>;
  /** The same at once. */
  evaluate(variables: Variables, costLimit: number, workLimit?: number): Outcome;
}

interface EvaluationLimits {
  readonly cost: number;
  readonly work?: number;
  /** What one part may take. */
  readonly part?: Amounts;
}

/** Why an expression does not compile: `problem` as Kubernetes prints it, and the stage that found it. */
export interface CompileFailure {
  readonly stage: "compile" | "plan";
  readonly problem: string;
}

/** Parses, checks and plans an expression. */
export function compile(text: string, env: Environment): Program | CompileFailure {
  try {
    return compileWithin(text, env);
  } catch (problem) {
    return recursionFailure(problem);
  }
}

/** Parses and checks an expression, and does not plan it: its type, or why it has none. */
export function typeCheck(text: string, env: Environment): CelType | CompileFailure {
  try {
    const checked = checkWithin(text, env);
    return "problem" in checked ? checked : (checked.root.type ?? dynType);
  } catch (problem) {
    return recursionFailure(problem);
  }
}

/** The limits keep expressions well within the stack, unless the caller left little of it. */
function recursionFailure(problem: unknown): CompileFailure {
  if (!(problem instanceof RangeError)) throw problem;
  return { stage: "compile", problem: "ERROR: <input>:-1:0: max recursion depth exceeded" };
}

interface CheckedExpression {
  readonly root: Expr;
  readonly patterns: PatternStore;
}

function checkWithin(text: string, env: Environment): CheckedExpression | CompileFailure {
  const source = createSource(text);
  const parsed = parse(source, env);
  if ("issues" in parsed) return { stage: "compile", problem: renderIssues(source, parsed.issues) };
  const { ast } = parsed;
  const patterns = new PatternStore();
  const typeIssues = check(ast, source, env);
  const issues = typeIssues.length > 0 ? typeIssues : validateAst(ast, source, patterns);
  if (issues.length > 0) return { stage: "compile", problem: renderIssues(source, issues) };
  return { root: ast.root, patterns };
}

function compileWithin(text: string, env: Environment): Program | CompileFailure {
  const checked = checkWithin(text, env);
  if ("problem" in checked) return checked;
  try {
    return createProgram(checked.root, checked.patterns);
  } catch (problem) {
    // A constant map with bytes as a key fails while it is made.
    const isKnown = problem instanceof PlanningError || problem instanceof EvaluationError;
    if (isKnown) return { stage: "plan", problem: problem.message };
    throw problem;
  }
}

function createProgram(root: Expr, patterns: PatternStore): Program {
  const { run, slotCount } = plan(root, patterns);
  function* evaluating(variables: Variables, given: EvaluationLimits): Work<Outcome> {
    const limits = { cost: given.cost, work: given.work ?? maxWork };
    const evaluation = new Evaluation({ variables, slotCount, limits, part: given.part ?? amountsOfPart });
    let value = guarded(run, evaluation);
    while (value === suspended) {
      yield;
      value = guarded(resume, evaluation);
    }
    return outcomeOf(evaluation, value);
  }
  function evaluate(variables: Variables, cost: number, work: number = maxWork): Outcome {
    const evaluation = new Evaluation({ variables, slotCount, limits: { cost, work }, part: onePart });
    let value = guarded(run, evaluation);
    // The variables can consist of parts, too.
    while (value === suspended) value = guarded(resume, evaluation);
    return outcomeOf(evaluation, value);
  }
  return {
    root,
    type: root.type ?? dynType,
    usesOldSelf: refersTo(root, "oldSelf"),
    evaluating,
    evaluate,
  };
}

const resume: Step = (evaluation) => evaluation.resume();

function outcomeOf({ cost, work }: Evaluation, value: Value): Outcome {
  return { value, cost, work };
}

/** Runs a part of an evaluation; what must end it at once becomes its error. */
function guarded(run: Step, evaluation: Evaluation): StepResult {
  try {
    return run(evaluation);
  } catch (problem) {
    if (problem instanceof CostExceededError || problem instanceof EvaluationError)
      return new CelError(problem.message);
    // Neither text nor lists may outgrow the engine; getting near that is over any budget.
    if (problem instanceof RangeError) return new CelError(new CostExceededError().message);
    throw problem;
  }
}

function refersTo(root: Expr, name: string): boolean {
  const todo: Expr[] = [root];
  for (let expr = todo.pop(); expr; expr = todo.pop()) {
    if (expr.kind === "ident" && expr.name.replace(/^\./, "") === name) return true;
    for (const child of childrenOf(expr)) todo.push(child);
  }
  return false;
}

const costLimit = 10_000_000;

/** Why a text is not an expression; undefined if it is one. Its variables and functions are not looked up. */
export function syntaxProblem(text: string): string | undefined {
  const source = createSource(text);
  const parsed = parse(source);
  return "issues" in parsed ? renderIssues(source, parsed.issues) : undefined;
}

/** The value of an expression over JSON variables, or why there is none. */
export function evaluateExpression(
  text: string,
  variables: Readonly<Record<string, unknown>>,
): { readonly value: unknown } | { readonly problem: string } {
  const types = new Map<string, CelType>(Object.keys(variables).map((name) => [name, dynType]));
  const program = compile(text, { variables: types, objects: new Map() });
  if ("problem" in program) return { problem: program.problem };
  const values = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, untyped(value)]));
  const { value } = program.evaluate(values, costLimit);
  if (isError(value)) return { problem: value.message };
  try {
    return { value: toJson(value, new Meter(maxWork)) };
  } catch (problem) {
    if (problem instanceof CostExceededError) return { problem: problem.message };
    throw problem;
  }
}
