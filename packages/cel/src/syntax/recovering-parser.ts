// SPDX-License-Identifier: Apache-2.0
import type { AstBuilder } from "./macro-builder.ts";
import { locationOf, noLocation } from "./source.ts";
import { ruleEnd, type State, T, type Token, type TokenSet, type TokenType, tokenTypeName } from "./token.ts";

/** Ends a rule after a syntax error; the rule's caller continues behind it. */
class Mismatch {
  readonly message: string;
  readonly token: Token;

  constructor(message: string, token: Token) {
    this.message = message;
    this.token = token;
  }
}

/** Ends the whole parse: a limit was passed. */
class Abandoned {}

const maxSyntaxErrors = 100;
const maxRecoveries = 30;
const maxSkippedTokens = 256;
const maxRuleDepth = 250;

/**
 * Token handling and error recovery for a hand-written parser. Users of Kubernetes know the messages of its generated
 * parser, so this follows that parser's rules: delete one token, or insert one, or skip to where a caller can continue,
 * and stay silent until a token matches again.
 */
export abstract class RecoveringParser {
  protected readonly builder: AstBuilder;
  readonly #tokens: readonly Token[];
  #index = 0;
  #state: State | undefined;
  /** Where each open rule continues when it is done, outermost first. */
  readonly #follow: State[] = [];
  readonly #depth: Map<string, number> = new Map();
  #isRecovering = false;
  #lastErrorIndex = -1;
  readonly #lastErrorStates: Set<State | undefined> = new Set();
  #recoveries = 0;
  #syntaxErrors = 0;

  constructor(builder: AstBuilder, tokens: readonly Token[]) {
    this.builder = builder;
    this.#tokens = tokens;
  }

  /** Runs the outermost rule; undefined when a limit ended the parse. */
  protected run<R>(outermost: () => R): R | undefined {
    try {
      return outermost();
    } catch (thrown) {
      if (thrown instanceof Abandoned) return undefined;
      throw thrown;
    }
  }

  protected abandon(message: string): never {
    this.builder.report(noLocation, message);
    throw new Abandoned();
  }

  /**
   * Starts a rule that was called at `follow`. What the rule does stands in a try block with `recover` in its catch and
   * `leave` behind it. There is no function around the three that would take the rule as an argument: rules nest
   * deeply, and every call takes its part of the stack.
   */
  protected enter(name: string, follow: State | undefined): void {
    const depth = (this.#depth.get(name) ?? 0) + 1;
    if (depth > maxRuleDepth) this.abandon(`expression recursion limit exceeded: ${maxRuleDepth}`);
    this.#depth.set(name, depth);
    if (follow) this.#follow.push(follow);
  }

  /** Reports a syntax error inside the rule, which then does not reach the caller. */
  protected recover(thrown: unknown): void {
    if (!(thrown instanceof Mismatch)) throw thrown;
    this.#report(thrown.message, thrown.token);
    this.#resume();
  }

  protected leave(name: string, follow: State | undefined): void {
    if (follow) this.#follow.pop();
    this.#depth.set(name, (this.#depth.get(name) ?? 0) - 1);
    this.#state = follow;
  }

  protected peek(distance = 0): Token {
    const token = this.#tokens[Math.min(this.#index + distance, this.#tokens.length - 1)];
    if (!token) throw new Error("the token list has no end token");
    return token;
  }

  protected get next(): TokenType {
    return this.peek().type;
  }

  /** Takes the token, which the caller has already looked at. */
  protected take(state: State): Token {
    this.#state = state;
    const token = this.peek();
    this.#matched();
    this.#consume();
    return token;
  }

  protected match(type: TokenType, state: State): Token {
    this.#state = state;
    if (this.next === type) return this.take(state);
    return this.#recoverInline();
  }

  /** Checks, before a decision, that what comes next can be there. */
  protected sync(state: State): void {
    this.#state = state;
    if (this.#isRecovering || state.next.has(ruleEnd) || state.next.has(this.next)) return;
    if (this.#deleteToken()) return;
    throw this.#mismatch();
  }

  /** The same inside a loop, where unwanted tokens are skipped. */
  protected syncLoop(state: State): void {
    this.#state = state;
    if (this.#isRecovering || state.next.has(ruleEnd) || state.next.has(this.next)) return;
    this.#reportUnwanted();
    this.#skipUntil(new Set([...this.#expected(), ...this.#recoverySet()]));
  }

  /** No alternative at a decision fits what comes: `distance` tokens fit, the one after them does not. */
  protected noViableAlternative(state: State, distance = 0): never {
    this.#state = state;
    const start = this.peek();
    const offending = this.peek(distance);
    const input = start.type === T.eof ? "<EOF>" : this.#textBetween(start, offending);
    const reserved = /^.(true|false|null)$/s.exec(input)?.[1];
    // Names such as `a.true` read better as what they are.
    throw new Mismatch(
      reserved
        ? `mismatched input '${reserved}' expecting IDENTIFIER`
        : `no viable alternative at input ${quote(input)}`,
      offending,
    );
  }

  /** The text from one token through another, without what the lexer left out. */
  #textBetween(start: Token, end: Token): string {
    const last = this.#tokens.indexOf(end, this.#index);
    const between = this.#tokens.slice(this.#index, last + 1);
    return between
      .map((token) => (token === start ? "" : token.before) + (token.type === T.eof ? "" : token.text))
      .join("");
  }

  #consume(): void {
    if (this.#index < this.#tokens.length - 1) this.#index++;
  }

  #matched(): void {
    this.#isRecovering = false;
    this.#lastErrorIndex = -1;
    this.#lastErrorStates.clear();
  }

  #mismatch(): Mismatch {
    const token = this.peek();
    return new Mismatch(`mismatched input ${quote(token.text)} expecting ${describe(this.#expected())}`, token);
  }

  #recoverInline(): Token {
    this.#countRecovery();
    if (this.#deleteToken()) {
      const token = this.peek();
      this.#consume();
      return token;
    }
    const missing = this.#insertToken();
    if (missing) return missing;
    throw this.#mismatch();
  }

