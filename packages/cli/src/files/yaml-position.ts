// SPDX-License-Identifier: Apache-2.0
import { EVENT_ID, type Event, getScalarValue, SCALAR_STYLE } from "js-yaml";

/** One step from a value to a value inside it. */
export type PathSegment = string | number;

/**
 * The offset in the text at which the value stands that a path leads to: the key of a member, the start of an item. When
 * the path leads nowhere, the offset of the last value on the way that exists.
 */
export function findOffset(text: string, events: readonly Event[], path: readonly PathSegment[]): number {
  let at = 0;
  let offset = startOf(events[at]) ?? 0;
  for (const segment of path) {
    const found = findChild(text, { events, at }, segment);
    if (found === undefined) break;
    at = found.at;
    offset = found.offset;
  }
  return offset;
}

interface Place {
  readonly events: readonly Event[];
  readonly at: number;
}

interface Child {
  /** Where the value's events begin. */
  readonly at: number;
  /** Where in the text a reader would look for it. */
  readonly offset: number;
}

function findChild(text: string, { events, at }: Place, segment: PathSegment): Child | undefined {
  const parent = events[at];
  if (parent?.type === EVENT_ID.MAPPING) return findMember(text, { events, at }, String(segment));
  if (parent?.type === EVENT_ID.SEQUENCE) return findItem({ events, at }, Number(segment));
  return undefined;
}

function findMember(text: string, { events, at }: Place, name: string): Child | undefined {
  let key = at + 1;
  while (!isPop(events[key])) {
    const value = afterNode(events, key);
    const event = events[key];
    if (event?.type === EVENT_ID.SCALAR && getScalarValue(text, event) === name) {
      return { at: value, offset: startOf(event) ?? 0 };
    }
    key = afterNode(events, value);
  }
  return undefined;
}

function findItem({ events, at }: Place, index: number): Child | undefined {
  const item = itemsOf(events, at)[index];
  const offset = item === undefined ? undefined : startOf(events[item]);
  return item === undefined || offset === undefined ? undefined : { at: item, offset };
}

/** Where the items of sequences begin: lists of many objects are asked for each of them. */
const knownItems = new WeakMap<readonly Event[], Map<number, readonly number[]>>();

function itemsOf(events: readonly Event[], at: number): readonly number[] {
  const known = knownItems.get(events) ?? new Map<number, readonly number[]>();
  knownItems.set(events, known);
  const items = known.get(at) ?? findItems(events, at);
  known.set(at, items);
  return items;
}

function findItems(events: readonly Event[], at: number): readonly number[] {
  const items: number[] = [];
  for (let item = at + 1; !isPop(events[item]); item = afterNode(events, item)) items.push(item);
  return items;
}

/** The index of the event after a node and everything in it. */
function afterNode(events: readonly Event[], at: number): number {
  let depth = 0;
  let next = at;
  do {
    const event = events[next];
    if (event?.type === EVENT_ID.MAPPING || event?.type === EVENT_ID.SEQUENCE) depth++;
    else if (isPop(event)) depth--;
    next++;
  } while (depth > 0);
  return next;
}

function isPop(event: Event | undefined): boolean {
  return event === undefined || event.type === EVENT_ID.POP;
}

function startOf(event: Event | undefined): number | undefined {
  switch (event?.type) {
    case EVENT_ID.MAPPING:
    case EVENT_ID.SEQUENCE:
      return event.start;
    case EVENT_ID.SCALAR:
      return isQuoted(event.style) ? event.valueStart - 1 : event.valueStart;
    case EVENT_ID.ALIAS:
      // The name comes after the asterisk.
      return event.anchorStart - 1;
    default:
      return undefined;
  }
}

/** The value of a quoted scalar comes after its quotation mark. */
function isQuoted(style: (typeof SCALAR_STYLE)[keyof typeof SCALAR_STYLE]): boolean {
  return style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED;
}

// Members of schemas are written as properties[spec].
const token = /\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\[([^\]"]+)\]|\.?([^.[\]]+)/y;

/** Takes a path such as `observed.resources["a.b"].items[0]` apart. What cannot be read ends the path. */
export function parseFieldPath(path: string): PathSegment[] {
  const segments: PathSegment[] = [];
  token.lastIndex = 0;
  for (let match = token.exec(path); match !== null; match = token.exec(path)) {
    const [, index, quoted, bracketed, name] = match;
    const segment = quoted === undefined ? (bracketed ?? name ?? "") : unquoted(quoted);
    if (segment === undefined) break;
    segments.push(index === undefined ? segment : Number(index));
  }
  return segments;
}

/** The text of a JSON string without its quotes; undefined when it is not one, such as one with a control character. */
function unquoted(text: string): string | undefined {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return undefined;
  }
}
