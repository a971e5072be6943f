// SPDX-License-Identifier: Apache-2.0
import { isEntry } from "./dead-exports.ts";
import type { SourceFile } from "./source-files.ts";

/** Exports of entry points whose declaration has no doc comment, as `path: name` of the declaration. Generated files do not count. */
export function undocumentedExports(files: readonly SourceFile[]): readonly string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const declarations = files
    .filter(({ path }) => isEntry(path))
    .flatMap((entry) => namesOf(entry).flatMap((name) => declarationsOf(byPath, { path: entry.path, name })));
  const missing = declarations.filter(({ path, name }) => {
    const file = byPath.get(path);
    return file !== undefined && !path.includes("/gen/") && !isDocumented(file.text, name);
  });
  return [...new Set(missing.map(({ path, name }) => `${path}: ${name}`))].sort();
}

interface Name {
  readonly path: string;
  readonly name: string;
}

/** What a file exports; `*` for all of a file that it re-exports. */
function namesOf({ exports, imports }: SourceFile): readonly string[] {
  return [...exports, ...imports.filter(({ isReexport }) => isReexport).flatMap(({ locals }) => locals)];
}

/** The file that declares a name, through any number of others. `seen` ends the search in files that re-export each other. */
function declarationsOf(
  byPath: ReadonlyMap<string, SourceFile>,
  { path, name }: Name,
  seen: ReadonlySet<string> = new Set(),
): readonly Name[] {
  const file = byPath.get(path);
  const key = `${path}: ${name}`;
  if (file === undefined || seen.has(key)) return [];
  const visited = new Set(seen).add(key);
  const from = file.imports.filter(({ file: target, locals }) => target !== undefined && locals.includes(name));
  if (from.length === 0) return name === "*" ? [] : [{ path, name }];
  return from.flatMap(({ file: target = "", names, locals }) => {
    const source = byPath.get(target);
    const originals =
      names === undefined ? (source === undefined ? [] : namesOf(source)) : [names[locals.indexOf(name)] ?? name];
    return originals.flatMap((original) => declarationsOf(byPath, { path: target, name: original }, visited));
  });
}

const keywords = "(?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\\*?|const|let|class|interface|type)";

/** Whether a doc comment ends right before the first declaration of a name; comments for tools may be between them. */
function isDocumented(text: string, name: string): boolean {
  const what = name === "default" ? "export default" : `(?:export )?${keywords} ${name}`;
  const declaration = new RegExp(`^${what}\\b`, "m").exec(text);
  if (declaration === null) return false;
  const lines = text.slice(0, declaration.index).split("\n").slice(0, -1);
  const last = lines.findLastIndex((line) => !line.startsWith("// "));
  const first = lines.findLastIndex((line, index) => index <= last && /^\/\*/.test(line));
  return lines[last]?.endsWith("*/") === true && lines[first]?.startsWith("/**") === true;
}
