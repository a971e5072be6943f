// SPDX-License-Identifier: Apache-2.0
// `npm run structure`: how the tree is built, in figures; with `--list` what each figure counts. Exits with 1 when a limit is exceeded.
// With `--check`, which is a step of `npm run check`, only what must not exist at all counts, and is listed.
import { deadExports } from "./dead-exports.ts";
import { folderCycles } from "./folder-cycles.ts";
import { isForTests, readSourceFiles, type SourceFile } from "./source-files.ts";
import { undocumentedExports } from "./undocumented-exports.ts";

interface Figure {
  readonly title: string;
  readonly found: readonly string[];
  /** More than this fails the check. */
  readonly limit: number;
}

const files = readSourceFiles();
const product = files.filter(({ path }) => !isForTests(path));

/** Files of at most 40 lines with a single importer. */
function smallFiles(): string[] {
  const importers = new Map<string, Set<string>>();
  for (const file of product) {
    for (const { file: target } of file.imports) {
      if (target !== undefined) importers.set(target, (importers.get(target) ?? new Set()).add(file.path));
    }
  }
  const isOnlyFor = (path: string): boolean => {
    const [importer, ...others] = importers.get(path) ?? [];
    return others.length === 0 && importer !== undefined && !importer.endsWith("/index.ts");
  };
  return product.filter(({ path, lines }) => lines <= 40 && isOnlyFor(path)).map(({ path }) => path);
}

const linesWith = (pattern: RegExp, from: readonly SourceFile[]): string[] =>
  from.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  );

const figures: readonly Figure[] = [
  { title: "source files", found: product.map(({ path }) => path), limit: 1050 },
  { title: "files of at most 40 lines with one importer", found: smallFiles(), limit: 30 },
  { title: "as unknown as", found: linesWith(/\bas unknown as\b/, product), limit: 15 },
  { title: "exports that no file imports", found: deadExports(files), limit: 0 },
  { title: "exports of entry points without a doc comment", found: undocumentedExports(files), limit: 0 },
  { title: "folders that import each other", found: folderCycles(files), limit: 0 },
];

const isCheck = process.argv.includes("--check");
const isListed = isCheck || process.argv.includes("--list");
const shown = isCheck ? figures.filter(({ limit }) => limit === 0) : figures;
for (const { title, found, limit } of shown) {
  const verdict = found.length <= limit ? "" : "   TOO MANY";
  console.log(`${String(found.length).padStart(5)} of at most ${String(limit).padStart(5)}   ${title}${verdict}`);
  if (isListed && title !== "source files") for (const line of found) console.log(`        ${line}`);
}
if (!isCheck) {
  const linesOf = (of: readonly SourceFile[]): number => of.reduce((sum, { lines }) => sum + lines, 0);
  // Unit tests, suites and their helpers; tools and benchmarks are neither product nor tests.
  const tests = files.filter(({ path }) => isForTests(path) && /^(packages|test)\//.test(path));
  const ratio = linesOf(tests) / linesOf(product);
  console.log(` ${ratio.toFixed(2)} of at least  1.20   lines of tests for each line of source`);
}
process.exitCode = shown.some(({ found, limit }) => found.length > limit) ? 1 : 0;
