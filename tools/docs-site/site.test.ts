// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { posix } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type SearchIndex, searchIndex } from "./browser/search.ts";
import { addressOf, repositoryPages } from "./pages.ts";
import { serveSite } from "./serve.ts";
import { buildSite } from "./site.ts";
import { elementsOf, externalRequests } from "./testing.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const site = buildSite(root);
const pages = [...site.keys()].filter((address) => address.endsWith(".html"));
const textOf = (address: string): string => site.get(address) ?? "";

function idsOf(address: string): readonly string[] {
  return elementsOf(textOf(address)).flatMap(({ attributes }) => attributes.get("id") ?? []);
}

const ids = new Map(pages.map((address) => [address, new Set(idsOf(address))]));

/** The addresses that a page refers to within the site, with their anchors. */
function referencesOf(address: string): readonly { readonly to: string; readonly anchor: string }[] {
  const values = elementsOf(textOf(address)).flatMap(({ attributes }) => [
    ...["href", "src"].flatMap((name) => attributes.get(name) ?? []),
  ]);
  return values
    .filter((value) => !/^[a-z]+:/.test(value))
    .map((value) => {
      const [path = "", anchor = ""] = value.split("#");
      const to = path === "" ? address : posix.join(posix.dirname(address), decodeURI(path));
      return { to, anchor: decodeURIComponent(anchor) };
    });
}

test("every link of the site leads to a page and a section of it", () => {
  const broken = pages.flatMap((address) =>
    referencesOf(address)
      .filter(({ to, anchor }) => !site.has(to) || (anchor !== "" && ids.get(to)?.has(anchor) !== true))
      .map(({ to, anchor }) => `${address}: ${to}#${anchor}`),
  );
  assert.deepEqual(broken, []);
});

/** The addresses in the navigation of a page. */
function navigationOf(address: string): ReadonlySet<string> {
  const [, navigation = ""] = /<nav id="pages"[\s\S]*?>([\s\S]*?)<\/nav>/.exec(textOf(address)) ?? [];
  const links = elementsOf(navigation).flatMap(({ attributes }) => attributes.get("href") ?? []);
  return new Set(links.map((href) => posix.join(posix.dirname(address), href)));
}

test("the navigation of every page has every page written for readers", () => {
  const written = new Set(repositoryPages(root).map(addressOf));
  assert.ok(written.size > 40, `${written.size} pages`);
  assert.equal(written.size, repositoryPages(root).length, "two files have one address");
  for (const address of pages) assert.deepEqual(navigationOf(address), written, address);
});

test("nothing is loaded from another host", () => {
  const found = [...site].flatMap(([address, text]) =>
    externalRequests(address, text).map((request) => `${address}: ${request}`),
  );
  assert.deepEqual(found, []);
  const policies = pages.filter(
    (address) => !/http-equiv="Content-Security-Policy" content="default-src 'none';/.test(textOf(address)),
  );
  assert.deepEqual(policies, []);
});

const planted: ReadonlyArray<readonly [address: string, text: string]> = [
  ["a.html", '<link rel="stylesheet" href="https://fonts.example/css">'],
  ["a.html", '<script src="//cdn.example/a.js"></script>'],
  ["a.html", '<img srcset="a.png 1x, https://cdn.example/a.png 2x" alt="">'],
  ["a.html", "<script>fetch('x')</script>"],
  ["a.html", '<p style="background: url(https://cdn.example/a.png)">'],
  ["a.html", '<button onclick="load()">'],
  ["a.css", '@import "https://fonts.example/css";'],
  ["a.css", "body { background: url(//cdn.example/a.png) }"],
  ["a.svg", '<svg><image href="https://cdn.example/a.png"/></svg>'],
  ["a.svg", "<svg><style>@import url(https://fonts.example/css);</style></svg>"],
  ["a.js", 'script.src = "https://cdn.example/a.js";'],
  ["a.js", "void fetch(address);"],
  ["assets/search-index.js", "globalThis.purlinSearchIndex={};load();\n"],
];
for (const [address, text] of planted) {
  test(`a request to another host is found in ${text.trim()}`, () => {
    assert.notDeepEqual(externalRequests(address, text), []);
  });
}

test("a link to another host is not a request", () => {
  assert.deepEqual(externalRequests("a.html", '<a href="https://semver.org" rel="noreferrer">semver</a>'), []);
});

