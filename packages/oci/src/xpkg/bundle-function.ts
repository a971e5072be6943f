// SPDX-License-Identifier: Apache-2.0
import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { isUnreadableFile, requireRegularFile } from "@purlin/kube-objects/files";
import type { Plugin } from "esbuild";
import { PackageError } from "./package-meta.ts";

// The `mappings` of source maps, version 3: lines of segments, each a few numbers relative to the segment before.

/** From a column of a line on, the code comes from there; undefined where it comes from nowhere in particular. */
export interface Segment {
  readonly column: number;
  readonly original: { readonly source: number; readonly line: number; readonly column: number } | undefined;
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const more = 0b100000;

/** Reads mappings, a list of segments for each line. Names are left out. */
export function decodeMappings(text: string): Segment[][] {
  let [source, originalLine, originalColumn] = [0, 0, 0];
  return text.split(";").map((line) => {
    let column = 0;
    return segmentsOf(line).map((numbers) => {
      const [toColumn = 0, toSource, toLine = 0, toOriginalColumn = 0] = numbers;
      column += toColumn;
      if (toSource === undefined) return { column, original: undefined };
      source += toSource;
      originalLine += toLine;
      originalColumn += toOriginalColumn;
      return { column, original: { source, line: originalLine, column: originalColumn } };
    });
  });
}

function segmentsOf(line: string): number[][] {
  return line === "" ? [] : line.split(",").map(decodeNumbers);
}

function decodeNumbers(text: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const character of text) {
    const digit = digits.indexOf(character);
    value |= (digit & (more - 1)) << shift;
    shift += 5;
    if (digit & more) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** Writes mappings. */
export function encodeMappings(lines: readonly (readonly Segment[])[]): string {
  let last = { source: 0, line: 0, column: 0 };
  const encoded = lines.map((line) => {
    let before = 0;
    const segments = line.map(({ column, original }) => {
      let text = encodeNumber(column - before);
      before = column;
      if (original === undefined) return text;
      text += encodeNumber(original.source - last.source);
      text += encodeNumber(original.line - last.line) + encodeNumber(original.column - last.column);
      last = original;
      return text;
    });
    return segments.join(",");
  });
  return encoded.join(";");
}

function encodeNumber(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = "";
  do {
    const digit = rest & (more - 1);
    rest >>>= 5;
    text += digits[rest > 0 ? digit | more : digit];
  } while (rest > 0);
  return text;
}

/** A function and everything it imports, in one file that serves by itself. */
interface FunctionBundle {
  /** With a source map of the project's own files at its end. */
  readonly code: Uint8Array;
  /** What the bundler warned about, a line each. */
  readonly warnings: readonly string[];
}

/** Where the bundle lies in an image, and how it is started. */
export const bundlePath = "function/main.mjs";
/** With source maps, so that errors name the lines of the function and not those of the bundle. */
export const bundleCommand: readonly string[] = ["node", "--enable-source-maps", `/${bundlePath}`];

/** Modules of the older kind ask for others at run time; this lets them. */
const banner = `import { createRequire as purlinRequire } from "node:module"; const require = purlinRequire(import.meta.url);`;

/** Bundles a TypeScript or JavaScript file that exports a function, with what serves it. */
export function bundleFunction(file: string): Promise<FunctionBundle> {
  return bundle(file, program(basename(file)));
}

/** Bundles a TypeScript or JavaScript program, such as that of a Provider. */
export function bundleProgram(file: string): Promise<FunctionBundle> {
  return bundle(file, `import ${JSON.stringify(`./${basename(file)}`)};\n`);
}

/** The result depends on the sources alone: not on where they are, nor on when. */
async function bundle(file: string, contents: string): Promise<FunctionBundle> {
  const path = resolve(file);
  requireSource(path, file);
  for (const settings of settingsAbove(path)) requireSource(settings, relative(dirname(path), settings));
  // A program of its own, needed only here.
  const { build } = await import("esbuild");
  try {
    const result = await build({
      stdin: { contents, resolveDir: dirname(path), sourcefile: "purlin-function.js" },
      absWorkingDir: dirname(path),
      outfile: basename(bundlePath),
      bundle: true,
      write: false,
      sourcemap: "external",
      sourcesContent: false,
      platform: "node",
      format: "esm",
      target: "node22",
      banner: { js: banner },
      legalComments: "none",
      // Comments would name the folders of this machine.
      minifyWhitespace: true,
      logLevel: "silent",
      plugins: [onlyRegularFiles(dirname(path))],
    });
    const [map, output] = result.outputFiles;
    if (map === undefined || output === undefined) throw new PackageError(`${file}: the bundle is empty`);
    const sourceMap = projectSourceMap(map.text, dirname(path));
    return { code: withSourceMap(output.text, sourceMap), warnings: result.warnings.map(messageText) };
  } catch (error) {
    throw asPackageError(file, error);
  }
}

/** More than any file that people write, or that a package distributes. */
const limits = { maxBytes: 64 * 1024 * 1024 };

/** The bundler opens what it finds: it would wait for a FIFO for ever, and read a device without end. */
const onlyRegularFiles = (folder: string): Plugin => ({
  name: "only-regular-files",
  setup({ onLoad }) {
    onLoad({ filter: /^/, namespace: "file" }, ({ path }) => {
      try {
        requireRegularFile(path, limits);
        return undefined;
      } catch (error) {
        if (!isUnreadableFile(error)) return undefined;
        return { errors: [{ text: `cannot read ${relative(folder, path)}: ${error.message}` }] };
      }
    });
  },
});

/** What the bundler reads before any module: settings in the folder of a file and those above. */
function settingsAbove(file: string): string[] {
  const found: string[] = [];
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    for (const name of ["package.json", "tsconfig.json", "jsconfig.json"]) {
      if (isSettings(join(folder, name))) found.push(join(folder, name));
    }
    if (folder === dirname(folder)) return found;
  }
}

/** A folder of such a name is passed over, as the bundler does it. */
function isSettings(path: string): boolean {
  return existsSync(path) && !statSync(path).isDirectory();
}

/** Throws a PackageError for what cannot be read as a source file. */
function requireSource(path: string, shown: string): void {
  try {
    requireRegularFile(path, limits);
  } catch (cause) {
    throw new PackageError(`${shown}: ${isUnreadableFile(cause) ? cause.message : "no such file"}`, { cause });
  }
}

function withSourceMap(code: string, sourceMap: string): Buffer {
  const encoded = Buffer.from(sourceMap).toString("base64");
  return Buffer.from(`${code}//# sourceMappingURL=data:application/json;base64,${encoded}\n`);
}

function program(name: string): string {
  return `
import * as module from ${JSON.stringify(`./${name}`)};
import { main } from "@purlin/function-sdk";
const { default: standard, fn, handler } = module;
const found = standard ?? fn ?? handler;
if (found === undefined) throw new Error(${JSON.stringify(`${name} exports no function: export it as default`)});
await main(found);
`;
}

interface BuildMessage {
  readonly text: string;
  readonly location: { readonly file: string; readonly line: number; readonly column: number } | null;
}

function messageText({ text, location }: BuildMessage): string {
  return location === null ? text : `${location.file}:${location.line}:${location.column + 1}: ${text}`;
}

function asPackageError(file: string, error: unknown): unknown {
  const { errors } = error as { errors?: readonly BuildMessage[] };
  const [first] = errors ?? [];
  if (first === undefined) return error;
  const advice = first.text.includes("@purlin/function-sdk")
    ? ": run npm install; a project of purlin function init has the SDK in its folder vendor/"
    : "";
  return new PackageError(`${file} cannot be bundled: ${messageText(first)}${advice}`, { cause: error });
}

/**
 * A source map of what the project wrote: with the packages that a function imports it would be as large as the bundle, and reading it
 * would take long at the first error. Sources are named from the folder of the function, so that no folder of this machine is in it.
 */
function projectSourceMap(text: string, folder: string): string {
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

/** The nearest folder with a package.json, from a folder upwards; the folder itself without one. */
function projectOf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (isSettings(join(at, "package.json"))) return at;
    if (at === dirname(at)) return folder;
  }
}
