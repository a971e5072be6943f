// SPDX-License-Identifier: Apache-2.0
import type { Entry, Expr, Field } from "./ast.ts";
import { RecoveringParser } from "./recovering-parser.ts";
import { locationOf } from "./source.ts";
import { at, first, type State, T, type Token } from "./token.ts";

/** One alternative of a rule. What a syntax error cut short is built too: its parts may have errors to report. */
export interface Part {
  readonly parse: () => void;
  readonly build: () => Expr;
}

interface ListParts {
  readonly elements: Expr[];
  readonly optionals: Set<number>;
}

/** The rules for lists, maps and messages, and what all rules need to build nodes. */
export abstract class CollectionParser extends RecoveringParser {
  readonly #nesting: Map<Expr, number> = new Map();

  protected abstract expression(follow: State): Expr;

  protected idOf(token: Token): number {
    return this.builder.newId(token.start);
  }

  /** Stands for a part that a syntax error left out; errors about it are reported at the start of the text. */
  protected nothing(): Expr {
    return this.builder.unspecified(-1);
  }

  protected nestingOf(expr: Expr): number {
    return this.#nesting.get(expr) ?? 0;
  }

  /** Notes that a node is as deep as its deepest part; `deeper` adds a level. */
  protected carry(expr: Expr, parts: readonly Expr[], level = 0): Expr {
    let deepest = 0;
    for (const part of parts) deepest = Math.max(deepest, this.nestingOf(part));
    if (deepest + level > 0) this.#nesting.set(expr, deepest + level);
    return expr;
  }

  protected deeper(expr: Expr, parts: readonly Expr[]): Expr {
    return this.carry(expr, parts, 1);
  }

  protected fieldName(follow: State, report: (problem: string) => void): string {
    let token: Token | undefined;
    this.enter("escapeIdent", follow);
    try {
      this.sync(at.name);
      if (!at.name.next.has(this.next)) this.noViableAlternative(at.name);
      token = this.take(at.name);
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("escapeIdent", follow);
    if (token?.type === T.identifier) return token.text;
    report(token ? "unsupported syntax: '`'" : "unsupported ident kind");
    return "";
  }

  protected struct(leadingDot: Token | undefined): Part {
    let typeName = leadingDot ? "." : "";
    while (this.next !== T.leftBrace) typeName += this.take(at.primaryName).text;
    const id = this.idOf(this.take(at.structStart));
    const fields: Field[] = [];
    return {
      parse: () => {
        this.sync(at.structStart);
        if (first.field.has(this.next)) this.#fields(fields, at.structComma);
        this.sync(at.structComma);
        if (this.next === T.comma) this.take(at.structComma);
        this.match(T.rightBrace, at.structClose);
      },
      build: () => {
        const parts = fields.map((field) => field.value);
        return this.carry({ kind: "struct", id, typeName, fields }, parts);
      },
    };
  }

  #fields(fields: Field[], follow: State): void {
    const start = this.peek();
    this.enter("fieldInitializerList", follow);
    try {
      for (;;) {
        const { problem, ...field } = this.#fieldStart(at.fieldColon);
        const id = this.idOf(this.match(T.colon, at.fieldColon));
        fields.push({ id, ...field, value: this.expression(at.fieldValue) });
        if (problem !== undefined) this.fail(start, problem);
        if (this.next !== T.comma || !first.field.has(this.peek(1).type)) break;
        this.take(at.fieldValue);
      }
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("fieldInitializerList", follow);
  }

  #fieldStart(follow: State): { name: string; isOptional: boolean; problem: string | undefined } {
    let isOptional = false;
    let name = "";
    let problem: string | undefined;
    this.enter("optField", follow);
    try {
      this.sync(at.fieldMark);
      isOptional = this.next === T.question;
      if (isOptional) this.take(at.fieldMark);
      name = this.fieldName(at.fieldName, (found) => {
        problem = found;
      });
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("optField", follow);
    return { name, isOptional, problem };
  }

  protected list(): Part {
    const id = this.idOf(this.take(at.primary));
    const elements: Expr[] = [];
    const optionals = new Set<number>();
    return {
      parse: () => {
        this.sync(at.listStart);
        if (first.optional.has(this.next)) this.#elements({ elements, optionals }, at.listComma);
        this.sync(at.listComma);
        if (this.next === T.comma) this.take(at.listComma);
        this.match(T.rightBracket, at.listClose);
      },
      build: () => this.carry(this.builder.list(id, elements, optionals), elements),
    };
  }

  #elements({ elements, optionals }: ListParts, follow: State): void {
    this.enter("listInit", follow);
    try {
      for (;;) {
        const { value, isOptional } = this.#element(at.element);
        if (isOptional) optionals.add(elements.length);
        elements.push(value);
        if (this.next !== T.comma || !first.optional.has(this.peek(1).type)) break;
        this.take(at.element);
      }
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("listInit", follow);
  }

  #element(follow: State): { readonly value: Expr; readonly isOptional: boolean } {
    let isOptional = false;
    let value: Expr | undefined;
    this.enter("optExpr", follow);
    try {
      this.sync(at.elementMark);
      isOptional = this.next === T.question;
      if (isOptional) this.take(at.elementMark);
      value = this.expression(at.elementValue);
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("optExpr", follow);
    return { value: value ?? this.nothing(), isOptional };
  }

  protected map(): Part {
    const id = this.idOf(this.take(at.primary));
    const entries: Entry[] = [];
    return {
      parse: () => {
        this.sync(at.mapStart);
        if (first.optional.has(this.next)) this.#entries(entries, at.mapComma);
        this.sync(at.mapComma);
        if (this.next === T.comma) this.take(at.mapComma);
        this.match(T.rightBrace, at.mapClose);
      },
      build: () => {
        const parts = entries.flatMap(({ key, value }) => [key, value]);
        return this.carry(this.builder.map(id, entries), parts);
      },
    };
  }

  #entries(entries: Entry[], follow: State): void {
    this.enter("mapInitializerList", follow);
    try {
      for (;;) {
        const { value: key, isOptional } = this.#element(at.entryKey);
        const id = this.idOf(this.match(T.colon, at.entryKey));
        entries.push({ id, key, value: this.expression(at.entryValue), isOptional });
        if (this.next !== T.comma || !first.optional.has(this.peek(1).type)) break;
        this.take(at.entryValue);
      }
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("mapInitializerList", follow);
  }

  protected fail(token: Token, message: string): Expr {
    const expr = this.builder.unspecified(token.start);
    this.builder.report(locationOf(this.builder.source, token.start), message);
    return expr;
  }
}
