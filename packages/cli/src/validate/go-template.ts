// SPDX-License-Identifier: Apache-2.0
// The syntax of Go's text/template, as far as it can be judged without running a template.

/** Something that Go's parser refuses. */
interface TemplateProblem {
  /** In the template, from 1. */
  readonly line: number;
  readonly text: string;
}

/** How actions are marked. */
interface Delimiters {
  readonly left: string;
  readonly right: string;
}

interface Token {
  readonly kind: "word" | "field" | "variable" | "string" | "number" | "symbol";
  readonly text: string;
}

interface Action {
  readonly line: number;
  readonly tokens: readonly Token[];
}

interface Block {
  readonly keyword: string;
  readonly line: number;
  hasElse: boolean;
  /** The scope outside it. */
  readonly outer: Scope;
}

const defaults: Delimiters = { left: "{{", right: "}}" };

/** The first thing that Go's parser would refuse in a template; undefined if there is none. Unknown functions are not looked for. */
export function templateProblem(text: string, delimiters: Delimiters = defaults): TemplateProblem | undefined {
  try {
    const structure = new Structure();
    for (const action of actionsOf(text, delimiters)) structure.take(action);
    structure.end();
    return undefined;
  } catch (error) {
    if (error instanceof TemplateSyntaxError) return { line: error.line, text: error.message };
    throw error;
  }
}

class TemplateSyntaxError extends Error {
  readonly line: number;

  constructor(line: number, text: string) {
    super(text);
    this.line = line;
  }
}

function* actionsOf(text: string, { left, right }: Delimiters): Iterable<Action> {
  let [at, line] = [0, 1];
  const pass = (to: number): void => {
    for (; at < to; at += 1) if (text[at] === "\n") line += 1;
  };
  for (let start = text.indexOf(left); start !== -1; start = text.indexOf(left, at)) {
    pass(start + left.length);
    if (/^-\s/.test(text.slice(at, at + 2))) pass(at + 2);
    const opened = line;
    if (text.startsWith("/*", at)) {
      pass(endOfComment(text, { at, right, line: opened }));
      continue;
    }
    const tokens: Token[] = [];
    for (;;) {
      const space = /\s*/y;
      space.lastIndex = at;
      pass(at + (space.exec(text)?.[0].length ?? 0));
      if (at >= text.length) throw new TemplateSyntaxError(opened, "unclosed action");
      const isTrimmed = text[at] === "-" && /\s/.test(text[at - 1] ?? "") && text.startsWith(right, at + 1);
      if (isTrimmed || text.startsWith(right, at)) {
        pass(at + right.length + (isTrimmed ? 1 : 0));
        break;
      }
      const token = tokenAt(text, at, opened);
      tokens.push(token);
      pass(at + token.text.length);
    }
    yield { line: opened, tokens };
  }
}

function endOfComment(
  text: string,
  { at, right, line }: { readonly at: number; readonly right: string; readonly line: number },
): number {
  const end = text.indexOf("*/", at);
  if (end === -1) throw new TemplateSyntaxError(line, "unclosed comment");
  const rest = /^\s-/.test(text.slice(end + 2, end + 4)) ? end + 4 : end + 2;
  if (!text.startsWith(right, rest)) throw new TemplateSyntaxError(line, "comment ends before closing delimiter");
  return rest + right.length;
}

/** The patterns of tokens; a string that matches none of its own is not closed. */
const patterns: readonly (readonly [Token["kind"], RegExp])[] = [
  ["string", /"(?:[^"\\\n]|\\.)*"|`[^`]*`|'(?:[^'\\\n]|\\.)+'/y],
  ["number", /[+-]?(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?i?|\.\d+)/y],
  ["variable", /\$[\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*/uy],
  ["field", /\.[\p{L}_][\p{L}\p{N}_]*|\./uy],
  ["word", /[\p{L}_][\p{L}\p{N}_]*/uy],
  ["symbol", /:=|[=|(),]/y],
];

function tokenAt(text: string, at: number, line: number): Token {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined && found !== "") return { kind, text: found };
  }
  const character = text[at] ?? "";
  const isQuote = character === '"' || character === "`" || character === "'";
  throw new TemplateSyntaxError(
    line,
    isQuote ? "unterminated string" : `unexpected ${JSON.stringify(character)} in action`,
  );
}

const controls = new Set(["if", "range", "with"]);
const named = new Set(["define", "block", "template"]);
const opening = new Set([...controls, "define", "block"]);

/** Which variables are visible: those declared from `first` on. */
interface Scope {
  readonly first: number;
  readonly size: number;
}

/** The variables of a template in the order of their declarations. */
class Variables {
  readonly #names: string[] = [];
  /** Where each name is declared, in order. */
  readonly #places = new Map<string, number[]>();
  #first = 0;

