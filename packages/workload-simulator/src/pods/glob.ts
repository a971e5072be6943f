// SPDX-License-Identifier: Apache-2.0

/** Whether a text matches a pattern in which `*` stands for any characters. The work is bounded by the product of the lengths. */
export function matchesGlob(pattern: string, text: string): boolean {
  let [at, from] = [0, 0];
  let [star, resume] = [-1, 0];
  while (from < text.length) {
    if (pattern[at] === "*") {
      star = at++;
      resume = from;
    } else if (at < pattern.length && pattern[at] === text[from]) {
      at++;
      from++;
    } else if (star >= 0) {
      at = star + 1;
      from = ++resume;
    } else return false;
  }
  return [...pattern.slice(at)].every((letter) => letter === "*");
}
