// SPDX-License-Identifier: Apache-2.0
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { type BuildOptions, buildSync, type Metafile } from "esbuild";
import { readManifest, root } from "./build-package.ts";

const common = {
  bundle: true,
  platform: "node",
  target: "node26",
  // Names stay, so that a stack trace can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  charset: "ascii",
  legalComments: "none",
  logLevel: "error",
  metafile: true,
  absWorkingDir: root,
} as const satisfies BuildOptions;

/** A module of the command line to build into one file with all it imports. */
export interface WholeModule {
  /** Below `dist`, without ending. */
  readonly module: string;
  /** The name of the function it exports. */
  readonly exports: string;
  /** What stays where it is, because it is loaded only when it is needed. */
  readonly external: readonly string[];
}

/**
 * Puts a module of `dist` and all it imports into one file beside it, and makes the module load that file. Gives the packages of others
 * that went into it. For what is started often, or waited for: loading and compiling module by module took half of the time.
 */
export function bundleModule({ module, exports, external }: WholeModule, dist: string): string[] {
  const target = join(dist, `${module}.js`);
  requireNoImports(target, dist);
  const { metafile } = buildSync({
    ...common,
    entryPoints: [target],
    outfile: join(dist, `${module}.cjs`),
    format: "cjs",
    external: [...external],
    define: { "import.meta.url": "importMetaUrl" },
    // A script of its own has no way to import yet, only to require; which now loads modules too.
    supported: { "dynamic-import": false },
  });
  const loader = relative(dirname(target), join(dist, "compiled/load-compiled.js"));
  const from = loader.startsWith(".") ? loader : `./${loader}`;
  writeFileSync(
    target,
    `import { loadCompiled } from "${from}";\n` +
      `export const { ${exports} } = loadCompiled(new URL("./${basename(module)}.cjs", import.meta.url));\n`,
  );
  return packagesIn(metafile);
}

/** Other modules may load the module as a command; what else it exports is no longer there for them. */
function requireNoImports(target: string, dist: string): void {
  const importing = new RegExp(`\\bfrom "[./][^"]*/${basename(target).replaceAll(".", "\\.")}"`);
  for (const file of globSync("**/*.js", { cwd: dist })) {
    const text = readFileSync(join(dist, file), "utf8");
    if (!importing.test(text)) continue;
    throw new Error(
      `${file} imports ${relative(dist, target)}, which is built into one file: move what it needs elsewhere`,
    );
  }
}

/** Other people's packages of which something is in a bundle, as folders. */
function packagesIn({ inputs }: Metafile): string[] {
  const folders = Object.keys(inputs).flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
  return [...new Set(folders)].filter((folder) => !folder.includes("/@purlin/")).map((folder) => join(root, folder));
}

/** The licences of packages whose code travels with ours, as they ask for. */
export function licencesOf(folders: readonly string[]): string {
  const packages = [...new Set(folders)].map((folder) => ({ folder, ...packageOf(folder) }));
  return packages
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ folder, name, version, license }) => `${name} ${version} (${license})\n\n${licenceText(folder)}`)
    .join(`\n${"-".repeat(80)}\n\n`);
}

function packageOf(folder: string): { readonly name: string; readonly version: string; readonly license: string } {
  return readManifest(relative(root, folder)) as unknown as ReturnType<typeof packageOf>;
}

function licenceText(folder: string): string {
  const [file] = globSync("{LICENSE,LICENCE,license}*", { cwd: folder });
  const path = join(folder, file ?? "");
  return file !== undefined && existsSync(path) ? readFileSync(path, "utf8") : "The package has no licence file.\n";
}
