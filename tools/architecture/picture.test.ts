// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NamedCode } from "./named-code.ts";
import { drawWay } from "./picture.ts";

const code = (file: string | undefined, name = "run", does = "does it"): NamedCode =>
  ({ file, name, does }) as NamedCode;
const count = (text: string, part: string): number => text.split(part).length - 1;
const texts = (svg: string, kind: string): string[] =>
  [...svg.matchAll(new RegExp(`<text class="way-${kind}"[^>]*>([^<]*)</text>`, "g"))].map(([, text = ""]) => text);

test("steps of one package share a frame; a step without a file is outside", () => {
  const svg = drawWay("A & B", [
    code("cli/src/a.ts", "a"),
    code("cli/src/b.ts", "b"),
    code(undefined, "server"),
    code("cli/src/c.ts", "c"),
  ]);
  assert.match(svg, /<title>A &amp; B<\/title>/);
  assert.deepEqual(texts(svg, "title"), ["cli", "outside", "cli"]);
  assert.deepEqual(texts(svg, "name"), ["1 a", "2 b", "3 server", "4 c"]);
  assert.deepEqual(texts(svg, "file"), ["a.ts", "b.ts", "c.ts"]);
});

test("frames stand beside each other while they fit three columns, and arrows join all steps", () => {
  const heights = (rows: readonly NamedCode[]): number =>
    Number(/height="(\d+)" class="way"/.exec(drawWay("t", rows))?.[1]);
  const [a, b, c] = ["a", "b", "c"].map((name) => code(`${name}/src/x.ts`));
  assert.ok(a && b && c);
  assert.equal(heights([a, b, c]), heights([a]), "one band");
  assert.ok(heights([a, b, c, a]) > heights([a, b, c]), "a second band");
  assert.equal(heights([a, a, a, b]), heights([a, b, a, b]));
  for (const rows of [[a], [a, b], [a, b, c, a], [a, a, a, a, a, b, c]]) {
    // Each arrow is a line and a head.
    assert.equal(count(drawWay("t", rows), 'class="way-arrow"'), 2 * (rows.length - 1), `${rows.length} steps`);
  }
});

test("a long path is shown without its first folders", () => {
  const [short, long] = texts(
    drawWay("t", [
      code(`cli/src/${"a".repeat(33)}.ts`),
      code(`cli/src/first-folder/second-folder/third/name-of-file.ts`),
    ]),
    "file",
  );
  assert.equal(short?.length, 36);
  assert.equal(long, "…/second-folder/third/name-of-file.ts".slice(-37).replace(/^[^/]*/, "…"));
});

test("what a step does is wrapped into two lines, and a third is an error", () => {
  const words = (letters: number): string => `${"x".repeat(letters)} ${"y".repeat(20)}`;
  assert.equal(texts(drawWay("t", [code("a/src/b.ts", "n", words(22))]), "does").length, 1);
  assert.equal(texts(drawWay("t", [code("a/src/b.ts", "n", words(23))]), "does").length, 2);
  const three = [1, 2, 3].map(() => "z".repeat(30)).join(" ");
  assert.throws(() => drawWay("t", [code("a/src/b.ts", "n", three)]), {
    message: `"${three}" is longer than 2 lines of 43 letters`,
  });
});
