// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePackageStream } from "./package-contents.ts";
import { isPackageError } from "./package-meta.ts";

const place = (line?: number): string => (line === undefined ? "p.yaml" : `p.yaml:${line}`);

const rows: { why: string; text: string; documents: [value: unknown, line: number][] }[] = [
  { why: "nothing", text: "", documents: [] },
  { why: "blank lines, comments and separators", text: "\n# x\n---\n\n---\n# y\n...\n---   \n", documents: [] },
  { why: "one without a mark", text: "a: 1\n", documents: [[1, 1]] },
  {
    why: "several",
    text: "a: 1\n---\na: 2\n---\na: 3\n",
    documents: [
      [1, 1],
      [2, 2],
      [3, 4],
    ],
  },
  {
    why: "content on the line of a mark",
    text: "--- {a: 1}\n--- {a: 2}\n",
    documents: [
      [1, 1],
      [2, 2],
    ],
  },
  { why: "a comment on the line of a mark", text: "--- # one\na: 1\n", documents: [[1, 1]] },
  { why: "lines that only look like marks", text: "a: |\n  ---\n  x\nb: ----\n", documents: [["---\nx\n", 1]] },
  { why: "four dashes are not a separator", text: "a: 1\n# ----\n", documents: [[1, 1]] },
  {
    why: "Windows line ends",
    text: "a: 1\r\n---\r\na: 2\r\n",
    documents: [
      [1, 1],
      [2, 2],
    ],
  },
  {
    why: "no line end at the end",
    text: "a: 1\n---\na: 2",
    documents: [
      [1, 1],
      [2, 2],
    ],
  },
  { why: "words are words, as kubectl reads them", text: "a: yes\n", documents: [[true, 1]] },
  { why: "aliases repeat", text: "a: &x [1, {b: &y c}]\nd: [*x, *x, *y]\n", documents: [[[1, { b: "c" }], 1]] },
  { why: "times are texts", text: "a: 2026-01-01\n", documents: [["2026-01-01", 1]] },
];
for (const { why, text, documents } of rows) {
  test(`a stream: ${why}`, async () => {
    const read = await parsePackageStream(text, place);
    assert.deepEqual(
      read.map(({ object, line }) => [object["a"], line]),
      documents,
    );
  });
}

const aliases = /^p\.yaml:1: its aliases stand for more than 16 MiB, or for themselves$/;

/** Each line stands for ten times what the one before it does. */
function laughs(lines: number): string {
  const line = (at: number): string => `l${at}: &x${at + 1} [${Array(10).fill(`*x${at}`).join(", ")}]\n`;
  return Array.from({ length: lines }, (_, at) => line(at)).join("");
}

/** Each line holds the one before it. */
function chain(lines: number): string {
  return Array.from({ length: lines }, (_, at) => `l${at}: &x${at + 1} [*x${at}]\n`).join("");
}

const refused: { why: string; text: string; says: RegExp }[] = [
  { why: "broken YAML, with its line in the stream", text: "a: 1\n---\nb: [\n", says: /^p\.yaml:\d: invalid YAML: / },
  { why: "a list", text: "- a\n", says: /^p\.yaml:1: expected an object with apiVersion and kind$/ },
  { why: "a text after a good one", text: "a: 1\n---\nhello\n", says: /^p\.yaml:2: expected an object/ },
  { why: "a key twice", text: "a: 1\na: 2\n", says: /invalid YAML: duplicated mapping key/ },
  {
    why: "a document that is too large",
    text: `a: ${"x".repeat(8 * 1024 * 1024)}\n`,
    says: /^p\.yaml:1: the document is larger than 8 MiB$/,
  },
  { why: "aliases of aliases", text: `a: &x0 [x]\n${laughs(12)}`, says: aliases },
  { why: "an alias of itself", text: "a: &x [*x]\n", says: aliases },
  { why: "aliases in one another", text: `a: &x0 [x]\n${chain(100_000)}`, says: aliases },
  {
    why: "an alias of a long text",
    text: `a: &x ${"x".repeat(100_000)}\nb: [${"*x, ".repeat(10_000)}]\n`,
    says: aliases,
  },
  { why: "nesting that is too deep", text: `a: ${"[".repeat(5000)}${"]".repeat(5000)}\n`, says: /invalid YAML/ },
];
for (const { why, text, says } of refused) {
  test(`no stream: ${why}`, async () => {
    await assert.rejects(
      parsePackageStream(text, place),
      (error: Error) => isPackageError(error) && says.test(error.message),
    );
  });
}

test("aliases are limited by their expanded size", async () => {
  const bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let at = 1; at < 9; at++)
    bomb.push(
      `a${at}: &a${at} [${Array(10)
        .fill(`*a${at - 1}`)
        .join(", ")}]`,
    );
  const before = process.memoryUsage().heapUsed;
  await parsePackageStream(`${bomb.join("\n")}\n`, place).catch((error: unknown) => assert.ok(isPackageError(error)));
  assert.ok(process.memoryUsage().heapUsed - before < 200 * 1024 * 1024);
});
