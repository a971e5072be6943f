// SPDX-License-Identifier: Apache-2.0
import type { Value } from "../values/value.ts";
import type {
  Call,
  Comprehension,
  Entry,
  Expr,
  Ident,
  ListExpr,
  Literal,
  MapExpr,
  Select,
  Unspecified,
} from "./ast.ts";
import type { Issue } from "./issues.ts";
import { type Location, locationOf, noLocation, type Source } from "./source.ts";

// More than any expression within the limit on its length has, unless macros double their target again and again.
const maxNodes = 300_000;

/** An expression became too large while its macros were expanded. */
export class TooManyNodes extends Error {
  constructor() {
    super(`expression exceeds ${maxNodes} nodes after macro expansion`);
  }
}

/** Makes nodes, numbers them and remembers where each was written. */
export class AstBuilder {
  readonly source: Source;
  readonly offsets: Map<number, number> = new Map();
  readonly issues: Issue[] = [];
  #nextId = 1;

  constructor(source: Source) {
    this.source = source;
  }

  newId(offset: number | undefined): number {
    if (this.#nextId > maxNodes) throw new TooManyNodes();
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
