// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { renderPage, rootOf } from "./layout.ts";
import { isExternal, localLinks, parseMarkdown, plainText, splitHref } from "./markdown.ts";
import { addressOf, isPicture, sectionsOf } from "./pages.ts";
import { renderMarkdown } from "./render-markdown.ts";
import { buildSearchIndex, entriesOf } from "./search-index.ts";

const html = (text: string): string =>
  renderMarkdown(parseMarkdown(text), { resolve: (href) => `to/${href}`, picture: (href) => `pic/${href}` });

test("the text of a page is what a reader sees", () => {
  const text = (markdown: string): string => plainText(parseMarkdown(markdown).tokens).replaceAll(/\s+/g, " ").trim();
  assert.equal(text("# A `b` *c*\n\n- one\n- two **x**\n"), "A b c one two x");
  assert.equal(text("| h1 | h2 |\n|---|---|\n| a & b | `c` |\n"), "h1 h2 a & b c");
  assert.equal(text("[link](x.md) ![picture](y.svg) &lt;tag&gt; \\* a<br>b"), "link picture <tag> * a b");
  assert.equal(text("> quoted\n\n```ts\ncode();\n```\n\n---\n\nend"), "quoted code(); end");
});

test("links of the repository are not those to other hosts", () => {
  for (const href of ["https://a", "mailto:x@y", "//host/x", "HTTP://a"]) assert.ok(isExternal(href), href);
  for (const href of ["a.md", "../a", "#b", "/a", "a b:c"]) assert.ok(!isExternal(href), href);
  assert.deepEqual(localLinks(parseMarkdown("[a](a.md#b) [c](https://c) ![d](d.svg) `[e](e.md)`")), [
    { target: "a.md", anchor: "b" },
    { target: "d.svg", anchor: "" },
  ]);
  assert.deepEqual(splitHref("a%20b.md#%C3%A4"), { target: "a b.md", anchor: "ä" });
  assert.deepEqual(splitHref("#x"), { target: "", anchor: "x" });
});

test("headings have their anchor, except the title", () => {
  assert.equal(html("# Title\n"), '<h1 id="title">Title</h1>\n');
  const anchor = '<a class="anchor" href="#a-b" aria-label="Link to this section">#</a>';
  assert.equal(html("## A `b`\n"), `<h2 id="a-b">A <code>b</code> ${anchor}</h2>\n`);
});

test("links lead to the site, pictures have a frame, comments are left out", () => {
  assert.equal(html("[a](b.md)"), '<p><a href="to/b.md">a</a></p>\n');
  assert.equal(html("[a](https://b?c&d)"), '<p><a href="https://b?c&amp;d" rel="noreferrer">a</a></p>\n');
  assert.match(html('![a "b"](c.svg)'), /<img src="pic\/c\.svg" alt="a &quot;b&quot;">/);
  assert.equal(html("a <!-- hidden --> b"), "<p>a  b</p>\n");
});

test("paths and long names in code may break", () => {
  assert.equal(html("`packages/cli/src`"), "<p><code>packages/<wbr>cli/<wbr>src</code></p>\n");
  assert.equal(html("`functionRevisionSelectors`"), "<p><code>function<wbr>Revision<wbr>Selectors</code></p>\n");
  assert.equal(html("`a/b` `shortCamelName`"), "<p><code>a/b</code> <code>shortCamelName</code></p>\n");
});

test("a table without titles has no head", () => {
  assert.match(
    html("| a | b |\n|---|---|\n| 1 | 2 |\n"),
    /<thead><tr><th scope="col">a<\/th><th scope="col">b<\/th><\/tr><\/thead>/,
  );
  const bare = html("| | |\n|---|---|\n| 1 | 2 |\n");
  assert.ok(!bare.includes("<thead>"));
  assert.match(bare, /<tbody><tr><td>1<\/td><td>2<\/td><\/tr><\/tbody>/);
});