  get scope(): Scope {
    return { first: this.#first, size: this.#names.length };
  }

  declare(name: string): void {
    const places = this.#places.get(name) ?? [];
    this.#places.set(name, places);
    places.push(this.#names.push(name) - 1);
  }

  /** A template of its own sees no variable of the one around it. */
  hide(): void {
    this.#first = this.#names.length;
  }

  restore({ first, size }: Scope): void {
    while (this.#names.length > size) this.#places.get(this.#names.pop() ?? "")?.pop();
    this.#first = first;
  }

  has(name: string): boolean {
    return name === "$" || (this.#places.get(name)?.at(-1) ?? -1) >= this.#first;
  }
}

/** Blocks, their ends, and the variables in them. */
class Structure {
  readonly #blocks: Block[] = [];
  readonly #variables = new Variables();
  #line = 1;

  take({ line, tokens }: Action): void {
    this.#line = line;
    const [first, ...rest] = tokens;
    const keyword = first?.kind === "word" ? first.text : "";
    if (first === undefined) throw this.#problem("missing value for command");
    if (keyword === "end") this.#end(rest);
    else if (keyword === "else") this.#else(rest);
    else if (keyword === "break" || keyword === "continue") this.#loop(keyword);
    else if (controls.has(keyword)) this.#control(keyword, rest);
    else if (named.has(keyword)) this.#named(keyword, rest);
    else this.#pipeline(tokens, "command");
  }

  end(): void {
    const block = this.#blocks.at(-1);
    if (block !== undefined)
      throw new TemplateSyntaxError(block.line, `unexpected EOF: {{${block.keyword}}} has no {{end}}`);
  }

  #end(rest: readonly Token[]): void {
    const block = this.#blocks.pop();
    if (block === undefined) throw this.#problem("unexpected {{end}}");
    if (rest[0] !== undefined) throw this.#problem(`unexpected ${JSON.stringify(rest[0].text)} in end`);
    this.#variables.restore(block.outer);
  }

  #else(rest: readonly Token[]): void {
    const block = this.#blocks.at(-1);
    if (block === undefined || !controls.has(block.keyword) || block.hasElse)
      throw this.#problem("unexpected {{else}}");
    const [first, ...more] = rest;
    if (first === undefined) {
      block.hasElse = true;
      return;
    }
    const isNested = first.text === block.keyword && block.keyword !== "range";
    if (!isNested) throw this.#problem(`unexpected ${JSON.stringify(first.text)} in else`);
    this.#pipeline(more, first.text);
  }

  #loop(keyword: string): void {
    if (!this.#blocks.some((block) => block.keyword === "range"))
      throw this.#problem(`{{${keyword}}} outside {{range}}`);
  }

  #control(keyword: string, rest: readonly Token[]): void {
    this.#open(keyword);
    this.#pipeline(rest, keyword);
  }

  #named(keyword: string, [name, ...rest]: readonly Token[]): void {
    if (name?.kind !== "string") throw this.#problem(`missing template name in ${keyword}`);
    if (keyword === "define" && this.#blocks.length > 0) throw this.#problem("unexpected {{define}} in a block");
    if (rest.length > 0 || keyword === "block") this.#pipeline(rest, keyword);
    if (!opening.has(keyword)) return;
    this.#open(keyword);
    this.#variables.hide();
  }

  #open(keyword: string): void {
    this.#blocks.push({ keyword, line: this.#line, hasElse: false, outer: this.#variables.scope });
  }

  /** Values in parentheses and between bars; variables are declared before they are used. */
  #pipeline(tokens: readonly Token[], what: string): void {
    const sign = tokens.findIndex(({ text }) => text === ":=");
    const declared = sign === -1 ? [] : tokens.slice(0, sign);
    const isDeclaration = declared.every(({ kind, text }) => kind === "variable" || text === ",");
    if (!isDeclaration) throw this.#problem(`unexpected ":=" in ${what}`);
    const values = tokens.slice(sign + 1);
    this.#values(values, what);
    for (const { kind, text } of declared) if (kind === "variable") this.#variables.declare(text);
  }

  #values(tokens: readonly Token[], what: string): void {
    let [depth, isEmpty] = [0, true];
    for (const { kind, text } of tokens) {
      if (text === "(") depth += 1;
      else if (text === ")") depth -= 1;
      else if (text === "|" && isEmpty) throw this.#problem(`missing value for ${what}`);
      if (depth < 0) throw this.#problem("unexpected right paren");
      if (kind === "variable") this.#known(text);
      isEmpty = text === "|" || text === "(";
    }
    if (depth > 0) throw this.#problem("unclosed left paren");
    if (isEmpty) throw this.#problem(`missing value for ${what}`);
  }

  #known(variable: string): void {
    const [name = ""] = variable.split(".", 1);
    if (!this.#variables.has(name)) throw this.#problem(`undefined variable ${JSON.stringify(name)}`);
  }

  #problem(text: string): TemplateSyntaxError {
    return new TemplateSyntaxError(this.#line, text);
  }
}
