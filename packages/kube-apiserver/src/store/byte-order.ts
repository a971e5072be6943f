// SPDX-License-Identifier: Apache-2.0

// biome-ignore lint/suspicious/noControlCharactersInRegex: the question is exactly whether all characters are ASCII
const ascii = /^[\x00-\x7f]*$/;

/**
 * A form of the text whose JavaScript order is the order of the UTF-8 bytes: each byte as one character. JavaScript itself
 * compares UTF-16 units, which puts characters beyond U+FFFF in the wrong place. ASCII text, so nearly every key, is
 * its own form.
 */
export function byteOrdered(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}
