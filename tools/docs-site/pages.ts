// SPDX-License-Identifier: Apache-2.0
// Which files of the repository are pages, in which order a reader meets them, and where they are on the site.
import { existsSync, globSync, statSync } from "node:fs";
import { join, matchesGlob } from "node:path";

/** A part of the navigation. */
export interface Section {
  readonly title: string;
  /** Files of the repository. */
  readonly pages: readonly string[];
}

/** The file that is the front page of the site. */
export const frontPage = "README.md";

const written = ["*.md", "docs/**/*.md", "packages/*/README.md", "examples/**/*.md", "bench/README.md"];

/** A page belongs to the first section with a pattern for it; patterns are in the order of the pages. */
const plan: ReadonlyArray<{ readonly title: string; readonly patterns: readonly string[] }> = [
  {
    title: "Learn",
    patterns: [
      frontPage,
      "docs/README.md",
      "docs/concepts.md",
      "docs/guide/quickstart.md",
      "docs/guide/concepts.md",
      "docs/guide/build-*.md",
      "docs/guide/getting-started.md",
      "docs/guide/writing-functions.md",
      "docs/guide/debugging*.md",
      "docs/guide/packages.md",
      "docs/guide/providers.md",
      "docs/guide/rollout.md",
      "docs/guide/*.md",
    ],
  },
  { title: "Recipes", patterns: ["docs/guide/recipes/*.md", "docs/guide/**/*.md"] },
  {
    title: "Kinds and their fields",
    patterns: [
      "docs/reference/fields/README.md",
      "docs/reference/fields/apiextensions-comp*.md",
      "docs/reference/fields/composite-resource.md",
      "docs/reference/fields/c*.md",
      "docs/reference/fields/pkg-*.md",
      "docs/reference/fields/*.md",
    ],
  },
  { title: "Reference", patterns: ["docs/glossary.md", "docs/reference/cli.md", "docs/reference/**/*.md"] },
  { title: "Examples", patterns: ["examples/*/README.md", "examples/**/*.md"] },
  {
    title: "How it is built",
    patterns: ["docs/architecture.md", "CONTRIBUTING.md", "packages/*/README.md", "bench/README.md"],
  },
  { title: "Decisions", patterns: ["docs/adr/README.md", "docs/adr/*.md"] },
  { title: "Project", patterns: ["CHANGELOG.md", "SECURITY.md", "*.md", "docs/**/*.md"] },
];

/** All Markdown files for readers of the repository. */
export function repositoryPages(root: string): readonly string[] {
  return globSync(written, { cwd: root, exclude: (path) => path.includes("node_modules") }).sort();
}

/** The navigation: every page, in one section. */
export function sectionsOf(pages: readonly string[]): readonly Section[] {
  const left = new Set(pages);
  return plan.map(({ title, patterns }) => {
    const found = patterns.flatMap((pattern) => take(left, pattern));
    return { title, pages: found };
  });
}

function take(left: Set<string>, pattern: string): readonly string[] {
  const found = [...left].filter((page) => matchesGlob(page, pattern));
  for (const page of found) left.delete(page);
  return found;
}

/** The address on the site of a file of the repository, relative to the front page. */
export function addressOf(file: string): string {
  if (file === frontPage) return "index.html";
  if (file.endsWith("/README.md")) return `${withoutDocs(file.slice(0, -"/README.md".length))}/index.html`;
  if (file.endsWith(".md")) return `${withoutDocs(file.slice(0, -".md".length)).toLowerCase()}.html`;
  return isPicture(file) ? withoutDocs(file) : `source/${file}.html`;
}

/** Whether a file is shown as a picture. SVG is text, follows the theme and stays sharp. */
export function isPicture(file: string): boolean {
  return file.endsWith(".svg");
}

function withoutDocs(path: string): string {
  return path.startsWith("docs/") ? path.slice("docs/".length) : path;
}

/** The page or file that a link leads to; a folder with a README leads to it. Undefined if there is no such file. */
export function linkedFile(root: string, path: string): string | undefined {
  const plain = path.replace(/\/$/, "");
  if (!existsSync(join(root, plain))) return undefined;
  if (!statSync(join(root, plain)).isDirectory()) return plain;
  const readme = plain === "" || plain === "." ? frontPage : `${plain}/README.md`;
  return existsSync(join(root, readme)) ? readme : plain;
}
