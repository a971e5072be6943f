// SPDX-License-Identifier: Apache-2.0

/** A phrase to rewrite. */
export interface Finding {
  readonly line: { readonly number: number; readonly text: string };
  readonly phrase: string;
  readonly advice: string;
}

/** "no longer", "no more than" and "no faster than" are plain English; so is "there is no". */
const plainAfterNo = "longer|more|less|fewer|other|such|different|better|worse|need|\\w+er than|\\(";

/** Each phrase with what to write instead. Identifiers count too: `toldAt` has the word "told". */
const phrases: ReadonlyArray<{ readonly pattern: RegExp; readonly advice: string }> = [
  {
    pattern: /\b(nobody|somebody|anybody|whoever|whomever)\b/i,
    advice: "name the user, client, process or controller",
  },
  {
    pattern: /\b(?:[Uu]n)?[Tt]old\b|[a-z]Told(?![a-z])|\btold[A-Z]/,
    advice: "say what happens: reported, written, logged, emitted",
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
