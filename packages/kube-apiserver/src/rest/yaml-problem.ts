// SPDX-License-Identifier: Apache-2.0
import { YAMLException } from "js-yaml";

/** What our parser calls a mistake, and what the reference's does. Its reader and composer do not say where. */
const knownProblems: readonly (readonly [pattern: RegExp, words: string, place: "line" | "nowhere"])[] = [
  [/bad indentation of a mapping entry/, "mapping values are not allowed in this context", "line"],
  [/unexpected end of the stream within a (single|double) quoted/, "found unexpected end of stream", "line"],
  [/tab characters must not be used|reserved character/, "found character that cannot start any token", "line"],
  [/unknown escape sequence/, "found unknown escape character", "line"],
  [/a line break is expected/, "did not find expected comment or line break", "line"],
  [/within a verbatim tag/, "did not find the expected '>'", "line"],
  [/null byte|non-printable characters/, "control characters are not allowed", "nowhere"],
  [/cannot merge mappings/, "map merge requires map or sequence of maps as the value", "nowhere"],
];

/** What is wrong with a YAML text, in the words of the reference's parser as far as they are known. */
export function yamlProblem(error: Error, source: string): string {
  if (!(error instanceof YAMLException)) return error.message;
  const { reason, mark } = error;
  if (/within a flow collection/.test(reason)) return openCollection(source);
  const alias = /unidentified alias "(.*)"/.exec(reason)?.[1];
  if (alias !== undefined) return `unknown anchor '${alias}' referenced`;
  const [, words = reason, place = "line"] = knownProblems.find(([pattern]) => pattern.test(reason)) ?? [];
  // The first line is not worth a number to the reference.
  const line = place === "nowhere" || mark === undefined || mark.line === 0 ? "" : `line ${mark.line + 1}: `;
  return `${line}${words}`;
}

/** A collection in brackets that is not closed: something is missing in it, or a comma or bracket behind it. */
function openCollection(source: string): string {
  const text = source.trimEnd();
  const line = `line ${source.replace(/\n$/, "").split("\n").length}`;
  return /[[{,]$/.test(text)
    ? `${line}: did not find expected node content`
    : `${line}: did not find expected ',' or '${innermost(text)}'`;
}

/** What would close the innermost collection that is open. */
function innermost(text: string): string {
  let closed = 0;
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const char = text[at];
    if (char === "}" || char === "]") closed += 1;
    if (char !== "{" && char !== "[") continue;
    if (closed === 0) return char === "{" ? "}" : "]";
    closed -= 1;
  }
  return "}";
}
