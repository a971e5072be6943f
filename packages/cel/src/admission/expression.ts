// SPDX-License-Identifier: Apache-2.0
// Expressions of admission: compiled once, and evaluated for each write within a budget.
import { compile, type Program } from "../program.ts";
import { isRawBacked, toJson } from "../schema/raw-json.ts";
import { type CelType, formatType } from "../types/types.ts";
import { elementsOf, ListValue, MapValue } from "../values/collections.ts";
import { ConstructedValue } from "../values/describe.ts";
import { CelError, isError, type Value } from "../values/value.ts";
import { type AdmissionScope, admissionEnvironment } from "./environment.ts";

/** A compiled expression. */
export interface AdmissionExpression {
  readonly text: string;
  readonly type: CelType;
  readonly program: Program;
}

/** Why an expression is refused, with the text of the reference. */
interface ExpressionProblem {
  readonly problem: string;
}

/** Compiles an expression that must have one of some types; "any" accepts every type. */
export function compileAdmissionExpression(
  text: string,
  scope: AdmissionScope,
  types: readonly string[] | "any",
): AdmissionExpression | ExpressionProblem {
  const program = compile(text, admissionEnvironment(scope));
  if ("problem" in program) {
    const stage = program.stage === "compile" ? "compilation failed" : "instantiation failed";
    return { problem: `${stage}: ${program.problem}` };
  }
  const type = formatType(program.type);
  if (types !== "any" && !types.includes(type)) {
    const wanted =
      types.length === 1 ? types[0] : `one of [${types.map((one) => (one === "null" ? "null_type" : one)).join(" ")}]`;
    return { problem: `must evaluate to ${wanted} but got ${type}` };
  }
  return { text, type: program.type, program };
}

/** The values that expressions read, by the name of their variable. */
export type ExpressionValues = Readonly<Record<string, Value | undefined>>;

const callLimit = 1_000_000;
const workLimit = 5_000_000;

/** The error of Kubernetes when the expressions of a policy cost too much. */
export const outOfBudget =
  "validation failed due to running out of cost budget, no further validation rules will be run";

/** What the evaluations of one policy may cost together. */
export class ExpressionBudget {
  left: number;

  constructor(limit: number) {
    this.left = limit;
  }
}

/** An expression that failed: with `isFinal`, no further one is evaluated. */
interface ExpressionFailure {
  readonly error: string;
  readonly isFinal: boolean;
}

/** The value of an expression, as JSON, or why there is none. */
export function evaluateAdmission(
  expression: AdmissionExpression,
  values: ExpressionValues,
  budget: ExpressionBudget,
): { readonly value: unknown } | ExpressionFailure {
  const outcome = evaluated(expression, values, budget);
  return "error" in outcome ? outcome : { value: toJson(outcome.value) };
}

/** What an expression constructs, as JSON, or why there is nothing. */
export function evaluatePatch(
  expression: AdmissionExpression,
  values: ExpressionValues,
  budget: ExpressionBudget,
): { readonly value: unknown } | ExpressionFailure {
  const outcome = evaluated(expression, values, budget);
  if ("error" in outcome) return outcome;
  const problem = typeProblem(outcome.value);
  if (problem !== undefined) return { error: `type mismatch: ${problem}`, isFinal: false };
  const nested = outcome.value instanceof ConstructedValue ? nestedLiteral(outcome.value, "", false) : undefined;
  if (nested === undefined) return { value: toJson(outcome.value) };
  const what = "error applying patch: failed to convert patch object to typed object";
  return { error: `${what}: ${nested}`, isFinal: false };
}

/**
 * A map or list literal inside of another one: the reference converts the outermost one only, and its merge does not know the type of
 * those inside. Objects are written with the names of their types.
 */
