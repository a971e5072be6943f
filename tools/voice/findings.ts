// SPDX-License-Identifier: Apache-2.0

/** A phrase to rewrite. */
export interface Finding {
  readonly line: { readonly number: number; readonly text: string };
  readonly phrase: string;
  readonly advice: string;
}

/** "no longer", "no more than" and "no faster than" are plain English; so is "there is no". */
const plainAfterNo = "longer|more|less|fewer|other|such|different|better|worse|need|\\w+er than|\\(";

/** Each phrase with what to write instead. Identifiers count too. The patterns are written so that they do not match themselves. */
const phrases: ReadonlyArray<{ readonly pattern: RegExp; readonly advice: string }> = [
  {
    pattern: /\b((?:no|some|any)body|whom?ever)\b/i,
    advice: "name the user, client, process or controller",
  },
  {
    pattern: /\b(?:[Uu]n)?[Tt]old\b|[a-z][T]old(?![a-z])|\b[t]old[A-Z]/,
    advice: "say what happens: reported, written, logged, emitted",
  },
  {
    pattern: /\b[Tt]ell(?:s|ing)?\b|\b[t]ell[A-Z]|\b[Hh]ear(?:s|d)?\b/,
    advice: "name what the code does: reports, prints, emits, distinguishes, receives",
  },
  {
    pattern: /\b(?:says?|said|knows?|knew) nothing\b|\b(?:is|are|was|were|be) said\b/,
    advice: "say what is missing: has no …, sets no …, returns nothing",
  },
  {
    pattern: /\b(?:becomes?|became) of\b/,
    advice: 'write "the outcome of …" or "what happens to …"',
  },
  {
    pattern: /\b[Ss]o many\b(?! (?:\w+ )?(?:that|as)\b)/,
    advice: 'write "this many", "at most …" or "the number of …"',
  },
  {
    pattern: /\bany more\b|\b(?:a[n]ew|a[f]resh)\b/,
    advice: 'write "no longer" or "again"',
  },
  {
    pattern: /\bputs? (?:it |them )?right\b|\blets? (?:\w+ )?go\b/,
    advice: "write fix, correct, release or remove",
  },
  {
    pattern: /\b(?:those|ones?|several|by|from|only|all) who\b|["`]who (?!owns)/,
    advice: "name the user, client, process or controller",
  },
  {
    pattern: /(?<!\b[Tt]here )\b(is|are|was|were) none\b(?! of\b)/,
    advice: 'write "is not a …" or "is missing"',
  },
  {
    pattern: new RegExp(`(?<!\\bthere )\\b(is|are|was|were) no (?!(?:${plainAfterNo}))[a-z]`, "i"),
    advice: 'write "is not a …"',
  },
];

/** The phrases to rewrite in a text, line by line. */
export function findings(text: string): Finding[] {
  return text.split("\n").flatMap((line, index) =>
    phrases.flatMap(({ pattern, advice }) => {
      const match = pattern.exec(line);
      return match === null ? [] : [{ line: { number: index + 1, text: line }, phrase: match[0], advice }];
    }),
  );
}
