// SPDX-License-Identifier: Apache-2.0
import { type Ast, binaryOperators, type Expr, op } from "./ast.ts";
import { tokenize } from "./lexer.ts";
import { AstBuilder, TooManyNodesError } from "./macro-builder.ts";
import { type Issue, noLocation, type Source } from "./source.ts";
import { TermParser } from "./term-parser.ts";
import {
  at,
  first,
  productTokens,
  relationTokens,
  type State,
  sumTokens,
  T,
  type Token,
  type TokenType,
} from "./token.ts";

interface Chain {
  readonly terms: readonly Expr[];
  /** One id for each operator between two terms. */
  readonly ids: readonly number[];
}

const maxCodePoints = 100_000;
const maxNesting = 250;

/** The macros that only some expressions have. */
interface MacroOptions {
  readonly hasBindings?: boolean | undefined;
}

type ParseResult = { readonly ast: Ast } | { readonly issues: readonly Issue[] };

/** Parses an expression and expands its macros. `hasBindings` adds `cel.bind`. */
export function parse(source: Source, { hasBindings = false }: MacroOptions = {}): ParseResult {
  const size = source.points.length;
  if (size > maxCodePoints) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${maxCodePoints}`;
    return { issues: [{ location: noLocation, message }] };
  }
  const builder = new AstBuilder(source, hasBindings);
  const { tokens, issues } = tokenize(source);
  builder.issues.push(...issues);
  const root = tokens.length === 0 ? undefined : parseTokens(builder, tokens);
  if (builder.issues.length > 0 || !root) return { issues: builder.issues };
  return { ast: { root, offsets: builder.offsets } };
}

function parseTokens(builder: AstBuilder, tokens: readonly Token[]): Expr | undefined {
  try {
    return new Parser(builder, tokens).parse();
  } catch (problem) {
    if (!(problem instanceof TooManyNodesError)) throw problem;
    builder.report(noLocation, problem.message);
    return undefined;
  }
}

interface Logic {
  readonly name: string;
  readonly token: TokenType;
  readonly functionName: string;
  readonly operandEnd: State;
}

const orLogic: Logic = { name: "conditionalOr", token: T.or, functionName: op.or, operandEnd: at.orOperand };
const andLogic: Logic = { name: "conditionalAnd", token: T.and, functionName: op.and, operandEnd: at.andOperand };

class Parser extends TermParser {
  parse(): Expr | undefined {
    return this.run(() => {
      const root = this.#start();
      if (root && this.nestingOf(root) > maxNesting) this.abandon("max recursion depth exceeded");
      return root;
    });
  }

  #start(): Expr | undefined {
    let root: Expr | undefined;
    this.enter("start", undefined);
    try {
      root = this.expression(at.startEnd);
      this.match(T.eof, at.startEnd);
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("start", undefined);
    return root;
  }

  protected override expression(follow: State): Expr {
    let condition: Expr | undefined;
    let branches: { id: number; yes?: Expr; no?: Expr } | undefined;
    this.enter("expr", follow);
    try {
      condition = this.#logic(orLogic, at.ternaryMark);
      if (this.next === T.question) {
        branches = { id: this.idOf(this.take(at.ternaryMark)) };
        branches.yes = this.#logic(orLogic, at.ternaryColon);
        this.match(T.colon, at.ternaryColon);
        branches.no = this.expression(at.ternaryElse);
      }
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("expr", follow);
    const result = condition ?? this.nothing();
    if (!branches) return result;
    const args = [result, branches.yes ?? this.nothing(), branches.no ?? this.nothing()];
    return this.deeper(this.builder.call(branches.id, op.conditional, args), args);
  }

  #logic(logic: Logic, follow: State): Expr {
    const terms: Expr[] = [];
    const ids: number[] = [];
    let operator: Token | undefined;
    this.enter(logic.name, follow);
    try {
      for (;;) {
        terms.push(logic === orLogic ? this.#logic(andLogic, at.orOperand) : this.#relation(at.andOperand, 0));
        if (operator) ids.push(this.idOf(operator));
        if (this.next !== logic.token) break;
        operator = this.take(logic.operandEnd);
      }
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave(logic.name, follow);
    const [only] = terms;
    if (!only) return this.nothing();
    if (ids.length === 0) return only;
    return this.carry(balancedLogic(this.builder, logic.functionName, { terms, ids }), terms);
  }

  #relation(follow: State, precedence: number): Expr {
    let left: Expr | undefined;
    this.enter("relation", follow);
    try {
      left = this.#calc(at.relationOperand, 0);
      while (relationTokens.has(this.next) && precedence <= 1) {
        const token = this.take(at.relationOperator);
        const id = this.idOf(token);
        left = this.#binary(token, id, [left, this.#relation(at.relationOperand, 2)]);
      }
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("relation", follow);
    return left ?? this.nothing();
  }

  #calc(follow: State, precedence: number): Expr {
    let left: Expr | undefined;
    this.enter("calc", follow);
    try {
      left = this.#unary(at.calcOperand);
      for (let level = this.#level(); level > 0 && level >= precedence; level = this.#level()) {
        const token = this.take(at.calcOperator);
        const id = this.idOf(token);
        left = this.#binary(token, id, [left, this.#calc(at.calcOperand, level + 1)]);
      }
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("calc", follow);
    return left ?? this.nothing();
  }

  /** How tightly the operator that comes next binds; 0 when it is none of these. */
  #level(): number {
    return productTokens.has(this.next) ? 2 : sumTokens.has(this.next) ? 1 : 0;
  }

  #binary(token: Token, id: number, args: readonly Expr[]): Expr {
    return this.deeper(this.builder.call(id, binaryOperators.get(token.text) ?? token.text, args), args);
  }

  #unary(follow: State): Expr {
    const start = this.peek();
    let result: Expr | undefined;
    this.enter("unary", follow);
    try {
      this.sync(at.unary);
      if (this.next === T.exclamation) result = this.#prefixed(T.exclamation, at.notLoop, op.not);
      else if (this.#startsNegation()) result = this.#prefixed(T.minus, at.negateLoop, op.negate);
      else if (first.expression.has(this.next)) result = this.member(at.unaryMember);
      else this.noViableAlternative(at.unary);
    } catch (thrown) {
      this.recover(thrown);
    }
    this.leave("unary", follow);
    return result ?? this.builder.literal(this.idOf(start), "<<error>>");
  }

  /** `-` negates, unless it is the sign of a number. */
  #startsNegation(): boolean {
    if (this.next !== T.minus) return false;
    const { type } = this.peek(1);
    if (type === T.int || type === T.float) return false;
    if (!at.primary.next.has(type)) this.noViableAlternative(at.unary, 1);
    return true;
  }

  #prefixed(token: TokenType, loop: State, functionName: string): Expr {
    const operators: Token[] = [];
    do {
      operators.push(this.take(loop));
      this.syncLoop(loop);
      const isStuck = token === T.minus && this.next === token && !at.primary.next.has(this.peek(1).type);
      if (isStuck) this.noViableAlternative(loop, 1);
    } while (this.next === token);
    const [firstOperator] = operators;
    // An even number of the same operator takes itself away.
    if (!firstOperator || operators.length % 2 === 0) return this.member(at.unaryMember);
    const id = this.idOf(firstOperator);
    const operand = this.member(at.unaryMember);
    return this.carry(this.builder.call(id, functionName, [operand]), [operand]);
  }
}

/** A chain of `&&` or `||` as a balanced tree, so that long chains stay shallow. */
function balancedLogic(builder: AstBuilder, functionName: string, { terms, ids }: Chain): Expr {
  const term = (index: number): Expr => {
    const found = terms[index];
    if (!found) throw new Error(`a chain of ${ids.length} operators lacks term ${index}`);
    return found;
  };
  const build = (low: number, high: number): Expr => {
    const middle = Math.floor((low + high + 1) / 2);
    const left = middle === low ? term(middle) : build(low, middle - 1);
    const right = middle === high ? term(middle + 1) : build(middle + 1, high);
    return builder.call(ids[middle] ?? 0, functionName, [left, right]);
  };
  return build(0, ids.length - 1);
}
