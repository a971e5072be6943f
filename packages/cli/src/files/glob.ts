// SPDX-License-Identifier: Apache-2.0
// Shell patterns of file names, matched without trying all combinations: the work is at most the product of the lengths of pattern and path.

import { UserError } from "../user-error.ts";

/** One character of a pattern: itself, or which characters it stands for. `*` stands for any number of them. */
type Element = string | ((character: string) => boolean) | typeof star;

const star = Symbol("*");
/** A segment that stands for any number of folders. */
const anyDepth = Symbol("**");

type Segment = readonly Element[] | typeof anyDepth;

/**
 * Whether a path matches a pattern: `*` and `?` stand for characters but a slash, `[a-z]` and `[!a-z]` for one of a set, `**` between slashes
 * for any number of folders, and a backslash takes the next character as it is. At the end, `/**` stands for everything below. `{a,b}` stands
 * for either, and several slashes for one. Throws a UserError for a pattern that a shell would read in another way.
 */
export function parseGlob(pattern: string): (path: string) => boolean {
  const all = expandBraces(pattern).map(segmentsOf);
  return (path) => {
    const names = path.split("/").map((segment) => Array.from(segment));
    return all.some((segments) => matchesSegments(segments, names));
  };
}

/** What a pattern stands for is matched one by one. */
const most = { alternatives: 100, characters: 65_536 };

/** The text of a pattern at one depth of braces. */
interface Brace {
  /** What stood before a comma, in all its alternatives. */
  readonly before: (readonly string[])[];
  /** The text since, in all its alternatives. */
  texts: readonly string[];
}

/** The patterns that a pattern with braces stands for. Braces that do not close or have no comma stand for themselves. */
export function expandBraces(pattern: string): readonly string[] {
  if (!pattern.includes("{")) return [pattern];
  const whole: Brace = { before: [], texts: [""] };
  const open = [whole];
  for (const token of pattern.match(/[{},]|(?:\\.|[^\\{},])+|\\$/gs) ?? []) {
    const inner = open.at(-1) ?? whole;
    if (token === "{") open.push({ before: [], texts: [""] });
    else if (token === "," && open.length > 1) {
      inner.before.push(inner.texts);
      inner.texts = [""];
    } else if (token === "}" && open.length > 1) {
      open.pop();
      append(open, alternativesOf(inner));
    } else append(open, [token]);
  }
  while (open.length > 1) appendUnclosed(open);
  requireShort(whole.texts);
  return whole.texts;
}

function appendUnclosed(open: Brace[]): void {
  const { before, texts } = open.pop() as Brace;
  append(open, ["{"]);
  for (const one of before) {
    append(open, one);
    append(open, [","]);
  }
  append(open, texts);
}

/** Each text so far, with each of what follows. */
function append(open: readonly Brace[], alternatives: readonly string[]): void {
  const inner = open.at(-1) as Brace;
  requireFew(inner.texts.length * alternatives.length);
  inner.texts = inner.texts.flatMap((text) => alternatives.map((one) => text + one));
}

function alternativesOf({ before, texts }: Brace): readonly string[] {
  requireFew(before.reduce((sum, { length }) => sum + length, texts.length));
  if (before.length > 0) return [...before.flat(), ...texts];
  const range = texts.find((text) => /^(?:-?\d+\.\.-?\d+|[a-z]\.\.[a-z])(?:\.\.-?\d+)?$/i.test(text));
  if (range === undefined) return texts.map((text) => `{${text}}`);
  throw new UserError(`{${range}} is not supported: list what it stands for, such as {1,2,3}`);
}

function requireShort(texts: readonly string[]): void {
  if (texts.reduce((sum, { length }) => sum + length, 0) <= most.characters) return;
  throw new UserError(`its braces stand for more than ${most.characters} characters: use several patterns`);
}

function requireFew(alternatives: number): void {
  if (alternatives <= most.alternatives) return;
  throw new UserError(`its braces stand for more than ${most.alternatives} alternatives: use several patterns`);
}

function segmentsOf(pattern: string): Segment[] {
  const parts = pattern.replaceAll(/\/{2,}/g, "/").split("/");
  const segments = parts.map((segment): Segment => (segment === "**" ? anyDepth : elementsOf(segment)));
  const last = segments.length - 1;
  // What is below a folder has a name.
  if (last > 0 && segments[last] === anyDepth) segments.push([star]);
  return segments;
}

function matchesSegments(segments: readonly Segment[], path: readonly (readonly string[])[]): boolean {
  return matchesList(path, {
    pattern: segments,
    isMany: (segment) => segment === anyDepth,
    isOne: (segment, name) => segment !== anyDepth && matchesName(segment, name),
  });
}

function matchesName(elements: readonly Element[], name: readonly string[]): boolean {
  return matchesList(name, {
    pattern: elements,
    isMany: (element) => element === star,
    isOne: (element, character) => (typeof element === "function" ? element(character) : element === character),
  });
}

/** A pattern of which some parts stand for any number of items, and the others for one. */
interface ListPattern<P, T> {
  readonly pattern: readonly P[];
  readonly isMany: (part: P) => boolean;
  readonly isOne: (part: P, item: T) => boolean;
}

