// SPDX-License-Identifier: Apache-2.0
// The TypeScript files of the repository with what they import and export, read from their text: Biome formats every import alike.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

export interface Import {
  /** As written: `./x.ts` or `@purlin/oci`. */
  readonly specifier: string;
  /** The file, when it is one of the repository. */
  readonly file: string | undefined;
  /** The imported names. Undefined when the whole module is imported: `import * as x`, `import("x")`. */
  readonly names: readonly string[] | undefined;
  /** The same names as they are called here: `b` of `a as b`. */
  readonly locals: readonly string[];
  readonly isTypeOnly: boolean;
  /** `export … from`. */
  readonly isReexport: boolean;
  /** `import("…")`: loaded when it is needed, often so that a table can name what imports the table. */
  readonly isDynamic: boolean;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  /** Names that are declared and exported here; re-exports are not among them. */
  readonly exports: readonly string[];
}

const patterns = [
  "packages/*/{src,test}/**/*.ts",
  "packages/*/{bin,template}/**/*.{ts,js}",
  "test/**/*.ts",
  "tools/**/*.ts",
  "bench/**/*.ts",
  "examples/**/*.ts",
];

const fromPattern = /^(import|export) (type )?(\{[^}]*\}|\*(?: as \w+)?|\w+(?:, \{[^}]*\})?) from "([^"]+)";/gm;
const wholePattern = /(?:\bimport\(\s*"([^"]+)"|^import "([^"]+)";)/gm;
const declaredPattern =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type) (\w+)/gm;
const listedPattern = /^export (?:type )?\{([^}]*)\};/gm;

/** Every file that may import another one, of the repository at `root`. */
export function readSourceFiles(root = "."): readonly SourceFile[] {
  const manifests = packageEntries(root);
  return globSync(patterns, { cwd: root, exclude: (path) => path.includes("node_modules") })
    .sort()
    .map((path) => readSourceFile(path, readFileSync(join(root, path), "utf8"), manifests));
}

/** Whether a file is a test or helps tests, and so is not part of the product. */
export function isForTests(path: string): boolean {
  return !path.startsWith("packages/") || path.endsWith(".test.ts") || /\/(test|testdata)\//.test(path);
}

/** `packages/oci` of `packages/oci/src/xpkg/package-image.ts`; undefined outside of packages. */
export function packageOf(path: string): string | undefined {
  return /^packages\/[^/]+/.exec(path)?.[0];
}

function readSourceFile(path: string, text: string, entries: ReadonlyMap<string, string>): SourceFile {
  const fileOf = (specifier: string): string | undefined =>
    specifier.startsWith(".") ? normalize(join(dirname(path), specifier)) : entries.get(specifier);
  const named = [...text.matchAll(fromPattern)].map(([, keyword, type, clause = "", specifier = ""]) => ({
    specifier,
    file: fileOf(specifier),
    names: clause.startsWith("*") ? undefined : namesIn(clause),
    locals: clause.startsWith("*") ? [clause.replace(/^\* as /, "")] : namesIn(clause, 1),
    isTypeOnly: type !== undefined,
    isReexport: keyword === "export",
    isDynamic: false,
  }));
  const whole = [...text.matchAll(wholePattern)].map(([, dynamic, bare]) => ({
    specifier: dynamic ?? bare ?? "",
    file: fileOf(dynamic ?? bare ?? ""),
    names: undefined,
    locals: [],
    isTypeOnly: false,
    isReexport: false,
    isDynamic: dynamic !== undefined,
  }));
  const declared = [...text.matchAll(declaredPattern)].map(([, name = ""]) => name);
  const listed = [...text.matchAll(listedPattern)].flatMap(([, list = ""]) => namesIn(`{${list}}`));
  const lines = text.split("\n").length - 1;
  return { path, text, lines, imports: [...named, ...whole], exports: [...declared, ...listed] };
}

/** The names in `{ a, type b as c }`: those before `as` (side 0) or after it (side 1). */
function namesIn(clause: string, side: 0 | 1 = 0): string[] {
  const list = /\{([^}]*)\}/.exec(clause)?.[1];
  const defaults = clause.startsWith("{") ? [] : ["default"];
  const names = (list ?? "").split(",").map((part) => part.trim().replace(/^type /, ""));
  return [
    ...defaults,
    ...names.filter((name) => name !== "").map((name) => name.split(" as ").at(side === 0 ? 0 : -1) ?? name),
  ];
}

/** `@purlin/oci/testing` to `packages/oci/test/index.ts`, for every package. */
function packageEntries(root: string): ReadonlyMap<string, string> {
  const entries = globSync("packages/*/package.json", { cwd: root }).flatMap((path) => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), "utf8")) as {
      name: string;
      exports?: Record<string, string>;
    };
    return Object.entries(exports).map(
      ([entry, file]) => [join(name, entry), normalize(join(dirname(path), file))] as const,
    );
  });
  return new Map(entries);
}
