// SPDX-License-Identifier: Apache-2.0
// Shell globs over names, in the dialect of Go's path.Match without its separators: a star also matches dots and slashes.

type Token =
  | { readonly kind: "star" }
  | { readonly kind: "any" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "class"; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] };

/** A compiled pattern. */
export interface Glob {
  matches(name: string): boolean;
}

/** Compiles a pattern: `*`, `?`, `[a-z]`, `[^a-z]` and `\x`. Undefined when it is malformed. */
export function parseGlob(pattern: string): Glob | undefined {
  const tokens = tokensOf([...pattern]);
  return tokens && { matches: (name) => matchTokens(tokens, [...name]) };
}

function tokensOf(chars: readonly string[]): readonly Token[] | undefined {
  const tokens: Token[] = [];
  let at = 0;
  while (at < chars.length) {
    const char = chars[at++] ?? "";
    if (char === "*") tokens.push({ kind: "star" });
    else if (char === "?") tokens.push({ kind: "any" });
    else if (char === "[") {
      const parsed = classOf(chars, at);
      if (parsed === undefined) return undefined;
      tokens.push(parsed.token);
      at = parsed.end;
    } else {
      const text = char === "\\" ? chars[at++] : char;
      if (text === undefined) return undefined;
      tokens.push({ kind: "text", text });
    }
  }
  return tokens;
}

/** Reads a character class after its opening bracket. */
function classOf(chars: readonly string[], start: number): { readonly token: Token; readonly end: number } | undefined {
  let at = start;
  const negated = chars[at] === "^";
  if (negated) at++;
  const ranges: [string, string][] = [];
  const character = (): string | undefined => {
    const char = chars[at++];
    if (char === "-" || char === "]" || char === undefined) return undefined;
    return char === "\\" ? chars[at++] : char;
  };
  while (chars[at] !== "]" || ranges.length === 0) {
    const low = character();
    if (low === undefined) return undefined;
    let high: string | undefined = low;
    if (chars[at] === "-") {
      at++;
      high = character();
    }
    if (high === undefined) return undefined;
    ranges.push([low, high]);
  }
  return { token: { kind: "class", negated, ranges }, end: at + 1 };
}

/** Goes back to the last star only, so the time is at most the product of both lengths. */
function matchTokens(tokens: readonly Token[], chars: readonly string[]): boolean {
  let [token, char] = [0, 0];
  let [star, resume] = [-1, 0];
  while (char < chars.length) {
    const current = tokens[token];
    if (current?.kind === "star") {
      star = token++;
      resume = char;
    } else if (current !== undefined && matchOne(current, chars[char] ?? "")) {
      token++;
      char++;
    } else if (star >= 0) {
      token = star + 1;
      char = ++resume;
    } else return false;
  }
  return tokens.slice(token).every(({ kind }) => kind === "star");
}

function matchOne(token: Exclude<Token, { kind: "star" }>, char: string): boolean {
  if (token.kind === "any") return true;
  if (token.kind === "text") return token.text === char;
  return token.ranges.some(([low, high]) => low <= char && char <= high) !== token.negated;
}
