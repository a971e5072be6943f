// SPDX-License-Identifier: Apache-2.0
// What holds for every page of the repository: links lead somewhere, pages can be found, commands exist.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { commandTable } from "./commands/command-table.ts";
import { debugOption } from "./commands/program.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** All Markdown files that are written for readers of the repository. */
function pagesOfRepository(): string[] {
  const top = readdirSync(root).filter((name) => name.endsWith(".md"));
  const below = ["docs", "examples"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  );
  const packages = readdirSync(join(root, "packages")).map((name) => join("packages", name, "README.md"));
  const others = [...packages, "bench/README.md"].filter((path) => existsSync(join(root, path)));
  const written = below.filter((path) => path.endsWith(".md") && !path.includes("node_modules"));
  return [...top, ...written, ...others].sort();
}

const pages: readonly string[] = pagesOfRepository();
const textOf = (page: string): string => readFileSync(join(root, page), "utf8");

interface Link {
  readonly target: string;
  readonly anchor: string;
}

/** Links of a page to others of the repository; what looks like one in code is none. */
function linksOf(page: string): Link[] {
  const prose = textOf(page)
    .replaceAll(/^```[\s\S]*?^```$/gm, "")
    .replaceAll(/`[^`\n]*`(?!\])/g, "");
  return [...prose.matchAll(/\]\(([^)#\s]*)(?:#([^)\s]*))?\)/g)]
    .map(([, target = "", anchor = ""]) => ({ target, anchor }))
    .filter(({ target }) => !/^[a-z]+:/.test(target));
}

/** The anchors that a Markdown page gets from its headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm)];
  return new Set(
    headings.map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(/\s/g, "-"),
    ),
  );
}

for (const page of pages) {
  test(`the links of ${page} lead somewhere`, () => {
    for (const { target, anchor } of linksOf(page)) {
      const file = target === "" ? join(root, page) : resolve(root, dirname(page), target);
      assert.ok(existsSync(file), `${page}: ${target}`);
      if (anchor === "" || !file.endsWith(".md")) continue;
      assert.ok(anchorsOf(readFileSync(file, "utf8")).has(anchor), `${page}: ${target}#${anchor}: no such heading`);
    }
  });
}

test("every page of the documentation can be reached from the front page", () => {
  const found = new Set(["README.md"]);
  for (const page of found) {
    for (const { target } of linksOf(page)) {
      const path = relative(root, resolve(root, dirname(page), target));
      const isFolder = existsSync(join(root, path)) && statSync(join(root, path)).isDirectory();
      const next = isFolder ? join(path, "README.md") : path;
      if (pages.includes(next)) found.add(next);
    }
  }
  const lost = pages.filter((page) => page.startsWith("docs/") && !found.has(page));
  assert.deepEqual(lost, []);
});

/** Options of npm and of the function's own program, after `--`, are none of ours. */
function optionsIn(line: string): string[] {
  const own = line.replace(/ # .*$/, "").replace(/ -- .*$/, "");
  return [...own.matchAll(/ (--[a-z][a-z-]*)/g)].map(([, option = ""]) => option);
}

for (const page of pages.filter((one) => textOf(one).includes("purlin "))) {
  test(`the commands of ${page} exist, with their options`, () => {
    const blocks = [...textOf(page).matchAll(/^```sh.*\n([\s\S]*?)^```$/gm)].map(([, body = ""]) => body);
    const lines = blocks.flatMap((body) => body.replaceAll(/\\\n\s*/g, "").split("\n"));
    for (const line of lines) {
      const [, words] = /^(?:npx )?purlin (.*)$/.exec(line) ?? [];
      if (words === undefined) continue;
      const spec = commandTable.find(({ name }) => words === name || words.startsWith(`${name} `));
      assert.ok(spec, `${page}: ${line}: no such command`);
      const known = [...(spec.options ?? []), debugOption].map(({ flags }) => /--[a-z-]+/.exec(flags)?.[0]);
      const wrong = optionsIn(line).filter((option) => option !== "--help" && !known.includes(option));
      assert.deepEqual(wrong, [], `${page}: ${line}`);
    }
  });
}

test("the decision about dependencies lists every one of them, and who uses it", () => {
  const rows = [...textOf("docs/adr/0007-dependencies.md").matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gm)];
  const listed = rows.flatMap(([, name, users = ""]) => users.split(", ").map((user) => `${user}: ${name}`));
  const declared = readdirSync(join(root, "packages")).flatMap((folder) => {
    const manifest = JSON.parse(textOf(join("packages", folder, "package.json"))) as { dependencies?: object };
    const names = Object.keys(manifest.dependencies ?? {}).filter((name) => !name.startsWith("@purlin/"));
    return names.map((name) => `${folder}: ${name}`);
  });
  assert.deepEqual(listed.toSorted(), declared.toSorted());
});

/** Names on npm that are not ours yet: anyone could register them. */
const fetched =
  /\b(?:npm (?:install|i|add|exec|create|init)|npx|pnpm (?:add|dlx)|yarn (?:add|dlx)|bunx)\b(?: -[-\w=]+)* (?:@purlin\/|purlin@|create-purlin)/;
test("nothing tells anyone to fetch a name that is not registered on npm", () => {
  const folders = [
    "docs",
    "examples",
    "packages/cli/src",
    "packages/cli/template",
    "packages/oci/src",
    "packages/function-process/src",
  ];
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .map((path) => join(folder, path))
      .filter(
        (path) => /\.(md|ts|json|yaml)$/.test(path) && !path.includes("node_modules") && !path.endsWith(".test.ts"),
      ),
  );
  const found = [...pages, ...files].filter((file) => fetched.test(textOf(file)));
  assert.deepEqual(found, []);
  assert.match("npm install --save-dev @purlin/function-sdk", fetched);
});
