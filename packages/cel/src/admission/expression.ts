// SPDX-License-Identifier: Apache-2.0
// Expressions of admission: compiled once, and evaluated for each write within a budget.
import { isPartDone, type Work } from "@purlin/base";
import { compile, type Outcome, type Program } from "../program.ts";
import { convertingToJson, isRawBacked, isScalar, NoJsonError } from "../schema/raw-json.ts";
import { type CelType, formatType } from "../types/types.ts";
import { LazyMap, ListValue, MapValue, UnknownValueError } from "../values/collections.ts";
import { ConstructedValue } from "../values/describe.ts";
import { CelError, CostExceededError, isError, Meter, type Value } from "../values/value.ts";
import { type AdmissionScope, admissionEnvironment, variablesName } from "./environment.ts";

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

/** What one expression may take. */
const limits = { cost: 1_000_000, work: 5_000_000 };

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
export function* evaluateAdmission(
  expression: AdmissionExpression,
  values: ExpressionValues,
  budget: ExpressionBudget,
): Work<{ readonly value: unknown } | ExpressionFailure> {
  const outcome = yield* evaluated(expression, values, budget);
  return "error" in outcome ? outcome : yield* converting(outcome.value, expression);
}

function* converting(
  value: Value,
  { text }: AdmissionExpression,
): Work<{ readonly value: unknown } | ExpressionFailure> {
  try {
    return { value: yield* convertingToJson(value, new Meter(limits.work)) };
  } catch (problem) {
    if (problem instanceof NoJsonError) return { error: noJson(value, problem), isFinal: false };
    if (!(problem instanceof CostExceededError)) throw problem;
    return { error: `expression '${text}' resulted in error: ${problem.message}`, isFinal: false };
  }
}

const notConverted = "error applying patch: failed to convert patch object to typed object";

function noJson(value: Value, { message }: NoJsonError): string {
  if (!(value instanceof ListValue)) return `${notConverted}: ${message}`;
  return `JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${message}`;
}

/** What an expression constructs, as JSON, or why there is nothing. */
export function* evaluatePatch(
  expression: AdmissionExpression,
  values: ExpressionValues,
  budget: ExpressionBudget,
): Work<{ readonly value: unknown } | ExpressionFailure> {
  const outcome = yield* evaluated(expression, values, budget);
  if ("error" in outcome) return outcome;
  // Before the value is looked at: this bounds its size.
  const json = yield* converting(outcome.value, expression);
  if ("error" in json) return json;
  const problem = yield* typeProblem(outcome.value);
  if (problem !== undefined) return { error: `type mismatch: ${problem}`, isFinal: false };
  const nested = outcome.value instanceof ConstructedValue ? yield* nestedLiteral(outcome.value, "", false) : undefined;
  if (nested === undefined) return json;
  return { error: `${notConverted}: ${nested}`, isFinal: false };
}

/**
 * A map or list literal inside of another one: the reference converts the outermost one only, and its merge does not know the type of
 * those inside. Objects are written with the names of their types.
 */