test("files of the repository have addresses on the site", () => {
  const cases: Readonly<Record<string, string>> = {
    "README.md": "index.html",
    "docs/README.md": "docs/index.html",
    "docs/guide/quickstart.md": "guide/quickstart.html",
    "docs/adr/README.md": "adr/index.html",
    "packages/cel/README.md": "packages/cel/index.html",
    "CHANGELOG.md": "changelog.html",
    "docs/way.svg": "way.svg",
    "packages/cel/src/index.ts": "source/packages/cel/src/index.ts.html",
  };
  for (const [file, address] of Object.entries(cases)) assert.equal(addressOf(file), address, file);
  assert.deepEqual([isPicture("a.svg"), isPicture("a.png")], [true, false]);
  assert.deepEqual([rootOf("index.html"), rootOf("guide/a.html"), rootOf("a/b/c.html")], ["", "../", "../../"]);
});

test("every page is in one section, in the order of the plan", () => {
  const pages = [
    "CHANGELOG.md",
    "README.md",
    "docs/guide/z.md",
    "docs/guide/quickstart.md",
    "docs/guide/recipes/a.md",
    "docs/new.md",
  ];
  const sections = sectionsOf(pages);
  const of = (title: string): readonly string[] | undefined => sections.find((one) => one.title === title)?.pages;
  assert.deepEqual(of("Learn"), ["README.md", "docs/guide/quickstart.md", "docs/guide/z.md"]);
  assert.deepEqual(of("Recipes"), ["docs/guide/recipes/a.md"]);
  assert.deepEqual(of("Project"), ["CHANGELOG.md", "docs/new.md"]);
  assert.deepEqual(sections.flatMap((one) => one.pages).toSorted(), pages.toSorted());
});

const page = parseMarkdown("# Title\n\nintro text\n\n## One\n\nbody *one*\n\n## Two\n");

test("the search has an entry for each section, and one for what is above the title", () => {
  assert.deepEqual(entriesOf("a.html", page), [
    { address: "a.html", page: "Title", heading: "Title", text: "intro text" },
    { address: "a.html#one", page: "Title", heading: "One", text: "body one" },
    { address: "a.html#two", page: "Title", heading: "Two", text: "" },
  ]);
  assert.deepEqual(entriesOf("b.html", parseMarkdown("only text")), [
    { address: "b.html", page: "b.html", heading: "", text: "only text" },
  ]);
});

test("a word weighs more in a heading than in a text, where four mentions count", () => {
  const entry = (heading: string, text: string) => ({ address: "a", page: "zebra", heading, text });
  const { terms, postings } = buildSearchIndex([
    entry("claim", "x"),
    entry("y", "claim ".repeat(9)),
    entry("y", "claim"),
  ]);
  assert.deepEqual(postings[terms.indexOf("claim")], [0, 10, 1, 4, 2, 1]);
  assert.deepEqual(terms, terms.toSorted());
});

test("a page has its frame: title, navigation with the current page, contents and neighbors", () => {
  const links = ["index.html", "guide/a.html", "guide/b.html"].map((address) => ({ title: `T<${address}>`, address }));
  const sections = [
    { title: "First", links: links.slice(0, 1) },
    { title: "Second", links: links.slice(1) },
  ];
  const text = renderPage(
    { address: "guide/a.html", title: "A & B", body: "<p>body</p>", headings: page.headings },
    sections,
  );
  assert.match(text, /<html lang="en" data-root="\.\.\/">/);
  assert.match(text, /<title>A &amp; B · Purlin<\/title>/);
  assert.match(text, /<details><summary>First<\/summary>/);
  assert.match(text, /<details open><summary>Second<\/summary>/);
  assert.match(text, /<a href="\.\.\/guide\/a\.html" aria-current="page">T&lt;guide\/a\.html&gt;<\/a>/);
  assert.match(text, /<li class="depth-2"><a href="#one">One<\/a><\/li>/);
  assert.match(
    text,
    /<a rel="prev" href="\.\.\/index\.html">← T&lt;index\.html&gt;<\/a><a rel="next" href="\.\.\/guide\/b\.html">/,
  );
  const front = renderPage({ address: "index.html", title: "Purlin", body: "", headings: [] }, sections);
  assert.match(front, /<title>Purlin<\/title>/);
  assert.ok(!front.includes("On this page"), "one section needs no contents");
  assert.match(front, /<span><\/span><a rel="next"/);
  assert.ok(!renderPage({ address: "other.html", title: "", body: "", headings: [] }, sections).includes("neighbors"));
});
