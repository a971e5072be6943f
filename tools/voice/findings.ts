// SPDX-License-Identifier: Apache-2.0

export interface Finding {
  readonly line: { readonly number: number; readonly text: string };
  readonly phrase: string;
  readonly advice: string;
}

/** Each phrase with what to write instead. Identifiers count too: `toldAt` has the word "told". */
const phrases: ReadonlyArray<{ readonly pattern: RegExp; readonly advice: string }> = [
  {
    pattern: /\b(nobody|somebody|anybody|whoever|whomever)\b/i,
    advice: "name the user, client, process or controller",
  },
  {
    pattern: /\b(told|untold)\b|[a-z]Told\b|\btold[A-Z]/i,
    advice: "say what happens: reported, written, logged, emitted",
  },
  { pattern: /\b(is|are|was|were) none\b(?! of\b)/i, advice: 'write "is not a …" or "is missing"' },
  {
    pattern:
      /(?<!\bthere )(?<!\bit )\b(is|are|was|were) no (?!longer|more|less|fewer|other|such|different|better|worse|later|newer|older|need|\()[a-z]/i,
    advice: 'write "is not a …"',
  },
  { pattern: /\bit is no (?!longer|more|less|fewer|different|better|worse)[a-z]/i, advice: 'write "it is not a …"' },
];

/** Everything to rewrite in a text, line by line. */
export function findings(text: string): Finding[] {
  return text.split("\n").flatMap((line, index) =>
    phrases.flatMap(({ pattern, advice }) => {
      const match = pattern.exec(line);
      return match === null ? [] : [{ line: { number: index + 1, text: line }, phrase: match[0], advice }];
    }),
  );
}
