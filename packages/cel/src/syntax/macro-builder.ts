// SPDX-License-Identifier: Apache-2.0
import type { Value } from "../values/value.ts";
import type { Comprehension, Entry, Expr } from "./ast.ts";
import type { AstBuilder } from "./ast-builder.ts";
import { op } from "./operators.ts";

/** A macro was called with arguments it cannot take. */
export class MacroProblem extends Error {
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
  if (arg?.kind !== "ident") throw new MacroProblem(arg?.id ?? 0, problem);
  if (arg.name === accumulator || arg.name === "__result__") {
    throw new MacroProblem(arg.id, "iteration variable overwrites accumulator variable");
  }
  return arg.name;
}
