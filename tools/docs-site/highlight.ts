// SPDX-License-Identifier: Apache-2.0
// Colors for code, at build time: comments, strings, keywords and the keys of YAML. Enough to read by, and no dependency.
import { escapeHtml } from "./html.ts";

interface Language {
  readonly pattern: RegExp;
  /** The class of each group of the pattern. */
  readonly classes: readonly string[];
}

const scriptWords =
  "as|async|await|break|case|catch|class|const|continue|default|else|export|extends|finally|for|from|function|if|import|in|" +
  "interface|let|new|null|of|readonly|return|satisfies|switch|throw|true|false|try|type|typeof|undefined|while";

const script: Language = {
  pattern: new RegExp(
    `(//[^\\n]*|/\\*[\\s\\S]*?\\*/)|("(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*'|\`(?:[^\`\\\\]|\\\\.)*\`)|\\b(${scriptWords})\\b`,
    "g",
  ),
  classes: ["comment", "string", "keyword"],
};

const yaml: Language = {
  pattern: /((?<=^|\s)#[^\n]*)|("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|((?<=^[ \t]*(?:- +)*)[\w./-]+(?=:(?:\s|$)))/gm,
  classes: ["comment", "string", "key"],
};

const shell: Language = {
  pattern: /((?<=^|\s)#[^\n]*)|("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|((?<=\s)--?[a-zA-Z][\w-]*)/gm,
  classes: ["comment", "string", "option"],
};

const languages: Readonly<Record<string, Language>> = {
  ts: script,
  typescript: script,
  js: script,
  json: script,
  yaml,
  yml: yaml,
  sh: shell,
  bash: shell,
};

/** The code as HTML. Code of an unknown language has no colors. */
export function highlight(code: string, language: string): string {
  const known = Object.hasOwn(languages, language) ? languages[language] : undefined;
  if (known === undefined) return escapeHtml(code);
  let html = "";
  let end = 0;
  for (const match of code.matchAll(known.pattern)) {
    const group = match.slice(1).findIndex((text) => text !== undefined);
    html += escapeHtml(code.slice(end, match.index));
    html += `<span class="code-${known.classes[group] ?? "text"}">${escapeHtml(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(end));
}
