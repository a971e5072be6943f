// SPDX-License-Identifier: Apache-2.0
// The lines that differ between two texts, with some around them, as Go programs print them.

/** Lines that both texts have, from `a` and from `b` on. */
interface Block {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

/** A part of both texts: lines from the first number up to the second, in the old text and in the new one. */
interface Span {
  readonly a: readonly [number, number];
  readonly b: readonly [number, number];
}

/** The longest run of lines that both parts have; the first one of the same length. */
function longestBlock(old: readonly string[], places: ReadonlyMap<string, readonly number[]>, { a, b }: Span): Block {
  let best: Block = { a: a[0], b: b[0], size: 0 };
  let lengths = new Map<number, number>();
  for (let i = a[0]; i < a[1]; i += 1) {
    const next = new Map<number, number>();
    for (const j of places.get(old[i] ?? "") ?? []) {
      if (j < b[0] || j >= b[1]) continue;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    lengths = next;
  }
  return best;
}

function matchingBlocks(old: readonly string[], now: readonly string[]): Block[] {
  const places = Map.groupBy(now.keys(), (index) => now[index] ?? "");
  const found: Block[] = [];
  const spans: Span[] = [{ a: [0, old.length], b: [0, now.length] }];
  for (let span = spans.pop(); span; span = spans.pop()) {
    const block = longestBlock(old, places, span);
    if (block.size === 0) continue;
    found.push(block);
    spans.push({ a: [span.a[0], block.a], b: [span.b[0], block.b] });
    spans.push({ a: [block.a + block.size, span.a[1]], b: [block.b + block.size, span.b[1]] });
  }
  return found.sort((one, other) => one.a - other.a);
}

/** The parts that differ, in order. */
function changes(old: readonly string[], now: readonly string[]): Span[] {
  const spans: Span[] = [];
  let [a, b] = [0, 0];
  for (const block of [...matchingBlocks(old, now), { a: old.length, b: now.length, size: 0 }]) {
    if (a < block.a || b < block.b) spans.push({ a: [a, block.a], b: [b, block.b] });
    [a, b] = [block.a + block.size, block.b + block.size];
  }
  return spans;
}

const context = 3;

/** Changes that are so near to each other that the lines between them are shown once. */
function hunks(spans: readonly Span[]): Span[][] {
  const groups: Span[][] = [];
  for (const span of spans) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && span.a[0] - last.a[1] <= 2 * context) groups.at(-1)?.push(span);
    else groups.push([span]);
  }
  return groups;
}

function rangeText(from: number, to: number): string {
  if (to - from === 1) return `${from + 1}`;
  return `${to === from ? from : from + 1},${to - from}`;
}

/** To find the runs of lines that two texts share takes long when lines repeat: of longer texts, this many lines are compared. */
const mostLines = 400;

/** The differences of two texts, or the first ones of long texts; each line ends with a line break. Empty for equal texts. */
export function unifiedDiff(old: Iterable<string>, now: Iterable<string>): string {
  const texts = [old, now].map((lines) => lines[Symbol.iterator]()) as [Iterator<string>, Iterator<string>];
  let [a, b] = texts.map((text) => nextLines(text, mostLines + 1)) as [string[], string[]];
  if (a.length <= mostLines && b.length <= mostLines) return differences(a, b, 0);
  for (let before = 0; a.length > context || b.length > context; ) {
    let same = 0;
    while (same < a.length && same < b.length && a[same] === b[same]) same += 1;
    const isSame = same === a.length && same === b.length;
    // The lines before the first difference that are shown with it.
    const start = Math.max(0, same - context);
    before += start;
    [a, b] = [a, b].map((lines, index) => {
      const kept = lines.slice(start);
      return [...kept, ...nextLines(texts[index] as Iterator<string>, mostLines - kept.length)].slice(0, mostLines);
    }) as [string[], string[]];
    if (!isSame) return differences(a, b, before);
  }
  return "";
}

function nextLines(text: Iterator<string>, count: number): string[] {
  const lines: string[] = [];
  while (lines.length < count) {
    const line = text.next();
    if (line.done) break;
    lines.push(line.value);
  }
  return lines;
}

/** The differences of two parts that both have this many lines before them. */
function differences(old: readonly string[], now: readonly string[], before: number): string {
  const lines = hunks(changes(old, now)).flatMap((group) => {
    const [first, last] = [group[0] as Span, group.at(-1) as Span];
    const start = Math.max(0, first.a[0] - context);
    const end = Math.min(old.length, last.a[1] + context);
    const [newStart, newEnd] = [first.b[0] - (first.a[0] - start), last.b[1] + (end - last.a[1])];
    const shown: string[] = [
      `@@ -${rangeText(before + start, before + end)} +${rangeText(before + newStart, before + newEnd)} @@`,
    ];
    let at = start;
    for (const { a, b } of group) {
      shown.push(...old.slice(at, a[0]).map((line) => ` ${line}`));
      shown.push(...old.slice(...a).map((line) => `-${line}`), ...now.slice(...b).map((line) => `+${line}`));
      at = a[1];
    }
    return [...shown, ...old.slice(at, end).map((line) => ` ${line}`)];
  });
  return lines.map((line) => `${line}\n`).join("");
}
