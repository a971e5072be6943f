// SPDX-License-Identifier: Apache-2.0
import { basename } from "node:path";
import { isForTests, packageOf, type SourceFile } from "./source-files.ts";

/** Packages that other people import: what their entry points export is their API. */
const published = new Set(["packages/function-sdk", "packages/provider-sdk"]);

/**
 * Exports that no other file imports, as `path: name`. A name that an entry point of a package re-exports counts as used only when
 * another package, a suite or a tool imports it from there.
 */
export function deadExports(files: readonly SourceFile[]): readonly string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const used = new Set<string>();
  for (const file of files) {
    for (const { file: target, names, isReexport } of file.imports) {
      if (target === undefined || (isReexport && isEntry(file.path))) continue;
      const all = names ?? exportedBy(byPath.get(target));
      for (const name of all) markUsed(byPath, used, { path: target, name });
    }
  }
  const isPublic = (file: SourceFile): boolean => published.has(packageOf(file.path) ?? "") && isEntry(file.path);
  for (const file of files.filter(isPublic)) {
    for (const name of exportedBy(file)) markUsed(byPath, used, { path: file.path, name });
  }
  return files
    .filter(({ path }) => path.startsWith("packages/") && path.includes("/src/") && !/\.test\.ts$|\/gen\//.test(path))
    .flatMap((file) => exportedBy(file).map((name) => `${file.path}: ${name}`))
    .filter((key) => !used.has(key))
    .sort();
}

/** Whether a file is an entry point of a package. */
export const isEntry = (path: string): boolean => basename(path) === "index.ts" && !isForTests(path);

interface Name {
  readonly path: string;
  readonly name: string;
}

/** A name that comes from another file is used there too. */
function markUsed(byPath: ReadonlyMap<string, SourceFile>, used: Set<string>, { path, name }: Name): void {
  const key = `${path}: ${name}`;
  if (used.has(key)) return;
  used.add(key);
  const target = byPath.get(path);
  for (const { file, names, locals, isReexport } of target?.imports ?? []) {
    const at = locals.indexOf(name);
    if (!isReexport || file === undefined || at === -1) continue;
    for (const original of names === undefined ? exportedBy(byPath.get(file)) : [names[at] ?? name]) {
      markUsed(byPath, used, { path: file, name: original });
    }
  }
}

function exportedBy(file: SourceFile | undefined): readonly string[] {
  const reexported = (file?.imports ?? []).filter(({ isReexport }) => isReexport).flatMap(({ locals }) => locals);
  return [...(file?.exports ?? []), ...reexported];
}
