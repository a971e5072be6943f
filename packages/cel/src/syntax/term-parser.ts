// SPDX-License-Identifier: Apache-2.0
import { type Expr, op } from "./ast.ts";
import { CollectionParser, type Part } from "./collection-parser.ts";
import { LiteralError, parseLiteral } from "./literal.ts";
import { expandMacro } from "./macros.ts";
import { at, first, type State, T, type Token } from "./token.ts";

const reservedNames: ReadonlySet<string> = new Set(
  (
    "as break const continue else false for function if import in let loop package namespace null return true " +
    "var void while"
  ).split(" "),
);

/** The rules below the operators: names, calls, selections, indexes, literals, lists and maps. */
export abstract class TermParser extends CollectionParser {
  protected member(follow: State): Expr {
    let result: Expr | undefined;
    let suffix: Part | undefined;
    this.enter("member", follow);
    try {
      result = this.#primary(at.memberPrimary);
      for (suffix = this.#suffix(result); suffix; suffix = this.#suffix(result)) {
        result = undefined;
        suffix.parse();
        result = suffix.build();
      }
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("member", follow);
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
        field = this.fieldName(at.selectName, (problem) => this.fail(name ?? dot, problem));
      },
      build: () => {
        if (!isOptional) return this.deeper(this.builder.select(this.idOf(dot), operand, field), [operand]);
        const literal = this.builder.literal(this.idOf(name ?? dot), field);
        return this.deeper(this.builder.call(this.idOf(dot), op.optionalSelect, [operand, literal]), [operand]);
      },
    };
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
    if (first.expression.has(this.next)) this.#expressions(args, close);
    this.match(T.rightParen, close);
  }

  #expressions(args: Expr[], follow: State): void {
    this.enter("exprList", follow);
    try {
      args.push(this.expression(at.argument));
      while (this.next === T.comma) {
        this.take(at.argument);
        args.push(this.expression(at.argument));
      }
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("exprList", follow);
  }

  #primary(follow: State): Expr {
    let part: Part | undefined;
    this.enter("primary", follow);
    try {
      this.sync(at.primary);
      part = this.#primaryPart();
      part.parse();
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("primary", follow);
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
        return this.list();
      case T.leftBrace:
        return this.map();
      default:
        if (!at.literal.next.has(this.next)) this.noViableAlternative(at.primary);
        return this.#literal();
    }
  }

  #named(leadingDot: Token | undefined): Part {
    if (this.#startsStruct()) return this.struct(leadingDot);
    const name = this.take(at.primaryName);
    const start = leadingDot ?? name;
    const text = leadingDot ? `.${name.text}` : name.text;
    const isReserved = reservedNames.has(name.text);
    if (this.next !== T.leftParen) {
      const build = (): Expr => {
        if (isReserved) return this.fail(start, `reserved identifier: ${name.text}`);
        return this.builder.ident(this.idOf(name), text);
      };
      return { parse: () => {}, build };
    }
    const id = this.idOf(this.take(at.globalCallOpen));
    const args: Expr[] = [];
    return {
      parse: () => this.#arguments(args, at.globalCallArguments, at.globalCallClose),
      build: () => {
        if (isReserved) return this.fail(start, `reserved identifier: ${name.text}`);
        return this.carry(expandMacro(this.builder, { id, name: text, target: undefined, args }), args);
      },
    };
  }

  /** `a.b.c{`: only the brace distinguishes it from a selection. */
  #startsStruct(): boolean {
    let distance = 1;
    while (this.peek(distance).type === T.dot && this.peek(distance + 1).type === T.identifier) distance += 2;
    return this.peek(distance).type === T.leftBrace;
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

  #literal(): Part {
    const start = this.peek();
    let tokens: Token[] = [];
    return {
      parse: () => {
        tokens = this.#literalTokens(at.literalEnd);
      },
      build: () => {
        const last = tokens.at(-1);
        if (!last) return this.nothing();
        try {
          const value = parseLiteral(last, tokens.length > 1);
          return this.builder.literal(this.idOf(start), value);
        } catch (problem) {
          if (!(problem instanceof LiteralError)) throw problem;
          return this.fail(start, problem.message);
        }
      },
    };
  }

  #literalTokens(follow: State): Token[] {
    const tokens: Token[] = [];
    this.enter("literal", follow);
    try {
      const isSigned = this.next === T.minus;
      const { type } = this.peek(1);
      if (isSigned && type !== T.int && type !== T.float) this.noViableAlternative(at.literal, 1);
      if (isSigned) tokens.push(this.take(at.literal));
      tokens.push(this.take(at.literal));
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("literal", follow);
    return tokens;
  }
}
