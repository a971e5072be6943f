// SPDX-License-Identifier: Apache-2.0
// The search of the site. The build makes the index; the page and the tests ask it.

/** A section of a page. */
export interface SearchEntry {
  /** Relative to the front page of the site, with its anchor. */
  readonly address: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** What the build writes: sorted terms, and for each one pairs of an entry and its weight. */
export interface SearchIndex {
  readonly entries: readonly SearchEntry[];
  readonly terms: readonly string[];
  readonly postings: ReadonlyArray<readonly number[]>;
}

/** One line of the results. */
export interface SearchHit {
  readonly entry: SearchEntry;
  readonly score: number;
}

/** The terms of a text: words in lower case, without a plural s; `revisionHistoryLimit` is also its three parts. */
export function termsOf(text: string): readonly string[] {
  const words = text.match(/[\p{L}\p{N}_]+/gu) ?? [];
  return words.flatMap((word) => {
    const parts = word.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|_/u).filter((part) => part !== "");
    return [...new Set([word, ...parts].map(termOf))];
  });
}

function termOf(word: string): string {
  const lower = word.toLowerCase();
  return lower.length > 3 && lower.endsWith("s") && !lower.endsWith("ss") ? lower.slice(0, -1) : lower;
}

/** A word that is a whole term counts more than one that only begins it. */
const wholeTerm = 3;
/** A section whose heading is the query is what the reader looks for. */
const wholeHeading = 50;

/** The best sections for a query, best first. Every word must occur, the last ones as beginnings of words. */
export function searchIndex(index: SearchIndex, query: string, limit: number): readonly SearchHit[] {
  const words = [...new Set((query.match(/[\p{L}\p{N}_]+/gu) ?? []).map(termOf))];
  if (words.length === 0) return [];
  const scores = words.map((word) => scoresOf(index, word)).reduce(both);
  const hits = [...scores].flatMap(([number, score]) => {
    const entry = index.entries[number];
    if (entry === undefined) return [];
    const isHeading = termsOf(entry.heading).join(" ") === words.join(" ");
    return [{ entry, score: isHeading ? score + wholeHeading : score }];
  });
  return hits.sort((a, b) => b.score - a.score || a.entry.address.localeCompare(b.entry.address)).slice(0, limit);
}

function both(one: ReadonlyMap<number, number>, other: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
  const kept = [...one].flatMap(([number, score]): [number, number][] => {
    const more = other.get(number);
    return more === undefined ? [] : [[number, score + more]];
  });
  return new Map(kept);
}

function scoresOf({ terms, postings }: SearchIndex, word: string): ReadonlyMap<number, number> {
  const scores = new Map<number, number>();
  for (let at = firstAtLeast(terms, word); terms[at]?.startsWith(word) === true; at += 1) {
    const factor = terms[at] === word ? wholeTerm : 1;
    const pairs = postings[at] ?? [];
    for (let pair = 0; pair < pairs.length; pair += 2) {
      const number = pairs[pair] ?? 0;
      scores.set(number, Math.max(scores.get(number) ?? 0, factor * (pairs[pair + 1] ?? 0)));
    }
  }
  return scores;
}

function firstAtLeast(terms: readonly string[], word: string): number {
  let low = 0;
  let high = terms.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((terms[middle] ?? "") < word) low = middle + 1;
    else high = middle;
  }
  return low;
}

const excerptLength = 160;

/** The part of a section's text where the query's first found word is. */
export function excerptOf(text: string, query: string): string {
  const lower = text.toLowerCase();
  const places = termsOf(query).map((term) => lower.indexOf(term));
  const first = places.find((place) => place >= 0) ?? 0;
  const start = first < excerptLength / 2 ? 0 : text.indexOf(" ", first - excerptLength / 2) + 1;
  const part = text.slice(start, start + excerptLength);
  return `${start > 0 ? "… " : ""}${part}${start + excerptLength < text.length ? " …" : ""}`;
}
