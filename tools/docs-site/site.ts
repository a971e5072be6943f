// SPDX-License-Identifier: Apache-2.0
// Builds the site in memory: every file of it by its address.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { escapeHtml } from "./html.ts";
import { type NavigationSection, renderPage, rootOf } from "./layout.ts";
import { isExternal, type MarkdownPage, parseMarkdown, splitHref } from "./markdown.ts";
import { addressOf, isPicture, linkedFile, repositoryPages, sectionsOf } from "./pages.ts";
import { codeHtml, type PageLinks, renderMarkdown } from "./render-markdown.ts";
import { buildSearchIndex, entriesOf } from "./search-index.ts";

/** The files of the site by their address. */
export type Site = ReadonlyMap<string, string>;

const here = dirname(fileURLToPath(import.meta.url));

/** Builds the site of a repository. */
export function buildSite(root: string): Site {
  const files = repositoryPages(root);
  const parsed = new Map(files.map((file) => [file, parseMarkdown(readFileSync(join(root, file), "utf8"))]));
  const sections = navigationOf(files, parsed);
  const linked = new Set<string>();
  const site = new Map(assets());
  for (const [file, page] of parsed) {
    const links = linksOfPage(root, file, (to) => linked.add(to));
    const address = addressOf(file);
    const content = { address, title: titleOf(page, file), body: renderMarkdown(page, links), headings: page.headings };
    site.set(address, renderPage(content, sections));
  }
  for (const file of [...linked].filter((one) => !parsed.has(one))) {
    const text = isPicture(file) ? readFileSync(join(root, file), "utf8") : sourcePage(root, file, sections);
    site.set(addressOf(file), text);
  }
  const entries = [...parsed].flatMap(([file, page]) => entriesOf(addressOf(file), page));
  site.set("assets/search-index.js", `globalThis.purlinSearchIndex=${JSON.stringify(buildSearchIndex(entries))};\n`);
  return site;
}

function navigationOf(files: readonly string[], parsed: ReadonlyMap<string, MarkdownPage>): NavigationSection[] {
  const titled = sectionsOf(files).map(({ title, pages }) => ({
    title,
    links: pages.map((file) => ({ title: titleOf(parsed.get(file), file), address: addressOf(file) })),
  }));
  return titled.filter(({ links }) => links.length > 0);
}

function titleOf(page: MarkdownPage | undefined, file: string): string {
  return page?.headings[0]?.text ?? file;
}

/** Links between pages lead to pages; links to other files of the repository to a page with their text. */
function linksOfPage(root: string, file: string, onLink: (to: string) => void): PageLinks {
  const addressFrom = (target: string): string => {
    const to = linkedFile(root, posix.join(posix.dirname(file), target));
    if (to === undefined) throw new Error(`${file}: link to ${target}: no such file`);
    onLink(to);
    return rootOf(addressOf(file)) + addressOf(to);
  };
  return {
    resolve: (href) => {
      const { target, anchor } = splitHref(href);
      const suffix = anchor === "" ? "" : `#${anchor}`;
      return target === "" ? suffix : addressFrom(target) + suffix;
    },
    picture: (href) => {
      if (isExternal(href) || !isPicture(href))
        throw new Error(`${file}: ${href}: pictures are SVG files of the repository`);
      return addressFrom(href);
    },
  };
}

/** A page with the text of a file, or with the names in a folder. */
function sourcePage(root: string, source: string, sections: readonly NavigationSection[]): string {
  const path = join(root, source);
  const text = statSync(path).isDirectory() ? readdirSync(path).sort().join("\n") : readFileSync(path, "utf8");
  const body = `<h1>${escapeHtml(source)}</h1>\n${codeHtml(text, source.split(".").at(-1) ?? "")}`;
  return renderPage({ address: addressOf(source), title: source, body, headings: [] }, sections);
}

function assets(): ReadonlyArray<readonly [address: string, text: string]> {
  const plain = ["style.css", "icon.svg"].map(
    (name) => [`assets/${name}`, readFileSync(join(here, "assets", name), "utf8")] as const,
  );
  const scripts = ["theme", "site"].map((name) => [`assets/${name}.js`, bundle(`${name}.ts`)] as const);
  return [...plain, ...scripts];
}

function bundle(name: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [join(here, "browser", name)],
    bundle: true,
    write: false,
    format: "iife",
    target: "es2022",
    charset: "utf8",
  });
  return outputFiles[0]?.text ?? "";
}
