// SPDX-License-Identifier: Apache-2.0
// Saves the files of each recipe, and of the page on concepts, in an empty folder, and runs their commands there.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { guideFiles, playPage } from "../test/play-guide.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = "docs/guide/recipes";
const recipes = readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
const pages: readonly string[] = ["docs/guide/concepts.md", ...recipes];

/** Generated names end in twelve hexadecimal digits, hashes have sixteen, and columns are as wide as what is in them. */
function mask(text: string): string {
  return text
    .replaceAll(/-[0-9a-f]{12}\b/g, "-DIGITS")
    .replaceAll(/\b[0-9a-f]{16}\b/g, "HASH")
    .replaceAll(/ {2,}(?=\S)/g, "  ");
}

for (const page of pages) test(`${page} does what it says`, () => playPage(page, { mask }));

const guides: readonly string[] = readdirSync(join(root, "docs/guide"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/guide/${name}`);

test("the name of each file stands above its block, where readers see it", () => {
  // The blocks of the other page are excerpts: their names are for its test.
  for (const page of guides.filter((one) => !one.endsWith("/writing-functions.md"))) {
    const text = readFileSync(join(root, page), "utf8");
    for (const match of text.matchAll(/^```(?:yaml|ts|json) (\S+\.\w+)$/gm)) {
      const [paragraph = ""] = text.slice(0, match.index).trimEnd().split("\n\n").slice(-1);
      assert.ok(paragraph.includes(`\`${match[1]}\``), `${page}: ${match[1]}`);
    }
  }
});

test("each guide says where to run its commands, before the first of them", () => {
  const silent = guides.filter((page) => {
    const text = readFileSync(join(root, page), "utf8");
    const first = text.search(/^```sh.*\n(?:.+\n)*?npx purlin /m);
    return first !== -1 && !/`npm ci`|#how-to-run-one\)/.test(text.slice(0, first));
  });
  assert.deepEqual(silent, []);
});

test("commands of guides begin with npx, as a reader without a global installation types them", () => {
  for (const page of guides) {
    const text = readFileSync(join(root, page), "utf8");
    assert.deepEqual(text.match(/^(?:\$ )?purlin [a-z].*$/gm), null, page);
  }
});

test("the index of recipes lists every recipe", () => {
  const index = readFileSync(join(root, "docs/guide/recipes.md"), "utf8");
  const listed = [...index.matchAll(/\]\((recipes\/[^)]+)\)/g)].map(([, path]) => `docs/guide/${path}`);
  assert.deepEqual(listed.toSorted(), recipes.toSorted());
});

test("the TypeScript of recipes and concepts type-checks", () => {
  const blocks = pages.flatMap((page, index) =>
    Object.entries(guideFiles(new URL(`../../../${page}`, import.meta.url)))
      .filter(([path]) => path.endsWith(".ts"))
      .map(([path, text]) => [`${index}/${path}`, text] as const),
  );
  assert.ok(blocks.length > pages.length);
  const compilerOptions = { isolatedDeclarations: false, declaration: false, noEmit: true, types: ["node"] };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["**/*.ts"], exclude: [] };
  using files = tempFolder({
    ...Object.fromEntries(blocks),
    "package.json": '{"type":"module"}',
    "tsconfig.json": JSON.stringify(config),
  });
  symlinkSync(join(root, "node_modules"), join(files.path, "node_modules"));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", files.path], { encoding: "utf8" });
  assert.equal(status, 0, stdout);
});
