// SPDX-License-Identifier: Apache-2.0
import type { Entry, Expr, Field } from "./ast.ts";
import { expandMacro } from "./expand-macro.ts";
import { at, first, type State } from "./grammar-states.ts";
import { parseLiteral } from "./literal.ts";
import { op } from "./operators.ts";
import { RecoveringParser } from "./recovering-parser.ts";
import { locationOf } from "./source.ts";
import { T, type Token } from "./token.ts";
import { LiteralProblem } from "./unescape.ts";

const reservedNames: ReadonlySet<string> = new Set(
  (
    "as break const continue else false for function if import in let loop package namespace null return true " +
    "var void while"
  ).split(" "),
);

/** One alternative of a rule. What a syntax error cut short is built too: its parts may hold problems worth telling. */
interface Part {
  readonly parse: () => void;
  readonly build: () => Expr;
}

/** The rules below the operators: names, calls, selections, indexes, literals, lists and maps. */
export abstract class TermParser extends RecoveringParser {
  readonly #nesting: Map<Expr, number> = new Map();

  protected abstract expression(follow: State): Expr;

  protected idOf(token: Token): number {
    return this.builder.newId(token.start);
  }

  /** What stands for a part that a syntax error left out; problems with it are told in front of the text. */
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

  protected member(follow: State): Expr {
    let result: Expr | undefined;
    let suffix: Part | undefined;
    this.rule("member", follow, () => {
      result = this.#primary(at.memberPrimary);
      for (suffix = this.#suffix(result); suffix; suffix = this.#suffix(result)) {
        result = undefined;
        suffix.parse();
        result = suffix.build();
      }
    });
    return result ?? suffix?.build() ?? this.nothing();
  }

