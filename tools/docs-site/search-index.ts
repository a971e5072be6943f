// SPDX-License-Identifier: Apache-2.0
import type { Token } from "marked";
import { type SearchEntry, type SearchIndex, termsOf } from "./browser/search.ts";
import { type MarkdownPage, plainText } from "./markdown.ts";

/** The sections of a page, one for each heading. */
export function entriesOf(address: string, page: MarkdownPage): readonly SearchEntry[] {
  const title = page.headings[0]?.text ?? address;
  const groups: { readonly heading: Token | undefined; readonly body: Token[] }[] = [{ heading: undefined, body: [] }];
  for (const token of page.tokens) {
    if (page.ids.has(token)) groups.push({ heading: token, body: [] });
    else groups.at(-1)?.body.push(token);
  }
  return groups.flatMap(({ heading, body }) => {
    const text = plainText(body).replaceAll(/\s+/g, " ").trim();
    if (heading === undefined) return text === "" ? [] : [{ address, page: title, heading: "", text }];
    const id = page.ids.get(heading) ?? "";
    const own = page.headings.find((one) => one.id === id)?.text ?? "";
    return [{ address: own === title ? address : `${address}#${id}`, page: title, heading: own, text }];
  });
}

const weights = { page: 6, heading: 10, text: 1 } as const;
/** A word said ten times in a section is not ten times as good a match. */
const mostMentions = 4;

/** The index of all sections. */
export function buildSearchIndex(entries: readonly SearchEntry[]): SearchIndex {
  const postings = new Map<string, number[]>();
  for (const [number, entry] of entries.entries()) {
    for (const [term, weight] of weightsOf(entry)) {
      const pairs = postings.get(term);
      if (pairs === undefined) postings.set(term, [number, weight]);
      else pairs.push(number, weight);
    }
  }
  const terms = [...postings.keys()].sort();
  return { entries, terms, postings: terms.map((term) => postings.get(term) ?? []) };
}

function weightsOf({ page, heading, text }: SearchEntry): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const add = (terms: readonly string[], weight: number, most: number): void => {
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const [term, count] of counts) found.set(term, (found.get(term) ?? 0) + weight * Math.min(count, most));
  };
  add(termsOf(page), weights.page, 1);
  add(termsOf(heading), weights.heading, 1);
  add(termsOf(text), weights.text, mostMentions);
  return found;
}
