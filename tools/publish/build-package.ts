// SPDX-License-Identifier: Apache-2.0
// Turns a workspace package into what is published of it: JavaScript with types, because Node strips no types inside node_modules.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";

/** The root of the repository. */
export const root: string = resolve(import.meta.dirname, "../..");

/** What of a package.json is needed here. */
export interface Manifest {
  readonly version: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  /** Only that of the root: where the sources can be fetched. */
  readonly repository?: SourceRepository;
}

/** Where the sources of a package can be fetched, as npm writes it. */
export interface SourceRepository {
  readonly type: string;
  readonly url: string;
}

/** A package to build: where it is, what to compile, and what its consumers may import. */
export interface Part {
  readonly name: string;
  /** Its folder below the root. */
  readonly source: string;
  /** Entry files below src by what imports them; all they import is compiled, and nothing else. */
  readonly entries: Readonly<Record<string, string>>;
  /** Built-ins it may use, and its types checked against them. Default: what is checked for the whole repository anyway. */
  readonly lib?: readonly string[];
}

/**
 * Compiles a package into `target/dist`. `stage` lies inside the repository, so that the compiler finds other people's packages;
 * ours below this one are built before it, in `stage/node_modules`.
 */
export function buildPackage(part: Part, stage: string, target: string): void {
  mkdirSync(target, { recursive: true });
  // A copy of the sources below the stage resolves what was built there instead of the sources next door. Not below
  // node_modules, where the compiler treats every import as external.
  const work = join(stage, "build");
  cpSync(join(root, part.source, "src"), join(work, "src"), {
    recursive: true,
    filter: (path) => !path.endsWith(".test.ts") && !path.includes("/testdata"),
  });
  const config = join(work, "tsconfig.json");
  writeFileSync(config, JSON.stringify(compilerConfig(part, join(target, "dist")), undefined, 2));
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", config], work);
  rmSync(work, { recursive: true });
}

function compilerConfig({ entries, lib }: Part, outDir: string): object {
  return {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      rootDir: "src",
      outDir,
      target: "es2024",
      ...(lib ? { lib } : { noCheck: true }),
      allowImportingTsExtensions: false,
    },
    include: [],
    files: Object.values(entries).map((entry) => `src/${entry}.ts`),
  };
}

/**
 * What every published package.json says. `repository` is that of the root package.json, which names none while the sources have no public
 * address: a made-up one would send readers, and npm's check of provenance, to a host of someone else.
 */
export function commonManifest(
  { name, source, entries }: Part,
  repository: SourceRepository | undefined = readManifest(".").repository,
): Record<string, unknown> {
  const { version, dependencies = {} } = readManifest(source);
  const exports = Object.fromEntries(
    Object.entries(entries).map(([path, entry]) => [
      path,
      { types: `./dist/${entry}.d.ts`, default: `./dist/${entry}.js` },
    ]),
  );
  const from = repository === undefined ? {} : { repository: { ...repository, directory: source } };
  return { name, version, license: "Apache-2.0", ...from, type: "module", sideEffects: false, exports, dependencies };
}

/**
 * What the package.json of a package inside another one says. It has no dependencies: the package around it names them all. A global
 * installation takes what a bundled package depends on for bundled, too, and leaves its folder empty.
 */
export function bundledManifest(part: Part): Record<string, unknown> {
  const { dependencies: _, ...manifest } = commonManifest(part);
  return manifest;
}

/** The package.json of a workspace package. */
export function readManifest(source: string): Manifest {
  return JSON.parse(readFileSync(join(root, source, "package.json"), "utf8")) as Manifest;
}

/** Writes a package.json. */
export function writeManifest(folder: string, manifest: object): void {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** Packs a folder as npm would publish it. Gives the path of the .tgz. */
export function pack(folder: string, directory: string): string {
  mkdirSync(directory, { recursive: true });
  const output = run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", directory], folder);
  const [packed] = JSON.parse(output) as { filename: string }[];
  if (packed === undefined) throw new Error("npm pack made no file");
  return join(directory, packed.filename);
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", maxBuffer: 1 << 26 });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed in ${cwd}:\n${stdout}${stderr}`);
  return stdout;
}
