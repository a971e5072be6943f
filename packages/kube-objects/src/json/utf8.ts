// SPDX-License-Identifier: Apache-2.0
// Kubernetes orders and measures strings as UTF-8 bytes; JavaScript does so by UTF-16 code units.

/** Orders two strings by their UTF-8 bytes: negative, zero or positive. */
export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return codeUnitRank(x) - codeUnitRank(y);
  }
  return a.length - b.length;
}

// Surrogates stand for code points above U+FFFF, so in UTF-8 they come after the rest of the basic plane.
function codeUnitRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** The keys of an object in UTF-8 order. */
export function sortedKeys(object: object): string[] {
  return Object.keys(object).sort(compareUtf8);
}

/** How many bytes the string takes in UTF-8. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, "utf8");
}
