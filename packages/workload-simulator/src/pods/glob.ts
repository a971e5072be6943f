// SPDX-License-Identifier: Apache-2.0
// Patterns in which `*` stands for any characters. A text is compared in time proportional to its length: images may be megabytes.

/** Makes the test whether a text matches a pattern. */
export function matcherOf(pattern: string): (text: string) => boolean {
  const [head = "", ...others] = pattern.split("*");
  const tail = others.pop();
  if (tail === undefined) return (text) => text === pattern;
  const pieces = others.filter((piece) => piece !== "").map((piece) => ({ piece, borders: bordersOf(piece) }));
  return (text) => {
    const end = text.length - tail.length;
    if (end < head.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
    let from = head.length;
    for (const piece of pieces) {
      from = endOf(piece, text, { from, end });
      if (from < 0) return false;
    }
    return true;
  };
}

interface Piece {
  readonly piece: string;
  /** For each start of the piece, the length of its longest end that the piece begins with. */
  readonly borders: readonly number[];
}

function bordersOf(piece: string): readonly number[] {
  const borders = [0];
  let length = 0;
  for (let at = 1; at < piece.length; at++) {
    while (length > 0 && piece[at] !== piece[length]) length = borders[length - 1] ?? 0;
    if (piece[at] === piece[length]) length++;
    borders.push(length);
  }
  return borders;
}

/** Where the first occurrence of a piece ends; -1 when there is none. No character is looked at twice (Knuth, Morris and Pratt). */
function endOf({ piece, borders }: Piece, text: string, { from, end }: { from: number; end: number }): number {
  let length = 0;
  for (let at = from; at < end; at++) {
    const letter = text.charCodeAt(at);
    while (length > 0 && piece.charCodeAt(length) !== letter) length = borders[length - 1] ?? 0;
    if (piece.charCodeAt(length) === letter) length++;
    if (length === piece.length) return at + 1;
  }
  return -1;
}
