// SPDX-License-Identifier: Apache-2.0
// The `mappings` of source maps, version 3: lines of segments, each a few numbers that tell how far they are from those before.

/** From a column of a line on, the code comes from there; undefined where it comes from nowhere in particular. */
export interface Segment {
  readonly column: number;
  readonly original: { readonly source: number; readonly line: number; readonly column: number } | undefined;
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const more = 0b100000;

/** Reads mappings, a list of segments for each line. Names are left out. */
export function decodeMappings(text: string): Segment[][] {
  let [source, originalLine, originalColumn] = [0, 0, 0];
  return text.split(";").map((line) => {
    let column = 0;
    return segmentsOf(line).map((numbers) => {
      const [toColumn = 0, toSource, toLine = 0, toOriginalColumn = 0] = numbers;
      column += toColumn;
      if (toSource === undefined) return { column, original: undefined };
      source += toSource;
      originalLine += toLine;
      originalColumn += toOriginalColumn;
      return { column, original: { source, line: originalLine, column: originalColumn } };
    });
  });
}

function segmentsOf(line: string): number[][] {
  return line === "" ? [] : line.split(",").map(decodeNumbers);
}

function decodeNumbers(text: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const character of text) {
    const digit = digits.indexOf(character);
    value |= (digit & (more - 1)) << shift;
    shift += 5;
    if (digit & more) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** Writes mappings. */
export function encodeMappings(lines: readonly (readonly Segment[])[]): string {
  let last = { source: 0, line: 0, column: 0 };
  const encoded = lines.map((line) => {
    let before = 0;
    const segments = line.map(({ column, original }) => {
      let text = encodeNumber(column - before);
      before = column;
      if (original === undefined) return text;
      text += encodeNumber(original.source - last.source);
      text += encodeNumber(original.line - last.line) + encodeNumber(original.column - last.column);
      last = original;
      return text;
    });
    return segments.join(",");
  });
  return encoded.join(";");
}

function encodeNumber(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = "";
  do {
    const digit = rest & (more - 1);
    rest >>>= 5;
    text += digits[rest > 0 ? digit | more : digit];
  } while (rest > 0);
  return text;
}
