// SPDX-License-Identifier: Apache-2.0
// Lines inside [ ] and { } that are indented less than the block around them, or with tabs: kubectl reads them, js-yaml does not.
import { type Event, parseEvents, YAMLException } from "js-yaml";

/** The events of a text, and the text that they were read from: each character is where it was. */
interface ReadEvents {
  readonly events: Event[];
  readonly text: string;
}

const refusal = "deficient indentation";
/** Each collection that is read again costs another pass: a text may have many. */
const maxCharacters = 8 * 1024 * 1024;

/** Reads a text as js-yaml does; where that refuses the indentation inside a flow collection, as if the collection were on one line. */
export function readFlowEvents(source: string, options: { readonly maxDepth: number }): ReadEvents {
  let text = source;
  let first: unknown;
  for (let read = 0; read <= maxCharacters; read += source.length) {
    try {
      return { events: parseEvents(text, options), text };
    } catch (error) {
      first ??= error;
      const { reason, mark } = error instanceof YAMLException ? error : {};
      const joined = reason === refusal && mark !== undefined ? joinLines(text, mark.position) : text;
      if (joined === text) throw first;
      text = joined;
    }
  }
  throw first;
}

const isSpace = (character: string | undefined): boolean =>
  character === " " || character === "\t" || character === "\n" || character === "\r";

/** The text with line breaks, tabs and comments between tokens as spaces, from a position on to the end of its flow collection. */
function joinLines(text: string, position: number): string {
  const start = endOfToken(text, position);
  if (!isInsideCollection(text.slice(0, start))) return text;
  const end = endOfCollection(text, start);
  const out: string[] = [];
  for (let at = start; at < end; at += 1) {
    const close = quoteEnd(text, at);
    if (close !== undefined) {
      out.push(text.slice(at, close));
      at = close - 1;
    } else if (isComment(text, at)) {
      const stop = lineEnd(text, at);
      out.push(" ".repeat(stop - at));
      at = stop - 1;
    } else if (isSpace(text[at]) && text[at] !== " ") {
      // A plain scalar over several lines is folded, which spaces are not.
      if (isInScalar(text, at)) return text.slice(0, start) + out.join("") + text.slice(at);
      out.push(" ");
    } else out.push(text[at] ?? "");
  }
  return text.slice(0, start) + out.join("") + text.slice(end);
}

/** The place after the last token before a position: white space and a comment may follow it. */
function endOfToken(text: string, position: number): number {
  let start = position;
  while (start > 0 && isSpace(text[start - 1])) start -= 1;
  for (let at = text.lastIndexOf("\n", start - 1) + 1; at < start; at += 1) {
    if (isComment(text, at) && isInsideCollection(text.slice(0, at).trimEnd())) return endOfToken(text, at);
  }
  return start;
}

/** Whether a text ends inside a flow collection, and not inside a quoted scalar: js-yaml says what it misses. */
function isInsideCollection(text: string): boolean {
  try {
    parseEvents(text, { maxDepth: 1_000 });
    return false;
  } catch (error) {
    return error instanceof YAMLException && /end of the stream within a flow collection/.test(error.reason);
  }
}

const isComment = (text: string, at: number): boolean => text[at] === "#" && isSpace(text[at - 1]);

function lineEnd(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found < 0 ? text.length : found;
}

/** The place after a quoted scalar that begins here; undefined where none does. */
function quoteEnd(text: string, at: number): number | undefined {
  const quote = text[at];
  if (quote !== '"' && quote !== "'") return undefined;
  let before = at - 1;
  while (isSpace(text[before])) before -= 1;
  if (!",[{:".includes(text[before] ?? "x")) return undefined;
  for (let end = at + 1; end < text.length; end += 1) {
    if (quote === '"' && text[end] === "\\") end += 1;
    else if (quote === "'" && text[end] === "'" && text[end + 1] === "'") end += 1;
    else if (text[end] === quote) return end + 1;
  }
  return text.length;
}

/** The next character that is neither white nor in a comment. */
function nextToken(text: string, from: number): string | undefined {
  for (let at = from; at < text.length; at += 1) {
    if (isComment(text, at)) at = lineEnd(text, at);
    else if (!isSpace(text[at])) return text[at];
  }
  return undefined;
}

function isInScalar(text: string, at: number): boolean {
  let before = at;
  while (isSpace(text[before])) before -= 1;
  const [last, next] = [text[before] ?? "[", nextToken(text, at) ?? "]"];
  return !",[{:]}\"'".includes(last) && !",]}:".includes(next);
}

/** The place after the outermost collection that is open here: a comma or another end follows each inner one. */
function endOfCollection(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const close = quoteEnd(text, at);
    if (close !== undefined) at = close - 1;
    else if (isComment(text, at)) at = lineEnd(text, at);
    else if (text[at] === "[" || text[at] === "{") depth += 1;
    else if (text[at] === "]" || text[at] === "}") {
      depth -= 1;
      if (depth < 0 && !",]}".includes(nextToken(text, at + 1) ?? "x")) return at + 1;
      depth = Math.max(depth, 0);
    }
  }
  return text.length;
}
