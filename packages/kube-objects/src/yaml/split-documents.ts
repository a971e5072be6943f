// SPDX-License-Identifier: Apache-2.0

/** A part of a YAML stream between two document markers. */
export interface StreamPart {
  readonly body: string;
  /** Where the part begins in the stream, from 0. */
  readonly offset: number;
  /** The line on which it begins, from 1. */
  readonly line: number;
}

/**
 * Splits a YAML stream at its `---` markers, so that documents can be read one by one. A marker at the start of a line is never
 * content: it ends scalars of every style. A stream with directives is one part, because they belong to the document after them.
 */
export function* splitDocuments(text: string): Generator<StreamPart> {
  let line = 1;
  let from = 0;
  const marks = /^%/m.test(text) ? [] : text.matchAll(/^---(?=\s|$).*$/gm);
  for (const mark of marks) {
    const body = text.slice(from, mark.index);
    yield { body, offset: from, line };
    line += countLines(body);
    // What follows the mark on its own line belongs to the document.
    from = mark.index + 3;
  }
  yield { body: text.slice(from), offset: from, line };
}

/** Whether a part has nothing but white space, comments and end markers. */
export function isBlankDocument(body: string): boolean {
  for (const [line] of body.matchAll(/^.*$/gm)) {
    if (!/^\s*(?:#.*|\.\.\.\s*)?$/.test(line)) return false;
  }
  return true;
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
