// SPDX-License-Identifier: Apache-2.0

/** All texts together; beyond it each is cut. */
const MAX_TOTAL = 4096;
const MAX_EACH = 256;

/** The values of Warning headers (RFC 7234 §5.5): code 299, no agent, the text quoted. Duplicates are left out. */
export function warningHeaders(texts: readonly string[]): string[] {
  const distinct = [...new Set(texts.map(oneLine))];
  const total = distinct.reduce((sum, text) => sum + [...text].length, 0);
  const shown = total > MAX_TOTAL ? fitting(distinct.map((text) => [...text].slice(0, MAX_EACH).join(""))) : distinct;
  return shown.map((text) => `299 - "${latin1(text.replace(/["\\]/g, "\\$&"))}"`);
}

function fitting(texts: readonly string[]): string[] {
  let room = MAX_TOTAL;
  return texts.filter((text) => {
    room -= [...text].length;
    return room >= 0;
  });
}

// Line breaks and control characters would end the header.
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in a header
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ");
}

// A header is bytes; UTF-8 ones are what clients expect, and Node writes one byte for each character.
function latin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
