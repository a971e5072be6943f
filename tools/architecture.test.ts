// SPDX-License-Identifier: Apache-2.0
// Holds docs/architecture.md true: every file that it names exists, and declares the function named beside it.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { generatePictures } from "./architecture/generate-pictures.ts";
import { architecturePage, declares, readCodeTables } from "./architecture/named-code.ts";

const tables = readCodeTables();

for (const { heading, rows } of tables) {
  test(`${architecturePage}, ${heading}: the named files declare the named functions`, () => {
    const wrong = rows.flatMap(({ file, name }) => {
      if (file === undefined) return [];
      const path = `packages/${file}`;
      if (!existsSync(path)) return [`${path}: no such file`];
      return declares(readFileSync(path, "utf8"), name) ? [] : [`${path}: does not declare ${name}`];
    });
    assert.deepEqual(wrong, [], "correct the table, then run `npm run generate` for the pictures");
  });
}

test("the page shows the ways of a claim, a package, a function call and an API request, each with its picture", () => {
  const text = readFileSync(architecturePage, "utf8");
  const ways = ["claim", "package", "function-call", "api-request"].map((what) => {
    const found = [...generatePictures().keys()].find((path) => path.endsWith(`-${what}.svg`));
    assert.ok(found !== undefined, what);
    return found.slice("docs/".length);
  });
  for (const path of ways) assert.ok(text.includes(`](${path})`), `${path} is not shown`);
});

test("the files on the way of a claim exist, are counted and are fewer than 60", () => {
  const text = readFileSync(architecturePage, "utf8");
  const section = text.slice(text.indexOf("### The files on the way"), text.indexOf("## The way of a package"));
  const files = [...section.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].flatMap(([, folder, names = ""]) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => `packages/${folder}/${name}`),
  );
  assert.deepEqual(
    files.filter((path) => !existsSync(path)),
    [],
  );
  assert.equal(Number(/A claim passes (\d+) files/.exec(section)?.[1]), new Set(files).size);
  assert.ok(files.length < 60, `${files.length} files`);
});

test("the page lists the filters that keep a write from waking its writer", () => {
  assert.ok(tables.some(({ heading, rows }) => /filters/i.test(heading) && rows.length > 3));
});

const source = `
export async function load(path: string) {}
export const createThing = () => 1;
export class Queue<T> {
  readonly name: string;
  add(item: T): void {}
  async *drain() {}
}
// function hidden() {}
const text = "function quoted() {}";
`;
const declared: ReadonlyArray<readonly [name: string, isDeclared: boolean]> = [
  ["load", true],
  ["createThing", true],
  ["Queue", true],
  ["Queue.add", true],
  ["Queue.drain", true],
  ["Queue.remove", false],
  ["loa", false],
  ["hidden", false],
  ["quoted", false],
  ["Thing.add", false],
];
for (const [name, isDeclared] of declared) {
  test(`${name} is ${isDeclared ? "" : "not "}declared in the example`, () => {
    assert.equal(declares(source, name), isDeclared);
  });
}
