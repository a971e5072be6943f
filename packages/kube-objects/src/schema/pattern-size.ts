// SPDX-License-Identifier: Apache-2.0

/**
 * About how many instructions a regular expression compiles to. Repetitions are unrolled by RE2 (`(ab){3}` is `ababab`),
 * so a short text can be a huge program; this finds out before it is compiled. Malformed patterns get some size.
 */
export function patternSize(pattern: string): number {
  const tokens = /\\[pP]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:[^\]]*:\]|\\[\s\S]|[^\]])*\]?|\{[0-9]+(,?)([0-9]*)\}|[\s\S]/g;
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
      atom = 1;
    }
  }
  return outer.reduce((total, part) => total + part, size + atom);
}

function repetitions(token: string): number {
  const [least = 0, most = 0] = token.slice(1, -1).split(",").map(Number);
  return Math.max(least, most, 1);
}
