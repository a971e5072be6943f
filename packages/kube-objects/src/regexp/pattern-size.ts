// SPDX-License-Identifier: Apache-2.0

// An escape, a class in brackets, a repetition, or any other character. No class has a name of more than 64 characters; without a bound,
// unclosed names would be read to the end of the pattern again and again.
const tokens =
  /\\[pPx]\{[^}]{0,64}\}|\\[pP]?[\s\S]|\[\^?\]?(?:\[:[^\]]{0,64}:\]|\\[\s\S]|[^\]])*\]?|\{[0-9]+,?[0-9]*\}|[\s\S]/gu;

/**
 * About how many instructions a regular expression compiles to. RE2 unrolls repetitions (`(ab){3}` is `ababab`), so a short text can be a
 * huge program; this is known before it is compiled. `sizeOfAtom` weighs a character, an escape or a class; each counts as 1 by default.
 * Malformed patterns have some size as well.
 */
export function patternSize(pattern: string, sizeOfAtom: (token: string) => number = () => 1): number {
  const outer: number[] = [];
  let size = 0;
  let atom = 0;
  for (const [token] of pattern.matchAll(tokens)) {
    if (token === "(") {
      outer.push(size + atom);
      size = 0;
      atom = 0;
    } else if (token === ")") {
      atom = size + atom + 2;
      size = outer.pop() ?? 0;
    } else if (token.length > 2 && token.startsWith("{")) {
      atom *= repetitions(token);
    } else if (token === "*" || token === "+" || token === "?") {
      atom += 1;
    } else {
      size += atom;
      atom = sizeOfAtom(token);
    }
  }
  return outer.reduce((total, part) => total + part, size + atom);
}

function repetitions(token: string): number {
  const [least = 0, most = 0] = token.slice(1, -1).split(",").map(Number);
  return Math.max(least, most, 1);
}
