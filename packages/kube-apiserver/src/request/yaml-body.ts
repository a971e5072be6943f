// SPDX-License-Identifier: Apache-2.0

import { finish, type Work } from "@purlin/base";
import { badRequest, isStatusError, requestEntityTooLarge } from "@purlin/kube-objects/errors";
import {
  countJsonValues,
  goQuote,
  isJsonObject,
  type JsonValue,
  maxJsonDepth,
  parsingJsonStrict,
} from "@purlin/kube-objects/json";
import { isBounded, wideIntegerSchema } from "@purlin/kube-objects/yaml";
import { constructFromEvents, EVENT_ID, type Event, getScalarValue, parseEvents, YAMLException } from "js-yaml";
import { maxValues, requireFewValues } from "./negotiate.ts";

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

/** Most characters of a problem that are shown. */
const maxReason = 1024;

/** What is wrong with a YAML text, in the words of the reference's parser as far as they are known. */
function yamlProblem(error: Error, source: string): string {
  if (!(error instanceof YAMLException)) return error.message;
  const { mark } = error;
  // It may have a name as long as the body.
  const reason = error.reason.slice(0, maxReason);
  if (/within a flow collection/.test(reason)) return openCollection(source);
  const alias = /unidentified alias "(.*?)"?$/.exec(reason)?.[1];
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

/** What a YAML body says, and what is wrong with it strictly speaking: keys that come twice. */
export interface YamlReading {
  readonly value: JsonValue;
  readonly duplicates: readonly string[];
}

/** A document may say the same thing many times with few words; this is how many words it may stand for. */
const maxNodes = maxValues;

/** From this length on it pays to find out whether a text is JSON, which is read ten times as fast. */
const longText = 64 * 1024;

/** How many characters and members it may stand for: a long text that is repeated is no more nodes, and many bytes. */
const expansion = { size: 16 * 1024 * 1024, depth: maxJsonDepth };

function excessiveAliasing(): Error {
  return badRequest("error converting YAML to JSON: yaml: document contains excessive aliasing");
}

/** Reads one YAML document. Throws 400 in the reference's words. */
export function readYaml(text: string): YamlReading {
  return finish(readingYaml(text));
}

/** The same in parts. */
export function* readingYaml(text: string): Work<YamlReading> {
  const json = text.length > longText ? yield* readAsJson(text) : undefined;
  if (json !== undefined) return json;
  requireFewSeparators(text);
  yield;
  // The parser refuses it too, after it has looked for lines around each of them.
  if (text.includes("\0")) throw badRequest("error converting YAML to JSON: yaml: control characters are not allowed");
  try {
    if (longDirective.test(text)) throw tooLong("directive");
    const events = parseEvents(text, { maxDepth: maxJsonDepth });
    if (events.some(hasLongTag)) throw tooLong("tag");
    yield;
    const strict = constructStrictly(events, text);
    yield;
    const [value] = strict ?? constructFromEvents(events, { source: text, schema: wideIntegerSchema, json: true });
    yield;
    if (!isBounded(value, expansion)) throw excessiveAliasing();
    requireJson(value ?? null, { left: maxNodes });
    return { value: (value ?? null) as JsonValue, duplicates: strict === undefined ? duplicatesOf(events, text) : [] };
  } catch (error) {
    if (isStatusError(error)) throw error;
    throw badRequest(
      `error converting YAML to JSON: yaml: ${error instanceof Error ? yamlProblem(error, text) : String(error)}`,
      error,
    );
  }
}

/** What a text says that is plain JSON, and so YAML; undefined when it is not, or when the two may differ about it. */
function* readAsJson(text: string): Work<YamlReading | undefined> {
  if (!/^\s*\{/.test(text)) return undefined;
  requireFewValues(countJsonValues(text));
  yield;
  try {
    const { value, duplicates, fractions } = yield* parsingJsonStrict(text);
    return duplicates.length > 0 || fractions !== undefined ? undefined : { value, duplicates };
  } catch {
    return undefined;
  }
}

/** Most line breaks and commas of a text that is not JSON: reading it takes longer than its length says. */
const maxSeparators = 100_000;

function requireFewSeparators(text: string): void {
  if (text.length <= maxSeparators) return;
  let count = 0;
  for (const separator of [",", "\n", "\r"]) {
    for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1)) {
      // Both characters end one line.
      if (separator === "\r" && text[at + 1] === "\n") continue;
      count += 1;
      if (count > maxSeparators) {
        throw requestEntityTooLarge(`limit is ${maxSeparators} lines and commas of YAML: send the object as JSON`);
      }
    }
  }
}

/** Most characters of a tag and of a directive: a longer one takes longer to decode than the rest. */
const maxTag = 1024;
const longDirective = new RegExp(`^%[^\\r\\n]{${maxTag}}`, "m");

function hasLongTag(event: Event): boolean {
  return "tagStart" in event && event.tagEnd - event.tagStart > maxTag;
}

function tooLong(what: string): Error {
  return badRequest(`error converting YAML to JSON: yaml: a ${what} has more than ${maxTag} characters`);
}

/** Undefined when a key comes twice. */
function constructStrictly(events: Event[], source: string): unknown[] | undefined {
  try {
    return constructFromEvents(events, { source, schema: wideIntegerSchema });
  } catch (error) {
    if (error instanceof YAMLException && /duplicate/i.test(error.reason)) return undefined;
    throw error;
  }
}

/** As many as of JSON. */
const maxDuplicates = 100;

/** The keys that come twice in one mapping, in the words of Go's YAML package. */
function duplicatesOf(events: readonly Event[], source: string): string[] {
  const found: string[] = [];
  const lineAt = lineCounter(source);
  // One set of keys for each open mapping, none for each open sequence; keys and values alternate in a mapping.
  const open: { readonly keys: Set<string> | undefined; isKey: boolean }[] = [];
  const next = (event: Event): void => {
    const top = open.at(-1);
    if (top?.keys === undefined) return;
    if (top.isKey && event.type === EVENT_ID.SCALAR) {
      const key = getScalarValue(source, event);
      if (top.keys.has(key)) {
        if (found.length < maxDuplicates) {
          found.push(`line ${lineAt(event.valueStart)}: key ${goQuote(key)} already set in map`);
        }
      }
      top.keys.add(key);
    }
    top.isKey = !top.isKey;
  };
  for (const event of events) {
    if (event.type === EVENT_ID.POP) {
      open.pop();
      continue;
    }
    next(event);
    if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.DOCUMENT) {
      open.push({ keys: event.type === EVENT_ID.MAPPING ? new Set() : undefined, isKey: true });
    }
  }
  return found;
}

/** The line of an offset. Offsets are asked for in rising order, so the text is read once. */
function lineCounter(source: string): (offset: number) => number {
  let line = 1;
  let next = source.indexOf("\n");
  return (offset) => {
    while (next !== -1 && next < offset) {
      line += 1;
      next = source.indexOf("\n", next + 1);
    }
    return line;
  };
}

/** Refuses what JSON cannot say, and documents that stand for far more than they are. */
function requireJson(value: unknown, budget: { left: number }): void {
  budget.left -= 1;
  if (budget.left < 0) throw excessiveAliasing();
  if (typeof value === "number" && !Number.isFinite(value)) {
    const shown = Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
    throw badRequest(`error converting YAML to JSON: json: unsupported value: ${shown}`);
  }
  if (Array.isArray(value)) {
    for (const item of value) requireJson(item, budget);
  } else if (isJsonObject(value)) {
    for (const member of Object.values(value)) requireJson(member, budget);
  }
}
