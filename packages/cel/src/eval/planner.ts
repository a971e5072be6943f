// SPDX-License-Identifier: Apache-2.0
import { typeNames } from "../check/environment.ts";
import type { PatternStore } from "../library/regex.ts";
import {
  type Call,
  type Comprehension,
  type Expr,
  type Ident,
  type MapExpr,
  op,
  type Select,
  type StructExpr,
} from "../syntax/ast.ts";
import { CelError, isError, noSuchOverload, TypeValue, type Value } from "../values/value.ts";
import {
  attributeNode,
  computedQualifier,
  constantQualifier,
  createAttribute,
  createConditional,
  isKey,
  presenceNode,
  presenceQualifier,
} from "./attribute.ts";
import { planCall } from "./call.ts";
import { planList, planMap, planStruct } from "./collections.ts";
import { planComprehension } from "./comprehension.ts";
import {
  type Attribute,
  type Continuation,
  constantNode,
  type Evaluation,
  type Node,
  PlanningError,
  type Step,
  type StepResult,
  stepNode,
  suspended,
} from "./evaluation.ts";
import { goTypeName } from "./go-type-name.ts";

/** A planned expression and the number of places its comprehensions need. */
interface Plan {
  readonly run: Step;
  readonly slotCount: number;
}

/** Turns a checked expression into steps. Throws PlanningError when that cannot be done. */
export function plan(root: Expr, patterns: PatternStore): Plan {
  const planner = new Planner(patterns);
  const node = planner.plan(root);
  return { run: node.eval, slotCount: planner.slotCount };
}

/** Loads a local variable; the accumulator of a comprehension makes itself on first use. */
type Load = Step;

export class Planner {
  /** How many places an evaluation needs. */
  slotCount = 0;
  /** The first place that is free where the planner is. */
  #freeSlot = 0;
  readonly #scopes: Map<string, Load>[] = [];
  readonly #patterns: PatternStore;

  constructor(patterns: PatternStore) {
    this.#patterns = patterns;
  }

  newSlot(): number {
    const slot = this.#freeSlot++;
    this.slotCount = Math.max(this.slotCount, this.#freeSlot);
    return slot;
  }

  /** Plans something whose places others may use afterwards. */
  planBlock<T>(makePlan: () => T): T {
    const before = this.#freeSlot;
    const made = makePlan();
    this.#freeSlot = before;
    return made;
  }

  /** Plans an expression that is evaluated at any time within the block: its places are its own. */
  planLazy(expr: Expr): Node {
    const before = this.slotCount;
    this.slotCount = this.#freeSlot;
    const node = this.plan(expr);
    this.#freeSlot = this.slotCount;
    this.slotCount = Math.max(this.slotCount, before);
    return node;
  }

  /** Plans an expression in which some names are local variables. */
  planWith(locals: readonly (readonly [string, Load])[], expr: Expr): Node {
    this.#scopes.push(new Map(locals));
    const node = this.plan(expr);
    this.#scopes.pop();
    return node;
  }

  plan(expr: Expr): Node {
    switch (expr.kind) {
      case "literal":
        return constantNode(expr.value);
      case "ident":
        return this.#ident(expr, expr.name);
      case "select":
        return expr.qualifiedName === undefined ? this.#select(expr) : this.#ident(expr, expr.qualifiedName);
      case "call":
        return this.#call(expr);
      case "list":
        return planList(expr, this.#planAll(expr.elements));
      case "map":
        return this.#map(expr);
      case "comprehension":
        return this.#comprehension(expr);
      case "struct":
        return this.#struct(expr);
      case "unspecified":
        throw new PlanningError(`unsupported expression: ${expr.kind}`);
    }
  }

  #planAll(exprs: readonly Expr[]): readonly Node[] {
    return exprs.map((expr) => this.plan(expr));
  }

  #map(expr: MapExpr): Node {
    return planMap(
      expr.entries.map(({ key, value, isOptional }) => ({ key: this.plan(key), value: this.plan(value), isOptional })),
    );
  }

