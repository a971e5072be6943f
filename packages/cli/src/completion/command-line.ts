// SPDX-License-Identifier: Apache-2.0

/** The words of a command line as a shell reads them, without expansions. The last one is unfinished, and may be empty. */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? "";
    if (quote !== undefined && char === quote) quote = undefined;
    else if (char === "\\" && quote !== "'" && at + 1 < line.length) word = (word ?? "") + (line[++at] ?? "");
    else if (quote !== undefined) word = (word ?? "") + char;
    else if (char === "'" || char === '"') [quote, word] = [char, word ?? ""];
    else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + char;
  }
  return [...words, word ?? ""];
}

/** How much of the last word readline has set apart, because it breaks words at `=` and `:`. That part must not be inserted again. */
export function currentWord(words: readonly string[], readline: string): number {
  const whole = words.at(-1) ?? "";
  const part = readline === "=" || readline === ":" ? "" : readline;
  return whole.endsWith(part) && /[=:]$/.test(whole.slice(0, whole.length - part.length))
    ? whole.length - part.length
    : 0;
}
