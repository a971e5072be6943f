// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { decodeMappings, encodeMappings, type Segment } from "./source-map-mappings.ts";

/**
 * A source map of what the project wrote: with the packages that a function imports it would be as large as the bundle, and reading it
 * would take long at the first error. Sources are named from the folder of the function, so that no folder of this machine is in it.
 */
export function projectSourceMap(text: string, folder: string): string {
  const map = JSON.parse(text) as { readonly sources: readonly string[]; readonly mappings: string };
  const project = projectOf(folder);
  const paths = map.sources.map((source) => resolve(folder, source));
  const kept = paths.filter((path) => isInProject(path, project));
  const numberOf = new Map(kept.map((path, at) => [path, at]));
  const numbers = paths.map((path) => numberOf.get(path) ?? -1);
  const lines = decodeMappings(map.mappings).map((line) => ownSegments(line, numbers));
  const sources = kept.map((path) => relative(folder, path));
  return JSON.stringify({ version: 3, sources, names: [], mappings: encodeMappings(lines) });
}

/** The segments of some sources, under new numbers. Where other sources begin, one segment without a source says so. */
function ownSegments(line: readonly Segment[], numbers: readonly number[]): Segment[] {
  const own: Segment[] = [];
  for (const { column, original } of line) {
    const source = original === undefined ? -1 : (numbers[original.source] ?? -1);
    if (original !== undefined && source >= 0) own.push({ column, original: { ...original, source } });
    else if (own.at(-1)?.original !== undefined) own.push({ column, original: undefined });
  }
  return own;
}

function isInProject(path: string, project: string): boolean {
  return path.startsWith(project + sep) && !path.includes(`${sep}node_modules${sep}`, project.length);
}

/** The nearest folder with a package.json, from a folder upwards; the folder itself where there is none. */
function projectOf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, "package.json"))) return at;
    if (at === dirname(at)) return folder;
  }
}