/** Where a part stands for many items, the last such part alone is extended: what those before it stand for need not change. */
function matchesList<P, T>(items: readonly T[], { pattern, isMany, isOne }: ListPattern<P, T>): boolean {
  let [part, item] = [0, 0];
  let many: { readonly part: number; item: number } | undefined;
  while (item < items.length) {
    if (part < pattern.length && isMany(pattern[part] as P)) {
      many = { part: ++part, item };
    } else if (part < pattern.length && isOne(pattern[part] as P, items[item] as T)) {
      part++;
      item++;
    } else if (many !== undefined) {
      part = many.part;
      item = ++many.item;
    } else return false;
  }
  while (part < pattern.length && isMany(pattern[part] as P)) part++;
  return part === pattern.length;
}

function elementsOf(segment: string): Element[] {
  const characters = Array.from(segment);
  const elements: Element[] = [];
  let at = 0;
  // Behind a bracket that is not closed, no other one is looked for: that would read the rest for each of them.
  let isClosed = true;
  const lastParenthesis = characters.lastIndexOf(")");
  while (at < characters.length) {
    const character = characters[at++] as string;
    if (characters[at] === "(" && at < lastParenthesis && "+@!?*".includes(character)) throw groupError(character);
    if (character === "*") {
      if (elements.at(-1) !== star) elements.push(star);
    } else if (character === "?") elements.push(() => true);
    else if (character === "\\") elements.push(characters[at++] ?? character);
    else if (character !== "[" || !isClosed) elements.push(character);
    else {
      const set = setAt(characters, at);
      isClosed = set !== undefined;
      elements.push(set?.has ?? character);
      at = set?.end ?? at;
    }
  }
  return elements;
}

/** A shell may read it as a group. Taken as it is, it would silently match other files. */
function groupError(character: string): UserError {
  return new UserError(`${character}(…) is not supported: ${groupAdvice[character]}, or \\( for a parenthesis`);
}

const groupAdvice: Readonly<Record<string, string>> = {
  "!": "list what to match",
  "?": "write {,a,b}",
  "*": "write {a,b} or *",
  "+": "write {a,b}",
  "@": "write {a,b}",
};

interface CharacterSet {
  readonly has: (character: string) => boolean;
  /** Where the pattern goes on after it. */
  readonly end: number;
}

/** The classes that `[[:name:]]` stands for. */
const classes: ReadonlyMap<string, RegExp> = new Map([
  ["alnum", /[\p{L}\p{Nl}\p{Nd}]/u],
  ["alpha", /[\p{L}\p{Nl}]/u],
  ["blank", /[\p{Zs}\t]/u],
  ["cntrl", /\p{Cc}/u],
  ["digit", /\p{Nd}/u],
  ["graph", /[^\p{Z}\p{C}]/u],
  ["lower", /\p{Ll}/u],
  ["print", /\P{C}/u],
  ["punct", /\p{P}/u],
  ["space", /[\p{Z}\t\r\n\v\f]/u],
  ["upper", /\p{Lu}/u],
  ["xdigit", /[A-Fa-f0-9]/],
]);

/** The set whose bracket opens before a place; undefined where the bracket is not closed, and stands for itself. */
function setAt(characters: readonly string[], start: number): CharacterSet | undefined {
  let at = start;
  const isNegated = characters[at] === "!" || characters[at] === "^";
  if (isNegated) at++;
  const first = at;
  const parts: ((character: string) => boolean)[] = [];
  while (at < characters.length && (characters[at] !== "]" || at === first)) {
    const found = classAt(characters, at) ?? rangeAt(characters, at);
    parts.push(found.has);
    at = found.end;
  }
  if (at >= characters.length) return undefined;
  return { has: (character) => parts.some((part) => part(character)) !== isNegated, end: at + 1 };
}

function classAt(characters: readonly string[], at: number): CharacterSet | undefined {
  if (characters[at] !== "[" || characters[at + 1] !== ":") return undefined;
  const end = characters.indexOf(":", at + 2);
  if (end < 0) return undefined;
  const found = classes.get(characters.slice(at + 2, end).join(""));
  if (found === undefined || characters[end + 1] !== "]") return undefined;
  return { has: (character) => found.test(character), end: end + 2 };
}

/** A character, or all from one to another. */
function rangeAt(characters: readonly string[], start: number): CharacterSet {
  const from = characterAt(characters, start);
  const isRange = characters[from.end] === "-" && (characters[from.end + 1] ?? "]") !== "]";
  if (!isRange) return { has: (character) => character === from.character, end: from.end };
  const to = characterAt(characters, from.end + 1);
  const [low, high] = [codeOf(from.character), codeOf(to.character)];
  return { has: (character) => codeOf(character) >= low && codeOf(character) <= high, end: to.end };
}

function characterAt(characters: readonly string[], at: number): { readonly character: string; readonly end: number } {
  const character = characters[at] ?? "";
  const next = characters[at + 1];
  return character === "\\" && next !== undefined ? { character: next, end: at + 2 } : { character, end: at + 1 };
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;
