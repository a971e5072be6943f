// SPDX-License-Identifier: Apache-2.0
import { Marked, type Tokens } from "marked";
import { highlight } from "./highlight.ts";
import { escapeHtml } from "./html.ts";
import { isExternal, type MarkdownPage } from "./markdown.ts";

/** Where the links and pictures of a page lead on the site. */
export interface PageLinks {
  /** The address of a link to a file of the repository. */
  readonly resolve: (href: string) => string;
  /** The address of a picture of the repository. */
  readonly picture: (href: string) => string;
}

/** The HTML of a page's body. */
export function renderMarkdown(page: MarkdownPage, links: PageLinks): string {
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading(token) {
        const inner = this.parser.parseInline(token.tokens);
        return headingHtml(token.depth, page.ids.get(token) ?? "", inner);
      },
      code: ({ text, lang = "" }) => codeHtml(text, lang),
      codespan: ({ text }) => `<code>${breakable(escapeHtml(text))}</code>`,
      table(token) {
        const cells = (row: readonly Tokens.TableCell[], tag: "td" | "th"): string =>
          row.map((cell) => cellHtml(tag, this.parser.parseInline(cell.tokens))).join("");
        const isTitled = token.header.some(({ text }) => text !== "");
        const head = isTitled ? `<thead><tr>${cells(token.header, "th")}</tr></thead>\n` : "";
        const rows = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
        return `${tableStart}${head}<tbody>${rows}</tbody></table></div>\n`;
      },
      link(token) {
        const inner = this.parser.parseInline(token.tokens);
        return linkHtml(isExternal(token.href) ? token.href : links.resolve(token.href), inner);
      },
      image: ({ href, text }) => pictureHtml(links.picture(href), text),
      html: ({ text }) => text.replaceAll(/<!--[\s\S]*?-->/g, ""),
    },
  });
  return marked.parser([...page.tokens]);
}

/** Paths of files and fields may break where their parts begin, and long names between their words. */
function breakable(html: string): string {
  const paths = html.replaceAll(/(?<=\w)[./](?=\w{3})/g, "$&<wbr>");
  return paths.replaceAll(/[A-Za-z]{17,}/g, (name) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "<wbr>"));
}

/** A wide table scrolls by itself; one that scrolls must take the focus to be scrolled by keys. */
const tableStart = '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n';

function cellHtml(tag: "td" | "th", inner: string): string {
  return `<${tag}${tag === "th" ? ' scope="col"' : ""}>${inner}</${tag}>`;
}

function headingHtml(depth: number, id: string, inner: string): string {
  const anchor = `<a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
  return `<h${depth} id="${id}">${inner}${depth === 1 ? "" : ` ${anchor}`}</h${depth}>\n`;
}

/** A code block with a copy button, which the script of the site shows. */
export function codeHtml(code: string, info: string): string {
  const language = info.split(/\s/)[0] ?? "";
  const label = language === "" ? "Code" : `Code, ${language}`;
  const body = `<pre tabindex="0" role="group" aria-label="${escapeHtml(label)}"><code>${highlight(code, language)}</code></pre>`;
  return `<div class="code">${body}<button type="button" class="copy" hidden>Copy</button></div>\n`;
}

function linkHtml(href: string, inner: string): string {
  const isOther = isExternal(href);
  return `<a href="${escapeHtml(href)}"${isOther ? ' rel="noreferrer"' : ""}>${inner}</a>`;
}

/** A wide picture scrolls by itself, as a wide table does. */
function pictureHtml(address: string, text: string): string {
  const image = `<img src="${escapeHtml(address)}" alt="${escapeHtml(text)}">`;
  return `<span class="picture" tabindex="0" role="group" aria-label="Picture">${image}</span>`;
}
