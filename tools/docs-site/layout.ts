// SPDX-License-Identifier: Apache-2.0
import { escapeHtml } from "./html.ts";
import type { Heading } from "./markdown.ts";

/** An entry of the navigation. */
export interface NavigationLink {
  readonly title: string;
  /** Relative to the front page of the site. */
  readonly address: string;
}

/** A part of the navigation, with its pages. */
export interface NavigationSection {
  readonly title: string;
  readonly links: readonly NavigationLink[];
}

/** What a page consists of, beside the frame that all pages share. */
export interface PageContent {
  readonly address: string;
  readonly title: string;
  readonly body: string;
  readonly headings: readonly Heading[];
}

/** The way back from a page to the folder of the front page. */
export function rootOf(address: string): string {
  return "../".repeat(address.split("/").length - 1);
}

/**
 * No page loads anything from another host, and browsers enforce it. Pages opened from a disk are `file:`, which `'self'` does not
 * include everywhere.
 */
export const contentSecurityPolicy: string =
  "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file:; base-uri 'none'; form-action 'none'";

/** The whole HTML of a page. */
export function renderPage(content: PageContent, sections: readonly NavigationSection[]): string {
  const { address, title, body, headings } = content;
  const root = rootOf(address);
  return `<!doctype html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title === "Purlin" ? title : `${title} · Purlin`)}</title>
<link rel="icon" type="image/svg+xml" href="${root}assets/icon.svg">
<link rel="stylesheet" href="${root}assets/style.css">
<script src="${root}assets/theme.js"></script>
<script src="${root}assets/site.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${headerHtml(root)}
<div class="columns">
${navigationHtml(address, sections)}
<main id="content" tabindex="-1">
<article>
${body}</article>
${neighborsHtml(address, sections)}
</main>
${contentsHtml(headings)}
</div>
</body>
</html>
`;
}

function headerHtml(root: string): string {
  return `<header>
<a class="home" href="${root}index.html">Purlin</a>
<div class="search" role="search" hidden>
<input type="search" id="search" aria-label="Search the documentation" aria-controls="search-results" placeholder="Search  ( / )" autocomplete="off" spellcheck="false">
<div id="search-results" class="results" hidden><p role="status" aria-live="polite"></p><ul></ul></div>
</div>
<button type="button" class="theme" aria-label="Switch between light and dark" hidden>◐</button>
</header>`;
}

function navigationHtml(address: string, sections: readonly NavigationSection[]): string {
  const root = rootOf(address);
  const parts = sections.map(({ title, links }) => {
    const isOpen = links.some((link) => link.address === address);
    const items = links.map((link) => {
      const current = link.address === address ? ' aria-current="page"' : "";
      return `<li><a href="${root}${escapeHtml(link.address)}"${current}>${escapeHtml(link.title)}</a></li>`;
    });
    const summary = `<summary>${escapeHtml(title)}</summary>`;
    return `<details${isOpen ? " open" : ""}>${summary}\n<ul>\n${items.join("\n")}\n</ul></details>`;
  });
  return `<nav id="pages" class="pages" aria-label="Pages">
<button type="button" class="menu" aria-expanded="false" aria-controls="sections" hidden>Menu</button>
<div id="sections" class="sections">
${parts.join("\n")}
</div>
</nav>`;
}

/** A table of contents, for pages with more than one section. */
function contentsHtml(headings: readonly Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 2) return "";
  const items = shown.map(
    ({ depth, id, text }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page">\n<p>On this page</p>\n<ul>\n${items.join("\n")}\n</ul>\n</nav>`;
}

function neighborsHtml(address: string, sections: readonly NavigationSection[]): string {
  const links = sections.flatMap((section) => section.links);
  const at = links.findIndex((link) => link.address === address);
  if (at === -1) return "";
  const link = (to: NavigationLink | undefined, rel: "prev" | "next"): string =>
    to === undefined
      ? "<span></span>"
      : `<a rel="${rel}" href="${rootOf(address)}${escapeHtml(to.address)}">${rel === "prev" ? "← " : ""}${escapeHtml(to.title)}${rel === "next" ? " →" : ""}</a>`;
  return `<nav class="neighbors" aria-label="Previous and next page">${link(links[at - 1], "prev")}${link(links[at + 1], "next")}</nav>`;
}