  #struct({ typeName, fields }: StructExpr): Node {
    return planStruct(
      typeName.replace(/^\./, ""),
      fields.map(({ name, value, isOptional }) => ({ name, value: this.plan(value), isOptional })),
    );
  }

  #comprehension(expr: Comprehension): Node {
    return this.planBlock(() => planComprehension(expr, this));
  }

  #ident(expr: Ident | Select, qualified: string): Node {
    const name = qualified.replace(/^\./, "");
    if (expr.type?.kind === "type") {
      if (!typeNames.has(name)) throw new PlanningError(`reference to undefined type: ${name}`);
      return constantNode(new TypeValue(name));
    }
    const local = this.#scopes.findLast((scope) => scope.has(name))?.get(name);
    return attributeNode(createAttribute(local ?? loadVariable(name)));
  }

  #select(expr: Select): Node {
    const attribute = attributeOf(this.plan(expr.operand));
    if (expr.isTest) {
      attribute.addQualifier(presenceQualifier(expr.field));
      return presenceNode(attribute);
    }
    attribute.addQualifier(constantQualifier(expr.field, false));
    return attributeNode(attribute);
  }

  #call(expr: Call): Node {
    const args = this.#planAll(expr.target ? [expr.target, ...expr.args] : expr.args);
    const [first, second, third] = args;
    switch (expr.functionName) {
      case op.and:
        return planAnd(args);
      case op.or:
        return planOr(args);
      case op.conditional:
        return conditional(required(first), required(second), required(third));
      case op.index:
        return index(required(first), required(second), false);
      case op.optionalIndex:
      case op.optionalSelect:
        return index(required(first), required(second), true);
      default:
        return planCall(expr, args, this.#patterns);
    }
  }
}

function required(node: Node | undefined): Node {
  if (!node) throw new PlanningError("an operator lacks an operand");
  return node;
}

function loadVariable(name: string): Step {
  const missing = new CelError(`no such attribute(s): ${name}`);
  return (ev: Evaluation): Value => {
    const value = ev.variables[name];
    return value === undefined ? missing : value;
  };
}

/** What a node can be selected from: its own attribute, or a new one on its result. */
function attributeOf(node: Node): Attribute {
  return node.kind === "attribute" ? node.attribute : createAttribute(node.eval);
}

function conditional(condition: Node, yes: Node, no: Node): Node {
  return attributeNode(createConditional(condition.eval, attributeOf(yes), attributeOf(no)));
}

function index(operand: Node, key: Node, isOptional: boolean): Node {
  if (key.kind === "constant" && !isKey(key.value)) {
    throw new PlanningError(`invalid qualifier type: ${goTypeName(key.value)}`);
  }
  const attribute = attributeOf(operand);
  const qualifier =
    key.kind === "constant"
      ? constantQualifier(key.value, isOptional)
      : computedQualifier(attributeOf(key), isOptional);
  attribute.addQualifier(qualifier);
  return attributeNode(attribute);
}

/** `a && b`: false decides, whatever the other side is, and an error counts only when nothing decides. */
function planAnd(terms: readonly Node[]): Node {
  return decidedBy(terms, false);
}

function planOr(terms: readonly Node[]): Node {
  return decidedBy(terms, true);
}

function decidedBy(terms: readonly Node[], decisive: boolean): Node {
  const steps = terms.map((term) => term.eval);
  /** Evaluates the terms from an index on; `problem` is an error among those before. */
  const proceed = (ev: Evaluation, from: number, problem: CelError | undefined): StepResult => {
    let found = problem;
    for (let index = from; index < steps.length; index++) {
      if (ev.isPartDone) return ev.suspend(proceedAt(index, found));
      ev.meter.spend(1);
      const value = (steps[index] as Step)(ev);
      if (value === suspended) return ev.suspend(takeTerm(index, found));
      if (value === decisive) return decisive;
      if (typeof value !== "boolean") found ??= problemOf(value);
    }
    return found ?? !decisive;
  };
  const proceedAt =
    (index: number, problem: CelError | undefined): Continuation =>
    (ev) =>
      proceed(ev, index, problem);
  const takeTerm =
    (index: number, problem: CelError | undefined): Continuation =>
    (ev, value) => {
      if (value === decisive) return decisive;
      return proceed(ev, index + 1, problem ?? (typeof value === "boolean" ? undefined : problemOf(value)));
    };
  return stepNode((ev) => proceed(ev, 0, undefined));
}

const problemOf = (term: Value): CelError => (isError(term) ? term : noSuchOverload);
