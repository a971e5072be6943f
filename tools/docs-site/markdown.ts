// SPDX-License-Identifier: Apache-2.0
// Markdown as the site and its tests read it: parsed once by `marked`, with GitHub's anchors.
import { Marked, type Token, type Tokens } from "marked";

/** A heading with the anchor that GitHub gives it. */
export interface Heading {
  readonly depth: number;
  readonly text: string;
  readonly id: string;
}

/** A parsed page. */
export interface MarkdownPage {
  readonly tokens: readonly Token[];
  readonly headings: readonly Heading[];
  /** The anchors of the heading tokens. */
  readonly ids: ReadonlyMap<Token, string>;
}

/** A link or an image of a page; the target is as written, without the anchor. */
export interface Link {
  readonly target: string;
  readonly anchor: string;
}

const parser = new Marked({ gfm: true });

/** Parses a page. */
export function parseMarkdown(text: string): MarkdownPage {
  const tokens = parser.lexer(text);
  const found = tokensOf<Tokens.Heading>(tokens, "heading");
  const ids = new Map<Token, string>();
  const used = new Map<string, number>();
  const headings = found.map((token) => {
    const text = plainText(token.tokens);
    const id = uniqueId(slugOf(text), used);
    ids.set(token, id);
    return { depth: token.depth, text, id };
  });
  return { tokens, headings, ids };
}

/** The anchor that GitHub makes of a heading. */
function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

function uniqueId(slug: string, used: Map<string, number>): string {
  const count = used.get(slug) ?? 0;
  used.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

/** The links and images of a page, without those to other hosts. */
export function localLinks({ tokens }: MarkdownPage): readonly Link[] {
  const found = tokensOf<Tokens.Link | Tokens.Image>(tokens, "link", "image");
  return found.filter(({ href }) => !isExternal(href)).map(({ href }) => splitHref(href));
}

/** The tokens of these types, at any depth, in their order. */
function tokensOf<T extends Token>(tokens: readonly Token[], ...types: readonly T["type"][]): readonly T[] {
  const found: T[] = [];
  const note = (token: Token): void => {
    if (types.includes(token.type)) found.push(token as T);
  };
  // It gives promises only where the callback does.
  void parser.walkTokens([...tokens], note);
  return found;
}

/** Whether a link leads to another host or program. */
export function isExternal(href: string): boolean {
  return /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(href);
}

/** `{ target: "a.md", anchor: "b" }` of `a.md#b`. */
export function splitHref(href: string): Link {
  const [target = "", anchor = ""] = href.split("#");
  return { target: decodeURI(target), anchor: decodeURIComponent(anchor) };
}

/** What a reader sees of tokens, without markup. */
export function plainText(tokens: readonly Token[] = []): string {
  return tokens.map(textOf).join("");
}

function textOf(token: Token): string {
  switch (token.type) {
    case "html":
    case "space":
    case "hr":
      return " ";
    case "br":
      return " ";
    case "table":
      return tableText(token as Tokens.Table);
    case "list":
      return (token as Tokens.List).items.map((item) => `${plainText(item.tokens)} `).join("");
    case "image":
    case "codespan":
    case "escape":
      return (token as Tokens.Text).text;
    case "code":
      return `${(token as Tokens.Code).text} `;
    case "paragraph":
    case "heading":
    case "blockquote":
      return `${plainText((token as Tokens.Paragraph).tokens)} `;
    default:
      return inlineText(token as Tokens.Text);
  }
}

function inlineText({ tokens, text = "" }: Tokens.Text): string {
  return tokens === undefined ? decodeEntities(text) : plainText(tokens);
}

function tableText({ header, rows }: Tokens.Table): string {
  return [header, ...rows]
    .flat()
    .map((cell) => `${plainText(cell.tokens)} `)
    .join("");
}

const entities: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity);
}
