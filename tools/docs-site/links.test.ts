// SPDX-License-Identifier: Apache-2.0
// What holds for every page of the repository, wherever it is read: links lead somewhere, and every page can be found.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { localLinks, parseMarkdown } from "./markdown.ts";
import { frontPage, linkedFile, repositoryPages } from "./pages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = new Map(
  repositoryPages(root).map((page) => [page, parseMarkdown(readFileSync(join(root, page), "utf8"))]),
);

/** The file that a link of a page leads to. */
const targetOf = (page: string, target: string): string | undefined =>
  target === "" ? page : linkedFile(root, posix.join(posix.dirname(page), target));

for (const [page, parsed] of pages) {
  test(`the links of ${page} lead to files and headings that exist`, () => {
    for (const { target, anchor } of localLinks(parsed)) {
      const file = targetOf(page, target);
      assert.ok(file !== undefined, `${page}: ${target}: no such file`);
      if (anchor === "") continue;
      const anchors = pages.get(file)?.headings.map(({ id }) => id) ?? [];
      assert.ok(anchors.includes(anchor), `${page}: ${target}#${anchor}: no such heading`);
    }
  });

  test(`${page} has one title, and it comes first`, () => {
    const titles = parsed.headings.filter(({ depth }) => depth === 1);
    assert.equal(titles.length, 1);
    assert.equal(parsed.headings[0]?.depth, 1);
  });
}

test("every page of the documentation can be reached from the front page", () => {
  const found = new Set([frontPage]);
  for (const page of found) {
    for (const { target } of localLinks(pages.get(page) ?? parseMarkdown(""))) {
      const next = targetOf(page, target);
      if (next !== undefined && pages.has(next)) found.add(next);
    }
  }
  const lost = [...pages.keys()].filter((page) => page.startsWith("docs/") && !found.has(page));
  assert.deepEqual(lost, []);
});

const anchors: ReadonlyArray<readonly [heading: string, id: string]> = [
  ["## `purlin render`", "purlin-render"],
  ["## A & B: what, *now*?", "a--b-what-now"],
  ["## The `spec.a` [field](x.md)", "the-speca-field"],
];
for (const [heading, id] of anchors) {
  test(`the anchor of "${heading}" is GitHub's`, () => {
    assert.deepEqual(
      parseMarkdown(heading).headings.map((one) => one.id),
      [id],
    );
  });
}

test("headings with the same text have different anchors", () => {
  const { headings } = parseMarkdown("# A\n\n## Examples\n\n## Examples\n");
  assert.deepEqual(
    headings.map(({ id }) => id),
    ["a", "examples", "examples-1"],
  );
});

test("links in code are not links", () => {
  assert.deepEqual(localLinks(parseMarkdown("`[a](b.md)`\n\n```\n[c](d.md)\n```\n\n[e](f.md#g)\n")), [
    { target: "f.md", anchor: "g" },
  ]);
});
