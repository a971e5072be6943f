// SPDX-License-Identifier: Apache-2.0
import { conversionNames } from "../library/conversions.ts";
import type { CostModel } from "../library/costs.ts";
import type { FunctionDecl, Overload } from "../library/function.ts";
import { functions, patchFunctions } from "../library/libraries.ts";
import { type PatternStore, patternUses } from "../library/regex.ts";
import { type Call, op } from "../syntax/ast.ts";
import { type CelType, param } from "../types/types.ts";
import { elementsOf, identityOf, ListValue, MapValue } from "../values/collections.ts";
import { typeNameOf } from "../values/describe.ts";
import { equalValues } from "../values/operations.ts";
import { Duration, Timestamp } from "../values/time-values.ts";
import {
  CelError,
  doubleToInt,
  doubleToUint,
  EvaluationError,
  isError,
  Meter,
  maxInt,
  noSuchOverload,
  OptionalValue,
  Uint,
  type Value,
} from "../values/value.ts";
import {
  after,
  type Continuation,
  constantNode,
  type Evaluation,
  maxWork,
  type Node,
  operandsStep,
  PlanningError,
  type Step,
  stepNode,
  suspended,
} from "./evaluation.ts";

/** What a call does once its arguments are known. */
type Run = (args: readonly Value[], meter: Meter) => Value;

/** Plans a call of anything but the operators that decide what is evaluated. */
export function planCall(call: Call, args: readonly Node[], patterns: PatternStore): Node {
  const decl = functions.get(call.functionName) ?? patchFunctions.get(call.functionName);
  if (!decl) throw new PlanningError(`no such overload: ${call.functionName}`);
  const overload =
    call.overloads?.length === 1 ? decl.overloads.find(({ id }) => id === call.overloads?.[0]) : undefined;
  const cost = overload?.cost ?? decl.cost;
  switch (call.functionName) {
    case op.equals:
      return planEquality(args, cost, (isEqual) => isEqual);
    case op.notEquals:
      // What cannot be compared is not equal.
      return planEquality(args, cost, (isEqual) => isEqual !== true);
    case op.notStrictlyFalse:
      return planNotStrictlyFalse(args);
    case "or":
    case "orValue":
      return planOptionalOr(args, call.functionName === "orValue");
    default:
      return planFunction(call, args, { decl, overload, cost, patterns });
  }
}

interface Resolved {
  readonly decl: FunctionDecl;
  readonly overload: Overload | undefined;
  readonly cost: CostModel | undefined;
  readonly patterns: PatternStore;
}

function planFunction(call: Call, args: readonly Node[], { decl, overload, cost, patterns }: Resolved): Node {
  const pattern = constantPattern(call.functionName, args, patterns);
  if (pattern) return stoppingNode(args, pattern, cost);
  if (overload?.id === "in_list") {
    const membership = planSetMembership(args);
    if (membership) return membership;
  }
  const run = implementation(decl, overload);
  const [only] = args;
  if (args.length === 1 && only?.kind === "constant" && conversionNames.has(decl.name))
    return convertNow(run, only.value);
  const isDispatched = !decl.shared && !overload && decl.overloads.length > 1;
  const stops = overload?.stopsAtError === true || isDispatched || args.length > 2;
  return stops ? stoppingNode(args, run, cost) : strictNode(args, run, cost);
}

/** A conversion of a constant is done at once; if it fails there is no program. */
function convertNow(run: Run, value: Value): Node {
  const converted = isError(value) ? value : run([value], new Meter(maxWork));
  if (isError(converted)) throw new PlanningError(converted.message);
  return constantNode(converted);
}

/** A function whose pattern is a constant keeps it compiled. */
function constantPattern(name: string, args: readonly Node[], patterns: PatternStore): Run | undefined {
  const use = patternUses.get(name);
  const source = args[1];
  if (!use || source?.kind !== "constant" || typeof source.value !== "string") return undefined;
  const pattern = patterns.compile(source.value);
  if (isError(pattern)) throw new PlanningError(pattern.message);
  return (values, meter) => use(pattern, values, meter);
}

/** All arguments are evaluated and charged for; then an error among them is the result. */
function strictNode(args: readonly Node[], run: Run, cost: CostModel | undefined): Node {
  return callNode(args, { run, cost, stops: false });
}

/** Arguments are evaluated until one is an error, which then costs nothing. */
function stoppingNode(args: readonly Node[], run: Run, cost: CostModel | undefined): Node {
  return callNode(args, { run, cost, stops: true });
}

interface PlannedCall {
  readonly run: Run;
  readonly cost: CostModel | undefined;
  /** An error as an argument ends the call. */
  readonly stops: boolean;
}

function callNode(args: readonly Node[], call: PlannedCall): Node {
  const steps = args.map((arg) => arg.eval);
  if (call.stops && steps.length > 1) {
    const decide = (_: Evaluation, values: readonly Value[]): CelError | undefined =>
      values.length < steps.length ? firstError(values) : undefined;
    return stepNode(operandsStep({ steps, decide, finish: (ev, values) => called(ev, values, call) }));
  }
  return stepNode(operandsStep({ steps, finish: (ev, values) => called(ev, values, call) }));
}

function called(ev: Evaluation, values: readonly Value[], { run, cost }: PlannedCall): Value {
  if (cost?.ahead !== undefined) ev.requireWithin(cost.ahead(values));
  if (!cost?.needsResult) ev.charge(cost ? cost.actual(values, ev.meter, null) : 1);
  const result = firstError(values) ?? run(values, ev.meter);
  if (cost?.needsResult) ev.charge(cost.actual(values, ev.meter, result));
  return result;
}

