// SPDX-License-Identifier: Apache-2.0

/** One token of a label selector. `text` is what messages show for it. */
export interface LabelToken {
  readonly kind: LabelTokenKind;
  readonly text: string;
}

/** The kinds of tokens: symbols stand for themselves. */
export type LabelTokenKind = "identifier" | "end" | "in" | "notin" | SymbolToken;

type SymbolToken = "=" | "==" | "!=" | "!" | "(" | ")" | "," | ">" | "<";

const symbols: ReadonlySet<string> = new Set<SymbolToken>(["=", "==", "!=", "!", "(", ")", ",", ">", "<"]);
const special = /[=!(),><]/;
const blank = /[ \t\r\n]/;
const identifierRun = /[^ \t\r\n=!(),><\0]*/y;

/** Splits a selector into tokens, the last one being the end. Never fails. */
export function lexLabelSelector(text: string): LabelToken[] {
  const tokens: LabelToken[] = [];
  let position = 0;
  for (;;) {
    while (blank.test(text.charAt(position))) position++;
    const char = text.charAt(position);
    // As in the reference, a NUL where a token could start ends the text; right after a token it is swallowed.
    if (char === "" || char === "\0") return [...tokens, { kind: "end", text: "" }];
    const { token, end } = special.test(char) ? symbolAt(text, position) : wordAt(text, position);
    tokens.push(token);
    position = text.charAt(end) === "\0" ? end + 1 : end;
  }
}

function wordAt(text: string, start: number): { token: LabelToken; end: number } {
  identifierRun.lastIndex = start;
  const word = identifierRun.exec(text)?.[0] ?? "";
  const end = start + word.length;
  if (word === "in" || word === "notin") return { token: { kind: word, text: word }, end };
  return { token: { kind: "identifier", text: word }, end };
}

// The longest symbol wins: "!=" before "!", "==" before "=".
function symbolAt(text: string, start: number): { token: LabelToken; end: number } {
  const pair = text.slice(start, start + 2);
  const symbol = symbols.has(pair) ? pair : pair.charAt(0);
  return { token: { kind: symbol as SymbolToken, text: symbol }, end: start + symbol.length };
}