  /** When the token after the next one fits, the next one is left out. */
  #deleteToken(): boolean {
    if (!this.#expected().has(this.peek(1).type)) return false;
    this.#reportUnwanted();
    this.#consume();
    this.#matched();
    return true;
  }

  /** When the next token fits behind the missing one, the missing one is made up. */
  #insertToken(): Token | undefined {
    const after = this.#state?.after ?? new Set();
    if (!this.#inContext(after).has(this.next)) return undefined;
    const expected = this.#expected();
    const current = this.peek();
    this.#report(`missing ${describe(expected)} at ${quote(current.text)}`, current);
    const [type = T.eof] = [...expected].sort((a, b) => a - b);
    const before = this.#tokens[this.#index - 1];
    const place = current.type === T.eof && before ? before : current;
    return { type, text: `<missing ${tokenTypeName(type)}>`, start: place.start, before: "" };
  }

  #resume(): void {
    this.#countRecovery();
    let skipped = 0;
    const skip = (): void => {
      if (skipped++ >= maxSkippedTokens) {
        this.abandon(`error recovery token lookahead limit exceeded: ${maxSkippedTokens}`);
      }
      this.#consume();
    };
    // A second error at the same place means nothing was gained: give up one token.
    if (this.#lastErrorIndex === this.#index && this.#lastErrorStates.has(this.#state)) skip();
    this.#lastErrorIndex = this.#index;
    this.#lastErrorStates.add(this.#state);
    const wanted = this.#recoverySet();
    while (this.next !== T.eof && !wanted.has(this.next)) skip();
  }

  #skipUntil(wanted: ReadonlySet<TokenType>): void {
    while (this.next !== T.eof && !wanted.has(this.next)) this.#consume();
  }

  #countRecovery(): void {
    if (this.#recoveries === maxRecoveries) {
      this.#notify(`error recovery attempt limit exceeded: ${maxRecoveries}`, this.peek());
      throw new Abandoned();
    }
    this.#recoveries++;
  }

  #reportUnwanted(): void {
    const token = this.peek();
    this.#report(`extraneous input ${quote(token.text)} expecting ${describe(this.#expected())}`, token);
  }

  #report(message: string, token: Token): void {
    if (this.#isRecovering) return;
    this.#isRecovering = true;
    this.#notify(message, token);
  }

  #notify(message: string, token: Token): void {
    const location = locationOf(this.builder.source, token.start);
    if (this.#syntaxErrors++ < maxSyntaxErrors) {
      this.builder.report(location, `Syntax error: ${message}`);
      return;
    }
    this.builder.report(location, `Syntax error: More than ${maxSyntaxErrors} syntax errors`);
    throw new Abandoned();
  }

  #expected(): ReadonlySet<TokenType> {
    return this.#inContext(this.#state?.next ?? new Set());
  }

  /** What a set means where the parser is: a rule that may end adds what its callers expect. */
  #inContext(tokens: TokenSet): ReadonlySet<TokenType> {
    const result = new Set<TokenType>();
    let current = tokens;
    let level = this.#follow.length - 1;
    for (;;) {
      for (const type of current) if (type !== ruleEnd) result.add(type);
      if (!current.has(ruleEnd)) return result;
      const follow = this.#follow[level--];
      if (!follow) return result.add(T.eof);
      current = follow.next;
    }
  }

  #recoverySet(): ReadonlySet<TokenType> {
    const result = new Set<TokenType>();
    for (const follow of this.#follow) for (const type of follow.next) if (type !== ruleEnd) result.add(type);
    return result;
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("\t", "\\t").replaceAll("\n", "\\n").replaceAll("\r", "\\r")}'`;
}

function describe(types: ReadonlySet<TokenType>): string {
  const names = [...types].sort((a, b) => a - b).map(tokenTypeName);
  return names.length === 1 ? (names[0] ?? "") : `{${names.join(", ")}}`;
}