function nestedLiteral(value: Value, path: string, isInside: boolean): string | undefined {
  if (isRawBacked(value)) return undefined;
  const isList = value instanceof ListValue;
  if (!isList && !(value instanceof MapValue)) return undefined;
  const isObject = value instanceof ConstructedValue;
  if (isInside && !isObject) return `${path}: expected ${isList ? "list" : "map"}, got &{${goText(value)}}`;
  const children = isList
    ? [...elementsOf(value)].map((element, index) => [`${path}[${index}]`, element] as const)
    : [...value.keys()].map((key) => [`${path}.${String(key)}`, value.find(key) ?? null] as const);
  return firstOf(
    children.map(
      ([at, child]) =>
        () =>
          nestedLiteral(child, at, !isObject),
    ),
  );
}

function goText(value: Value): string {
  if (isRawBacked(value)) return String(value.raw);
  if (value instanceof ListValue) return `[${[...elementsOf(value)].map(goText).join(" ")}]`;
  if (!(value instanceof MapValue)) return String(value);
  const members = [...value.keys()].map((key) => `${String(key)}:${goText(value.find(key) ?? null)}`);
  return `map[${members.sort().join(" ")}]`;
}

/** Why the type of a constructed value does not match its place. */
function typeProblem(value: Value, path?: string): string | undefined {
  if (value instanceof ListValue) {
    return firstOf([...elementsOf(value)].map((element) => () => typeProblem(element, path)));
  }
  if (value instanceof ConstructedValue) return constructedProblem(value, path ?? value.typeName);
  if (!(value instanceof MapValue) || isRawBacked(value)) return undefined;
  return firstOf([...value.keys()].map((key) => () => typeProblem(value.find(key) ?? null, path)));
}

function constructedProblem(value: ConstructedValue, path: string): string | undefined {
  const { typeName } = value;
  if (typeName !== path) {
    const expected = `expected ${JSON.stringify(path)}, which matches field name path from root Object type`;
    return `unexpected type name ${JSON.stringify(typeName)}, ${expected}`;
  }
  return firstOf(
    [...value.keys()].map(
      (key) => () => typeProblem(value.find(key) ?? null, typeName === "JSONPatch" ? undefined : `${path}.${key}`),
    ),
  );
}

function firstOf(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const problem = check();
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function evaluated(
  { program, text }: AdmissionExpression,
  values: ExpressionValues,
  budget: ExpressionBudget,
): { readonly value: Value } | ExpressionFailure {
  const { value, cost } = program.evaluate(values, callLimit, workLimit);
  if (cost > budget.left) {
    budget.left = -1;
    return { error: outOfBudget, isFinal: true };
  }
  budget.left -= cost;
  if (isError(value)) return { error: `expression '${text}' resulted in error: ${value.message}`, isFinal: false };
  return { value };
}

/** One variable of a policy. */
export interface PolicyVariable {
  readonly name: string;
  readonly expression: AdmissionExpression;
}

/** The value of `variables`: each is evaluated when it is first read. */
export class VariableValues extends MapValue {
  readonly #variables: ReadonlyMap<string, AdmissionExpression>;
  readonly #values: ExpressionValues;
  readonly #budget: ExpressionBudget;
  readonly #known = new Map<string, Value>();

  constructor(variables: readonly PolicyVariable[], values: ExpressionValues, budget: ExpressionBudget) {
    super();
    this.#variables = new Map(variables.map(({ name, expression }) => [name, expression]));
    this.#values = { ...values, variables: this };
    this.#budget = budget;
  }

  get size(): number {
    return this.#variables.size;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string") return undefined;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const expression = this.#variables.get(key);
    if (expression === undefined) return undefined;
    const value = this.#evaluated(key, expression);
    this.#known.set(key, value);
    return value;
  }

  keys(): Iterable<Value> {
    return this.#variables.keys();
  }

  #evaluated(name: string, { program }: AdmissionExpression): Value {
    const { value, cost } = program.evaluate(this.#values, callLimit, workLimit);
    this.#budget.left -= cost;
    if (!isError(value)) return value;
    return new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${value.message}`);
  }
}