  #suffix(operand: Expr): Part | undefined {
    if (this.next === T.leftBracket) return this.#index(operand);
    if (this.next !== T.dot) return undefined;
    const { type } = this.peek(1);
    if (!at.selectMark.next.has(type)) this.noViableAlternative(at.memberSuffix, 1);
    const isCall = type === T.identifier && this.peek(2).type === T.leftParen;
    return isCall ? this.#method(operand) : this.#select(operand);
  }

  #select(operand: Expr): Part {
    const dot = this.take(at.selectDot);
    const isOptional = this.next === T.question;
    let name: Token | undefined;
    let field = "";
    return {
      parse: () => {
        if (isOptional) this.take(at.selectMark);
        name = this.peek();
        field = this.#fieldName(at.selectName, (problem) => this.#fail(name ?? dot, problem));
      },
      build: () => {
        if (!isOptional) return this.deeper(this.builder.select(this.idOf(dot), operand, field), [operand]);
        const literal = this.builder.literal(this.idOf(name ?? dot), field);
        return this.deeper(this.builder.call(this.idOf(dot), op.optionalSelect, [operand, literal]), [operand]);
      },
    };
  }

  #fieldName(follow: State, report: (problem: string) => void): string {
    let token: Token | undefined;
    this.rule("escapeIdent", follow, () => {
      this.sync(at.name);
      if (!at.name.next.has(this.next)) this.noViableAlternative(at.name);
      token = this.take(at.name);
    });
    if (token?.type === T.identifier) return token.text;
    report(token ? "unsupported syntax: '`'" : "unsupported ident kind");
    return "";
  }

  #method(target: Expr): Part {
    this.take(at.selectDot);
    const name = this.take(at.callName).text;
    const id = this.idOf(this.take(at.callOpen));
    const args: Expr[] = [];
    return {
      parse: () => this.#arguments(args, at.callArguments, at.callClose),
      build: () => this.deeper(expandMacro(this.builder, { id, name, target, args }), [target, ...args]),
    };
  }

  #index(target: Expr): Part {
    const id = this.idOf(this.take(at.indexOpen));
    let functionName: string = op.index;
    let index: Expr | undefined;
    return {
      parse: () => {
        this.sync(at.indexMark);
        if (this.next === T.question) {
          this.take(at.indexMark);
          functionName = op.optionalIndex;
        }
        index = this.expression(at.indexClose);
        this.match(T.rightBracket, at.indexClose);
      },
      build: () => {
        const args = [target, index ?? this.nothing()];
        return this.deeper(this.builder.call(id, functionName, args), args);
      },
    };
  }

  #arguments(args: Expr[], start: State, close: State): void {
    this.sync(start);
    if (first.expression.has(this.next)) {
      this.rule("exprList", close, () => {
        args.push(this.expression(at.argument));
        while (this.next === T.comma) {
          this.take(at.argument);
          args.push(this.expression(at.argument));
        }
      });
    }
    this.match(T.rightParen, close);
  }

  #primary(follow: State): Expr {
    let part: Part | undefined;
    this.rule("primary", follow, () => {
      this.sync(at.primary);
      part = this.#primaryPart();
      part.parse();
    });
    return part?.build() ?? this.nothing();
  }

  #primaryPart(): Part {
    switch (this.next) {
      case T.identifier:
        return this.#named(undefined);
      case T.dot:
        if (this.peek(1).type !== T.identifier) this.noViableAlternative(at.primary, 1);
        return this.#named(this.take(at.primary));
      case T.leftParen:
        return this.#parenthesized();
      case T.leftBracket:
        return this.#list();
      case T.leftBrace:
        return this.#map();
      default:
        if (!at.literal.next.has(this.next)) this.noViableAlternative(at.primary);
        return this.#literal();
    }
  }

  #named(leadingDot: Token | undefined): Part {
    if (this.#startsStruct()) return this.#struct(leadingDot);
    const name = this.take(at.primaryName);
    const start = leadingDot ?? name;
    const text = leadingDot ? `.${name.text}` : name.text;
    const isReserved = reservedNames.has(name.text);
    if (this.next !== T.leftParen) {
      const build = (): Expr => {
        if (isReserved) return this.#fail(start, `reserved identifier: ${name.text}`);
        return this.builder.ident(this.idOf(name), text);
      };
      return { parse: () => {}, build };
    }
    const id = this.idOf(this.take(at.globalCallOpen));
    const args: Expr[] = [];
    return {
      parse: () => this.#arguments(args, at.globalCallArguments, at.globalCallClose),
      build: () => {
        if (isReserved) return this.#fail(start, `reserved identifier: ${name.text}`);
        return this.carry(expandMacro(this.builder, { id, name: text, target: undefined, args }), args);
      },
    };
  }

  /** `a.b.c{`: only the brace tells it from a selection. */
  #startsStruct(): boolean {
    let distance = 1;
    while (this.peek(distance).type === T.dot && this.peek(distance + 1).type === T.identifier) distance += 2;
    return this.peek(distance).type === T.leftBrace;
  }

  #struct(leadingDot: Token | undefined): Part {
    let typeName = leadingDot ? "." : "";
    while (this.next !== T.leftBrace) typeName += this.take(at.primaryName).text;
    const id = this.idOf(this.take(at.structStart));
    const fields: Field[] = [];
    return {
      parse: () => {
        this.sync(at.structStart);
        if (first.field.has(this.next)) this.rule("fieldInitializerList", at.structComma, () => this.#fields(fields));
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

  #fields(fields: Field[]): void {
    const start = this.peek();
    for (;;) {
      let isOptional = false;
      let name = "";
      let problem: string | undefined;
      this.rule("optField", at.fieldColon, () => {
        this.sync(at.fieldMark);
        isOptional = this.next === T.question;
        if (isOptional) this.take(at.fieldMark);
        name = this.#fieldName(at.fieldName, (found) => {
          problem = found;
        });
      });
      const id = this.idOf(this.match(T.colon, at.fieldColon));
      fields.push({ id, name, value: this.expression(at.fieldValue), isOptional });
      if (problem !== undefined) this.#fail(start, problem);
      if (this.next !== T.comma || !first.field.has(this.peek(1).type)) return;
      this.take(at.fieldValue);
    }
  }

  #parenthesized(): Part {
    this.take(at.primary);
    let inner: Expr | undefined;
    return {
      parse: () => {
        inner = this.expression(at.nestedClose);
        this.match(T.rightParen, at.nestedClose);
      },
      build: () => inner ?? this.nothing(),
    };
  }

  #list(): Part {
    const id = this.idOf(this.take(at.primary));
    const elements: Expr[] = [];
    const optionals = new Set<number>();
    return {
      parse: () => {
        this.sync(at.listStart);
        if (first.optional.has(this.next)) {
          this.rule("listInit", at.listComma, () => {
            for (;;) {
              const { value, isOptional } = this.#element(at.element);
              if (isOptional) optionals.add(elements.length);
              elements.push(value);
              if (this.next !== T.comma || !first.optional.has(this.peek(1).type)) return;
              this.take(at.element);
            }
          });
        }
        this.sync(at.listComma);
        if (this.next === T.comma) this.take(at.listComma);
        this.match(T.rightBracket, at.listClose);
      },
      build: () => this.carry(this.builder.list(id, elements, optionals), elements),
    };
  }

  #element(follow: State): { readonly value: Expr; readonly isOptional: boolean } {
    let isOptional = false;
    let value: Expr | undefined;
    this.rule("optExpr", follow, () => {
      this.sync(at.elementMark);
      isOptional = this.next === T.question;
      if (isOptional) this.take(at.elementMark);
      value = this.expression(at.elementValue);
    });
    return { value: value ?? this.nothing(), isOptional };
  }

  #map(): Part {
    const id = this.idOf(this.take(at.primary));
    const entries: Entry[] = [];
    return {
      parse: () => {
        this.sync(at.mapStart);
        if (first.optional.has(this.next)) {
          this.rule("mapInitializerList", at.mapComma, () => this.#entries(entries));
        }
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

  #entries(entries: Entry[]): void {
    for (;;) {
      const { value: key, isOptional } = this.#element(at.entryKey);
      const id = this.idOf(this.match(T.colon, at.entryKey));
      entries.push({ id, key, value: this.expression(at.entryValue), isOptional });
      if (this.next !== T.comma || !first.optional.has(this.peek(1).type)) return;
      this.take(at.entryValue);
    }
  }

  #literal(): Part {
    const start = this.peek();
    let tokens: Token[] = [];
    return {
      parse: () => {
        this.rule("literal", at.literalEnd, () => {
          const isSigned = this.next === T.minus;
          const { type } = this.peek(1);
          if (isSigned && type !== T.int && type !== T.float) this.noViableAlternative(at.literal, 1);
          tokens = isSigned ? [this.take(at.literal), this.take(at.literal)] : [this.take(at.literal)];
        });
      },
      build: () => {
        const last = tokens.at(-1);
        if (!last) return this.nothing();
        try {
          const value = parseLiteral(last, tokens.length > 1);
          return this.builder.literal(this.idOf(start), value);
        } catch (problem) {
          if (!(problem instanceof LiteralProblem)) throw problem;
          return this.#fail(start, problem.message);
        }
      },
    };
  }

  #fail(token: Token, message: string): Expr {
    const expr = this.builder.unspecified(token.start);
    this.builder.report(locationOf(this.builder.source, token.start), message);
    return expr;
  }
}