test("every page can be read without eyes, without a mouse and without scripts", () => {
  for (const address of pages) {
    const html = textOf(address);
    const elements = elementsOf(html);
    const named = (name: string) => elements.filter((element) => element.name === name);
    assert.match(html, /^<!doctype html>\n<html lang="en"/, address);
    assert.equal(named("h1").length, 1, `${address}: one h1`);
    assert.equal(named("main").length, 1, address);
    const body = elements.slice(elements.findIndex(({ name }) => name === "body") + 1);
    assert.equal(body[0]?.attributes.get("href"), "#content", `${address}: the skip link comes first`);
    const levels = elements.flatMap(({ name }) => (/^h[1-6]$/.test(name) ? Number(name[1]) : []));
    const skipped = levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1);
    assert.deepEqual(skipped, [], `${address}: headings skip a level`);
    const own = idsOf(address);
    assert.equal(new Set(own).size, own.length, `${address}: an id occurs twice`);
    const labels = [...named("nav"), ...named("input")].map(({ attributes }) => attributes.get("aria-label") ?? "");
    assert.ok(!labels.includes(""), `${address}: a navigation or field without a name`);
    assert.equal(
      named("pre").length,
      named("button").filter(({ attributes }) => attributes.get("class") === "copy").length,
    );
    const alternatives = named("img").map(({ attributes }) => attributes.get("alt") ?? "");
    assert.ok(!alternatives.includes(""), `${address}: a picture without a text`);
    const needsScript = named("button").filter(({ attributes }) => !attributes.has("hidden"));
    assert.deepEqual(needsScript, [], `${address}: a button that does nothing without scripts is hidden`);
  }
});

const index = JSON.parse(
  textOf("assets/search-index.js")
    .replace(/^globalThis\.purlinSearchIndex=/, "")
    .replace(/;\n$/, ""),
) as SearchIndex;
const pagesFound = (query: string, limit = 10): readonly string[] =>
  searchIndex(index, query, limit).map(({ entry }) => entry.address.replace(/#.*$/, ""));

test("the search finds every page by its title", () => {
  const missed = index.entries
    .filter(({ address }) => !address.includes("#"))
    .filter(({ page, address }) => !pagesFound(page, 20).includes(address));
  assert.deepEqual(
    missed.map(({ page, address }) => `${page}: ${address}`),
    [],
  );
});

const queries: ReadonlyArray<readonly [query: string, page: string, reason: string]> = [
  ["bubblewrap", "reference/runtimes.html", "a word of the text"],
  ["bubblewr", "reference/runtimes.html", "the beginning of a word"],
  ["RUNTIMES functions", "reference/runtimes.html", "several words, in any case"],
  ["roll back", "guide/rollout.html", "the words of a heading"],
  ["purlin render", "reference/cli.html", "a command"],
  ["--kubeconfig", "reference/cli.html", "an option"],
  ["Composition", "reference/fields/apiextensions-composition.html", "a kind"],
  ["function revisionHistoryLimit", "reference/fields/pkg-function.html", "a field of a kind"],
];
for (const [query, page, reason] of queries) {
  test(`the search finds ${page} for "${query}": ${reason}`, () => {
    assert.ok(pagesFound(query).includes(page), pagesFound(query).join(" "));
  });
}

test("the search finds nothing for words that do not occur, or no words", () => {
  assert.deepEqual(pagesFound("xylophone"), []);
  assert.deepEqual(pagesFound("purlin xylophone"), []);
  assert.deepEqual(pagesFound(" -- "), []);
});

test("the search finds singular and plural, and the parts of a field name", () => {
  const entries = [
    { address: "a.html", page: "A", heading: "A", text: "one revision" },
    { address: "b.html", page: "B", heading: "B", text: "set revisionHistoryLimit" },
  ];
  const terms = ["history", "revision", "revisionhistorylimit"];
  const small = {
    entries,
    terms,
    postings: [
      [1, 1],
      [0, 1, 1, 1],
      [1, 1],
    ],
  };
  const found = (query: string) => searchIndex(small, query, 5).map(({ entry }) => entry.address);
  assert.deepEqual(found("revisions"), ["a.html", "b.html"]);
  assert.deepEqual(found("history"), ["b.html"]);
  assert.deepEqual(found("revisionHistoryLimit"), ["b.html"]);
});

test("the server serves the site on loopback, and nothing else", async () => {
  const { server, url } = await serveSite(() => site, 0);
  try {
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
    const front = await fetch(url);
    assert.equal(front.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(await front.text(), textOf("index.html"));
    assert.equal((await fetch(`${url}adr/`)).status, 200);
    for (const path of ["package.json", "..%2fpackage.json", "%2e%2e/package.json", "%", "toString"]) {
      assert.equal((await fetch(url + path)).status, 404, path);
    }
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