function* nestedLiteral(value: Value, path: string, isInside: boolean): Work<string | undefined> {
  if (isRawBacked(value)) return undefined;
  const isList = value instanceof ListValue;
  if (!isList && !(value instanceof MapValue)) return undefined;
  const isObject = value instanceof ConstructedValue;
  if (isInside && !isObject) return `${path}: expected ${isList ? "list" : "map"}, got &{${yield* goText(value)}}`;
  for (const [key, child] of childrenOf(value)) {
    if (isPartDone()) yield;
    if (isScalar(child)) continue;
    const at = isList ? `${path}[${key}]` : `${path}.${String(key)}`;
    const problem = yield* nestedLiteral(child, at, !isObject);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The elements of a list by index, or the values of a map by key. */
function* childrenOf(value: ListValue | MapValue): Generator<readonly [key: Value, child: Value]> {
  if (value instanceof MapValue) {
    for (const key of value.keys()) yield [key, value.find(key) ?? null];
    return;
  }
  for (let index = 0; index < value.size; index++) yield [index, value.get(index)];
}

function* goText(value: Value): Work<string> {
  if (isRawBacked(value)) return String(value.raw);
  if (!(value instanceof ListValue || value instanceof MapValue)) return String(value);
  const texts: string[] = [];
  for (const [key, child] of childrenOf(value)) {
    if (isPartDone()) yield;
    const text = yield* goText(child);
    texts.push(value instanceof ListValue ? text : `${String(key)}:${text}`);
  }
  return value instanceof ListValue ? `[${texts.join(" ")}]` : `map[${texts.sort().join(" ")}]`;
}

/** Why the type of a constructed value does not match its place. */
function* typeProblem(value: Value, path?: string): Work<string | undefined> {
  if (value instanceof ConstructedValue) return yield* constructedProblem(value, path ?? value.typeName);
  const isConstructed = value instanceof ListValue || (value instanceof MapValue && !isRawBacked(value));
  return isConstructed ? yield* problemInside(value, () => path) : undefined;
}

function* constructedProblem(value: ConstructedValue, path: string): Work<string | undefined> {
  const { typeName } = value;
  if (typeName !== path) {
    const expected = `expected ${JSON.stringify(path)}, which matches field name path from root Object type`;
    return `unexpected type name ${JSON.stringify(typeName)}, ${expected}`;
  }
  return yield* problemInside(value, (key) => (typeName === "JSONPatch" ? undefined : `${path}.${key}`));
}

/** The first problem of an element or a member; `pathOf` gives the path of one. */
function* problemInside(
  value: ListValue | MapValue,
  pathOf: (key: Value) => string | undefined,
): Work<string | undefined> {
  for (const [key, child] of childrenOf(value)) {
    if (isPartDone()) yield;
    const problem = isScalar(child) ? undefined : yield* typeProblem(child, pathOf(key));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function* evaluated(
  { program, text }: AdmissionExpression,
  values: ExpressionValues,
  budget: ExpressionBudget,
): Work<{ readonly value: Value } | ExpressionFailure> {
  const { value, cost } = yield* program.evaluating(values, limits);
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
export class VariableValues extends LazyMap {
  readonly typeName: string = variablesName;
  readonly #variables: ReadonlyMap<string, AdmissionExpression>;
  readonly #values: ExpressionValues;
  readonly #budget: ExpressionBudget;
  readonly #known = new Map<string, Value>();
  /** The evaluations that have begun. */
  readonly #begun = new Map<string, Work<Outcome>>();
  /** The variables whose evaluation is on the stack, each of which reads the next one. */
  readonly #reading = new Set<string>();

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
    if (typeof key !== "string" || !this.#variables.has(key)) return undefined;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#reading.has(key)) return failed(key, "it reads itself");
    throw new UnknownValueError(this, key);
  }

  keys(): Iterable<Value> {
    return this.#variables.keys();
  }

  evaluatePart(key: Value): boolean {
    const expression = typeof key === "string" ? this.#variables.get(key) : undefined;
    if (typeof key !== "string" || expression === undefined) return false;
    if (this.#known.has(key) || this.#reading.has(key)) return false;
    if (this.#budget.left < 0) {
      // What reads the variable fails for the same reason.
      this.#known.set(key, failed(key, outOfBudget));
      return false;
    }
    const begun = this.#begun.get(key) ?? expression.program.evaluating(this.#values, limits);
    this.#begun.set(key, begun);
    this.#reading.add(key);
    const part = begun.next();
    this.#reading.delete(key);
    if (part.done) this.#known.set(key, this.#valueOf(key, part.value));
    return !part.done;
  }

  #valueOf(name: string, { value, cost }: Outcome): Value {
    this.#budget.left -= cost;
    return isError(value) ? failed(name, value.message) : value;
  }
}

function failed(name: string, why: string): CelError {
  return new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${why}`);
}
