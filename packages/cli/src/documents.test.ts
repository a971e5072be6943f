// SPDX-License-Identifier: Apache-2.0
// What holds for every page of the repository: commands exist, and decisions list what they decide about. Links: tools/docs-site.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

interface Manifest {
  readonly dependencies?: object;
  readonly devDependencies?: object;
}

const manifestOf = (folder: string): Manifest => JSON.parse(textOf(join(folder, "package.json"))) as Manifest;

test("the decision about dependencies lists every one of them, and who uses it", () => {
  const rows = [...textOf("docs/adr/0007-dependencies.md").matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gm)];
  const listed = rows.flatMap(([, name, users = ""]) => users.split(", ").map((user) => `${user}: ${name}`));
  const ofPackages = readdirSync(join(root, "packages")).flatMap((folder) => {
    const names = Object.keys(manifestOf(join("packages", folder)).dependencies ?? {});
    return names.filter((name) => !name.startsWith("@purlin/")).map((name) => `${folder}: ${name}`);
  });
  const ofTools = Object.keys(manifestOf(".").devDependencies ?? {}).map((name) => `the repository: ${name}`);
  assert.deepEqual(listed.toSorted(), [...ofPackages, ...ofTools].toSorted());
});

test("the glossary has one line a word, and names only words of the code that exist", () => {
  const sections = textOf("docs/glossary.md").split(/^## /m).slice(1);
  for (const section of sections) {
    const lines = section
      .split("\n")
      .slice(1)
      .filter((line) => line !== "");
    assert.deepEqual(
      lines.filter((line) => !/^- \*\*[^*]+\*\*[^:]*: \S.*\.$/.test(line)),
      [],
    );
    const words = lines.map((line) => /\*\*`?([^*`]+)/.exec(line)?.[1]?.toLowerCase() ?? "");
    assert.equal(new Set(words).size, words.length, "a word is explained once");
  }
  const source = readdirSync(join(root, "packages"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && path.includes("/src/") && !path.includes("node_modules"))
    .map((path) => textOf(join("packages", path)))
    .join("\n");
  const inCode = [...(sections.at(-1) ?? "").matchAll(/^- \*\*`(\w+)`/gm)].map(([, word = ""]) => word);
  assert.ok(inCode.length > 10);
  assert.deepEqual(
    inCode.filter((word) => !source.includes(word)),
    [],
  );
});

/** Names on npm that are not ours yet: anyone could register them. */
const fetched =
  /\b(?:npm (?:install|i|add|exec|create|init)|npx|pnpm (?:add|dlx)|yarn (?:add|dlx)|bunx)\b(?: -[-\w=]+)* (?:@purlin\/|purlin@|create-purlin)/;
test("no document names a package that is not registered on npm", () => {
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
