// SPDX-License-Identifier: Apache-2.0
import type { Value } from "../values/value.ts";
import {
  type Call,
  type Comprehension,
  type Entry,
  type Expr,
  type Ident,
  type ListExpr,
  type Literal,
  type MapExpr,
  op,
  type Select,
  type Unspecified,
} from "./ast.ts";
import { type Issue, type Location, locationOf, noLocation, type Source } from "./source.ts";

// More than any expression within the limit on its length has, unless macros double their target again and again.
const maxNodes = 300_000;

/** An expression became too large while its macros were expanded. */
export class TooManyNodesError extends Error {
  constructor() {
    super(`expression exceeds ${maxNodes} nodes after macro expansion`);
  }
}

/** Makes nodes, numbers them and remembers where each was written. */
export class AstBuilder {
  readonly source: Source;
  readonly offsets: Map<number, number> = new Map();
  readonly issues: Issue[] = [];
  /** Whether `cel.bind` is a macro. */
  readonly hasBindings: boolean;
  #nextId = 1;

  constructor(source: Source, hasBindings = false) {
    this.source = source;
    this.hasBindings = hasBindings;
  }

  newId(offset: number | undefined): number {
    if (this.#nextId > maxNodes) throw new TooManyNodesError();
    const id = this.#nextId++;
    if (offset !== undefined) this.offsets.set(id, offset);
    return id;
  }

  /** Gives back an id that a macro made superfluous. */
  dropId(id: number): void {
    this.offsets.delete(id);
    if (id === this.#nextId - 1) this.#nextId--;
  }

  locationOf(id: number): Location {
    const offset = this.offsets.get(id);
    return offset === undefined ? noLocation : locationOf(this.source, offset);
  }

  report(location: Location, message: string): void {
    this.issues.push({ location, message });
  }

  literal(id: number, value: Value): Literal {
    return { kind: "literal", id, value };
  }

  ident(id: number, name: string): Ident {
    return { kind: "ident", id, name };
  }

  select(id: number, operand: Expr, field: string): Select {
    return { kind: "select", id, operand, field, isTest: false };
  }

  presenceTest(id: number, operand: Expr, field: string): Select {
    return { kind: "select", id, operand, field, isTest: true };
  }

  call(id: number, functionName: string, args: readonly Expr[]): Call {
    return { kind: "call", id, functionName, target: undefined, args };
  }

  memberCall(id: number, functionName: string, operands: { target: Expr; args: readonly Expr[] }): Call {
    return { kind: "call", id, functionName, ...operands };
  }

  list(id: number, elements: readonly Expr[], optionals: ReadonlySet<number> = new Set()): ListExpr {
    return { kind: "list", id, elements, optionals };
  }

  map(id: number, entries: readonly Entry[]): MapExpr {
    return { kind: "map", id, entries };
  }

  comprehension(id: number, parts: Omit<Comprehension, "kind" | "id" | "type">): Comprehension {
    return { kind: "comprehension", id, ...parts };
  }

  unspecified(offset: number | undefined): Unspecified {
    return { kind: "unspecified", id: this.newId(offset) };
  }
}

/** A macro was called with arguments it cannot take. */
export class MacroError extends Error {
  readonly exprId: number;

  constructor(exprId: number, message: string) {
    super(message);
    this.exprId = exprId;
  }
}

interface MacroCall {
  readonly build: MacroBuilder;
  readonly target: Expr;
  readonly args: readonly Expr[];
}

export type Macro = (call: MacroCall) => Expr;

/** The variable in which a comprehension collects its result; no expression can spell it. */
export const accumulator = "@result";

/** Builds the nodes a macro expands to; all of them are placed where the macro was called. */
export class MacroBuilder {
  readonly #builder: AstBuilder;
  readonly #offset: number | undefined;

  constructor(builder: AstBuilder, callId: number) {
    this.#builder = builder;
    this.#offset = builder.offsets.get(callId);
  }

  #id(): number {
    return this.#builder.newId(this.#offset);
  }

  literal(value: Value): Expr {
    return this.#builder.literal(this.#id(), value);
  }

  ident(name: string): Expr {
    return this.#builder.ident(this.#id(), name);
  }

  accumulator(): Expr {
    return this.ident(accumulator);
  }

  list(...elements: Expr[]): Expr {
    return this.#builder.list(this.#id(), elements);
  }

  emptyMap(): Expr {
    return this.#builder.map(this.#id(), []);
  }

  call(name: string, ...args: Expr[]): Expr {
    return this.#builder.call(this.#id(), name, args);
  }

  memberCall(name: string, target: Expr, ...args: Expr[]): Expr {
    return this.#builder.memberCall(this.#id(), name, { target, args });
  }

  conditional(condition: Expr, yes: Expr, no: Expr): Expr {
    return this.call(op.conditional, condition, yes, no);
  }

  presenceTest(operand: Expr, field: string): Expr {
    return this.#builder.presenceTest(this.#id(), operand, field);
  }

  comprehension(parts: Omit<Comprehension, "kind" | "id" | "type">): Expr {
    return this.#builder.comprehension(this.#id(), parts);
  }

  /** The same expression again under new ids, for a macro that uses one argument twice. */
  copy(expr: Expr): Expr {
    const id = this.#builder.newId(this.#builder.offsets.get(expr.id));
    switch (expr.kind) {
      case "literal":
      case "ident":
      case "unspecified":
        return { ...expr, id };
      case "select":
        return { ...expr, id, operand: this.copy(expr.operand) };
      case "call": {
        const args = expr.args.map((arg) => this.copy(arg));
        return { ...expr, id, args, target: expr.target && this.copy(expr.target) };
      }
      case "list":
        return { ...expr, id, elements: expr.elements.map((element) => this.copy(element)) };
      case "map":
        return { ...expr, id, entries: expr.entries.map((entry) => this.#copyEntry(entry)) };
      case "struct": {
        const fields = expr.fields.map((field) => ({ ...field, id: this.#id(), value: this.copy(field.value) }));
        return { ...expr, id, fields };
      }
      case "comprehension":
        return {
          ...expr,
          id,
          range: this.copy(expr.range),
          accuInit: this.copy(expr.accuInit),
          condition: this.copy(expr.condition),
          step: this.copy(expr.step),
          result: this.copy(expr.result),
        };
    }
  }

  #copyEntry(entry: Entry): Entry {
    return { ...entry, id: this.#id(), key: this.copy(entry.key), value: this.copy(entry.value) };
  }
}

/** The name an argument introduces, which must be a plain one that hides no result. */
export function variableName(arg: Expr | undefined, problem: string): string {
  if (arg?.kind !== "ident") throw new MacroError(arg?.id ?? 0, problem);
  if (arg.name === accumulator || arg.name === "__result__") {
    throw new MacroError(arg.id, "iteration variable overwrites accumulator variable");
  }
  return arg.name;
}
