// SPDX-License-Identifier: Apache-2.0
import { Turns } from "@purlin/base";
import { isJsonObject, type JsonObject, type JsonValue, sortedKeys } from "@purlin/kube-objects/json";
import {
  isBlankDocument,
  isBounded,
  kubectlSchema,
  printYaml as print,
  readFlowEvents,
  type StreamPart,
  splitDocuments,
} from "@purlin/kube-objects/yaml";
import { constructFromEvents, EVENT_ID, type Event, YAMLException } from "js-yaml";
import { textOf, UserError } from "../user-error.ts";
import { findOffset, type PathSegment } from "./yaml-position.ts";

/** The text of a YAML file and where things stand in it. */
interface YamlSource {
  readonly text: string;
  readonly file: string;
  /** `file:line:column` of an offset. */
  place(offset: number): string;
  /** The events of a document; those of the last document asked for are kept. */
  eventsOf(document: object, read: () => readonly Event[]): readonly Event[];
}

/** Far beyond what any resource or schema needs, and safe on the default stack. */
const maxDepth = 1_000;
/** API servers take objects of 3 MiB at most; lists of objects may be larger. */
const maxDocumentLength = 8 * 1024 * 1024;
const maxDocuments = 100_000;
/** Aliases may repeat parts of a document, as long as it stands for little more than documents may have. */
const expansion = { size: 2 * maxDocumentLength, depth: maxDepth + 1 };
/** Reasons can repeat what the document says. */
const maxReasonLength = 200;

/** One document of a YAML or JSON file, with the position of each of its values. */
export interface YamlDocument {
  /** The file as the user named it. */
  readonly file: string;
  readonly value: unknown;
  /** `file:line:column` of the value that a path leads to, or of the last one on the way that exists. */
  at(path?: readonly PathSegment[]): string;
}

/**
 * Reads all documents of a text. Empty ones are left out. Throws a UserError with the line of what is broken, or of what is larger or
 * deeper than documents may be once aliases and merge keys are written out.
 */
export function parseYaml(text: string, file: string): YamlDocument[] {
  const source = createYamlSource(text, file);
  return partsOf(source).flatMap((part) => parsePart(part, source));
}

/** The same, and lets other work run between documents: `purlin up` serves an API at the same time. */
export async function parseYamlStream(text: string, file: string): Promise<YamlDocument[]> {
  const source = createYamlSource(text, file);
  const documents: YamlDocument[] = [];
  const turns = new Turns();
  for (const part of partsOf(source)) {
    documents.push(...parsePart(part, source));
    if (turns.isOver) await turns.next();
  }
  return documents;
}

/** The documents of a file, all of which are small enough. */
function partsOf(source: YamlSource): readonly StreamPart[] {
  const parts: StreamPart[] = [];
  for (const part of splitDocuments(source.text)) {
    if (part.body.length > maxDocumentLength) {
      const where = source.place(part.offset);
      throw new UserError(`${where}: the document is larger than 8 MiB: split it into several files`);
    }
    if (isBlankDocument(part.body)) continue;
    parts.push(part);
    if (parts.length <= maxDocuments) continue;
    const where = source.place(part.offset);
    throw new UserError(`${where}: the file has more than ${maxDocuments} documents: split it into several files`);
  }
  return parts;
}

function parsePart({ body, offset: base }: StreamPart, source: YamlSource): YamlDocument[] {
  const read = (): ReturnType<typeof readFlowEvents> => readFlowEvents(body, { maxDepth });
  const { events, text } = orUserError({ base, source }, read);
  return splitEvents(events).flatMap((own, index) => {
    const options = { source: text, schema: kubectlSchema };
    const [value] = orUserError({ base, source }, () => constructFromEvents(own, options));
    requireBounded(value, own, { base, source });
    // Events take many times the memory of the text: they are read again where a line is asked for.
    const contentOf = (): readonly Event[] => contentEvents(splitEvents(read().events)[index] ?? []);
    const start = base + findOffset(text, contentEvents(own), []);
    const key = {};
    const at = (path: readonly PathSegment[] = []): string => {
      if (path.length === 0) return source.place(start);
      return source.place(base + findOffset(text, source.eventsOf(key, contentOf), path));
    };
    return value === undefined || value === null ? [] : [{ file: source.file, value, at }];
  });
}

/** The events of a document stand between that of the document itself and the one that closes it. */
function contentEvents(events: readonly Event[]): readonly Event[] {
  return events.slice(1, -1);
}

function splitEvents(events: readonly Event[]): Event[][] {
  const documents: Event[][] = [];
  for (const event of events) {
    if (event.type === EVENT_ID.DOCUMENT) documents.push([]);
    documents.at(-1)?.push(event);
  }
  return documents;
}

interface Place {
  readonly base: number;
  readonly source: YamlSource;
}

function requireBounded(value: unknown, events: readonly Event[], { base, source }: Place): void {
  const alias = events.find((event) => event.type === EVENT_ID.ALIAS);
  if (alias === undefined || isBounded(value, expansion)) return;
  const where = source.place(base + alias.anchorStart);
  const text = "aliases (*) expand to more than 16 MiB or refer to themselves: write the values out";
  throw new UserError(`${where}: ${text}`);
}

function orUserError<T>({ base, source }: Place, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const mark = error instanceof YAMLException ? error.mark : undefined;
    const where = mark === undefined ? source.file : source.place(base + mark.position);
    const reason = error instanceof YAMLException ? error.reason : textOf(error);
    throw new UserError(`${where}: ${problemOf(reason.slice(0, maxReasonLength), source.file)}`, { cause: error });
  }
}

function problemOf(reason: string, file: string): string {
  if (/maxDepth/.test(reason)) return `nested deeper than ${maxDepth} levels: reduce the nesting`;
  const merged = /maxTotalMergeKeys \((\d+)\)/.exec(reason)?.[1];
  if (merged !== undefined) return `merge keys (<<) add more than ${merged} members: write the values out`;
  const format = file.endsWith(".json") ? "JSON" : "YAML";
  return `invalid ${format}: ${reason}: check this line and the one before it`;
}

/** Makes a {@link YamlSource}. Lines are counted once, when the first place is asked for. */
function createYamlSource(text: string, file: string): YamlSource {
  let starts: readonly number[] | undefined;
  let kept: { readonly document: object; readonly events: readonly Event[] } | undefined;
  return {
    text,
    file,
    place(offset) {
      starts ??= lineStarts(text);
      const line = lastAtOrBefore(starts, offset);
      return `${file}:${line + 1}:${offset - (starts[line] ?? 0) + 1}`;
    },
    eventsOf(document, read) {
      if (kept?.document !== document) kept = { document, events: read() };
      return kept.events;
    },
  };
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** The index of the last number that is not above the wanted one; the numbers ascend from 0. */
function lastAtOrBefore(numbers: readonly number[], wanted: number): number {
  let low = 0;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((numbers[middle] ?? 0) <= wanted) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A JSON value as YAML that any reader understands: no anchors, no folded lines, quoted where YAML 1.1 would guess. */
export function printYaml(value: unknown): string {
  return print(value as JsonValue, { sortKeys: false, wrap: false, quoteMergeKey: true });
}

/** Documents as YAML, each begun by a line of its own, members in the order of their names. */
export function printDocuments(documents: readonly JsonObject[]): string {
  return documents.map((document) => `---\n${printYaml(sorted(document))}`).join("");
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(sortedKeys(value).map((key) => [key, sorted(value[key] ?? null)]));
}
