// SPDX-License-Identifier: Apache-2.0

/** Whether code points and UTF-16 units are the same in a text. The engine knows it of most texts without looking. */
export function isBasic(text: string): boolean {
  return !/[\ud800-\udbff]/.test(text);
}

/** The number of code points: what CEL calls the size of a string. */
export function textSize(text: string): number {
  let size = text.length;
  if (isBasic(text)) return size;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code >= 0xd800 && code <= 0xdbff && isLowSurrogate(text.charCodeAt(index + 1))) {
      size--;
      index++;
    }
  }
  return size;
}

/** The order of two strings by code point, which is also the order of their UTF-8 bytes. */
export function compareText(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) < rank(right) ? -1 : 1;
  }
  return a.length < b.length ? -1 : 1;
}

// Surrogates stand for code points above all others of UTF-16.
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** The number of UTF-8 bytes. */
export function textBytes(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