function firstError(values: readonly Value[]): CelError | undefined {
  for (const value of values) {
    if (isError(value)) return value;
  }
  return undefined;
}

function implementation(decl: FunctionDecl, overload: Overload | undefined): Run {
  const { shared, name } = decl;
  if (shared) {
    return (args, meter) => {
      const result = shared(args, meter);
      return result === undefined ? unknownTo(args[0], name) : result;
    };
  }
  const only = overload ?? (decl.overloads.length === 1 ? decl.overloads[0] : undefined);
  if (!only) return dispatch(decl);
  const { run } = only;
  if (!run) throw new PlanningError(`no such overload: ${name}`);
  if (decl.isUnguarded) return run;
  return (args, meter) => (fits(only, args) ? run(args, meter) : noMatch(name, args));
}

function dispatch(decl: FunctionDecl): Run {
  return (args, meter) => {
    const fitting = decl.overloads.find((overload) => overload.run && fits(overload, args));
    return fitting?.run ? fitting.run(args, meter) : noMatch(decl.name, args);
  };
}

function fits(overload: Overload, args: readonly Value[]): boolean {
  return (
    overload.args.length === args.length && overload.args.every((type, index) => fitsType(type, args[index] ?? null))
  );
}

function noMatch(name: string, args: readonly Value[]): CelError {
  return new CelError(`no such overload: ${name}(${args.map(typeNameOf).join(", ")})`);
}

// Strings and times take any call and then find that they do not know it.
function unknownTo(first: Value | undefined, name: string): CelError {
  const isReceiver = typeof first === "string" || first instanceof Duration || first instanceof Timestamp;
  return isReceiver ? noSuchOverload : new CelError(`no such overload: ${name}`);
}

function planEquality(
  args: readonly Node[],
  cost: CostModel | undefined,
  toResult: (isEqual: boolean | CelError) => Value,
): Node {
  const steps = args.map((arg) => arg.eval);
  if (steps.length !== 2 || !cost) throw new PlanningError("an equality lacks an operand");
  const finish = (ev: Evaluation, values: readonly Value[]): Value => {
    const [a = null, b = null] = values;
    ev.charge(cost.actual(values, ev.meter, null));
    if (isError(a)) return a;
    return isError(b) ? b : toResult(equalValues(a, b, ev.meter));
  };
  return stepNode(operandsStep({ steps, finish }));
}

function planNotStrictlyFalse(args: readonly Node[]): Node {
  const step: Step = args[0]?.eval ?? (() => true);
  const decide: Continuation = (ev, value) => {
    ev.charge(1);
    return typeof value === "boolean" ? value : true;
  };
  return stepNode((ev) => {
    const value = step(ev);
    return value === suspended ? ev.suspend(decide) : decide(ev, value);
  });
}

/** `o.or(p)` and `o.orValue(v)`: the second is evaluated only if the first holds nothing. */
function planOptionalOr(args: readonly Node[], unwraps: boolean): Node {
  const [left, right] = args.map((arg) => arg.eval);
  if (!left || !right) throw new PlanningError("an optional lacks an alternative");
  const unwrapped = after(left, (ev, value) => {
    if (!(value instanceof OptionalValue)) return value;
    if (!value.hasValue) return right(ev);
    return unwraps ? value.value : value;
  });
  return stepNode(working(unwrapped));
}

/** A step that costs nothing, and yet is work. */
function working(step: Step): Step {
  return (ev) => {
    ev.meter.spend(1);
    return step(ev);
  };
}

/** Whether a value can be passed where a type is declared. Of a list or map only the first entry is looked at. */
function fitsType(type: CelType, value: Value): boolean {
  if (type.kind === "dyn" || type.kind === "param") return true;
  if (typeNameOf(value) !== type.name) return false;
  if (value instanceof ListValue) return value.size === 0 || fitsType(param(type, 0), value.get(0));
  if (!(value instanceof MapValue) || value.size === 0) return true;
  for (const key of value.keys()) {
    return fitsType(param(type, 0), key) && fitsType(param(type, 1), value.find(key) ?? null);
  }
  return true;
}

/** `x in [constants]` as a look-up, which costs nothing; undefined when the list is not a constant list of scalars. */
function planSetMembership([value, list]: readonly Node[]): Node | undefined {
  if (!value || list?.kind !== "constant" || !(list.value instanceof ListValue)) return undefined;
  if (list.value.size === 0) return constantNode(false);
  const members = new Set<unknown>();
  for (const element of elementsOf(list.value)) {
    if (!isScalar(element)) return undefined;
    for (const equal of equalNumbers(element)) members.add(identityOf(equal));
  }
  const found = after(value.eval, (_, sought) => {
    if (sought instanceof Uint8Array) throw new EvaluationError("runtime error: hash of unhashable type types.Bytes");
    return isError(sought) ? sought : members.has(identityOf(sought));
  });
  return stepNode(working(found));
}

function isScalar(value: Value): boolean {
  return ["string", "boolean", "bigint", "number"].includes(typeof value) || value instanceof Uint;
}

/** A number in every numeric type that can hold it, else the value itself. */
function equalNumbers(value: Value): readonly Value[] {
  if (typeof value === "bigint") return value < 0n ? [value, Number(value)] : [value, Number(value), new Uint(value)];
  if (value instanceof Uint) {
    const double = Number(value.value);
    return value.value > maxInt ? [value, double] : [value, double, value.value];
  }
  if (typeof value !== "number") return [value];
  const int = doubleToInt(value);
  const uint = doubleToUint(value);
  const same: Value[] = [value];
  if (!isError(int) && Number(int) === value) same.push(int);
  if (!isError(uint) && Number(uint.value) === value) same.push(uint);
  return same;
}
