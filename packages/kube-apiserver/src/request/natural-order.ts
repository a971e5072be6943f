// SPDX-License-Identifier: Apache-2.0

/** Orders keys as people expect: letters behind everything else, and numbers in them by their value. */
export function compareNaturally(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  const first = left.findIndex((character, index) => character !== right[index]);
  if (first === -1 || first >= right.length) {
    return left.length - right.length;
  }
  const [x, y] = [left[first] ?? "", right[first] ?? ""];
  if (isLetter(x) !== isLetter(y)) {
    return isLetter(x) ? 1 : -1;
  }
  return (isLetter(x) ? 0 : compareNumbers(left, right, first)) || (x.codePointAt(0) ?? 0) - (y.codePointAt(0) ?? 0);
}

/** The numbers that begin where two keys part; zero where neither has one, or both the same. */
function compareNumbers(left: readonly string[], right: readonly string[], from: number): number {
  const [x, y] = [digitsAt(left, from), digitsAt(right, from)];
  // A zero counts when digits other than zero are before it.
  const before = left.slice(0, from).join("").match(/\d+$/)?.[0] ?? "";
  const lead = (left[from] === "0" || right[from] === "0") && /[1-9]/.test(before) ? "1" : "0";
  const [m, n] = [BigInt(lead + x), BigInt(lead + y)];
  return m === n ? x.length - y.length : m < n ? -1 : 1;
}

function digitsAt(characters: readonly string[], from: number): string {
  return /^\d*/.exec(characters.slice(from).join(""))?.[0] ?? "";
}

function isLetter(character: string): boolean {
  return /\p{L}/u.test(character);
}
