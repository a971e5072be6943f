// SPDX-License-Identifier: Apache-2.0
import type { Event } from "js-yaml";

/** The text of a YAML file and where things stand in it. */
export interface YamlSource {
  readonly text: string;
  readonly file: string;
  /** `file:line:column` of an offset. */
  place(offset: number): string;
  /** The events of a document; those of the last document asked for are kept. */
  eventsOf(document: object, read: () => readonly Event[]): readonly Event[];
}

/** Makes a {@link YamlSource}. Lines are counted once, when the first place is asked for. */
export function createYamlSource(text: string, file: string): YamlSource {
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
