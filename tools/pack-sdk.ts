// SPDX-License-Identifier: Apache-2.0
// Packs @purlin/function-sdk as it is published: `node tools/pack-sdk.ts [DIRECTORY]` writes a .tgz there (default:
// packages/function-sdk/dist) and prints its path. Sources run as they are here; published code is JavaScript with
// types, because Node strips no types inside node_modules. The two packages below the SDK travel inside it, since they
// are not published on their own.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = resolve(import.meta.dirname, "..");
const sdk = join(root, "packages/function-sdk");

interface Manifest {
  readonly version: string;
  readonly dependencies: Record<string, string>;
}

/** A package to build: where it is, what to compile, and what its consumers may import. */
interface Part {
  readonly name: string;
  readonly source: string;
  /** Entry files below src; all they import is compiled, and nothing else. */
  readonly entries: Readonly<Record<string, string>>;
}

const parts: readonly Part[] = [
  { name: "@purlin/function-protocol", source: "packages/function-protocol", entries: { ".": "index" } },
  { name: "@purlin/kube-objects", source: "packages/kube-objects", entries: { "./schema": "schema/index" } },
  {
    name: "@purlin/function-sdk",
    source: "packages/function-sdk",
    entries: { ".": "index", "./testing": "testing/index" },
  },
];

/** Builds and packs the SDK. Gives the path of the .tgz. */
export function packSdk(directory: string): string {
  mkdirSync(join(sdk, "dist"), { recursive: true });
  // Inside the repository, so that the compiler finds the other dependencies; the parts already built come first.
  const stage = mkdtempSync(join(sdk, "dist/stage-"));
  try {
    for (const part of parts) build(part, stage);
    for (const file of ["LICENSE", "packages/function-sdk/README.md"]) {
      cpSync(join(root, file), join(stage, file.split("/").at(-1) ?? file));
    }
    return pack(stage, resolve(directory));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function build(part: Part, stage: string): void {
  const target = part.source === "packages/function-sdk" ? stage : join(stage, "node_modules", part.name);
  mkdirSync(target, { recursive: true });
  // A copy of the sources below the stage resolves what was built there instead of the sources next door. Not below
  // node_modules, where the compiler takes every import for somebody else's.
  const work = join(stage, "build");
  cpSync(join(root, part.source, "src"), join(work, "src"), {
    recursive: true,
    filter: (path) => !path.endsWith(".test.ts") && !path.includes("/testdata"),
  });
  const config = join(work, "tsconfig.json");
  writeFileSync(config, JSON.stringify(compilerConfig(part, join(target, "dist")), undefined, 2));
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", config], work);
  rmSync(work, { recursive: true });
  writeFileSync(join(target, "package.json"), `${JSON.stringify(manifestOf(part), undefined, 2)}\n`);
}

function compilerConfig({ entries }: Part, outDir: string): object {
  return {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      rootDir: "src",
      outDir,
      target: "es2024",
      // What Node 22 has: a newer built-in would compile here and fail there.
      lib: ["es2024", "es2025.iterator", "es2025.collection", "esnext.disposable"],
      allowImportingTsExtensions: false,
    },
    include: [],
    files: Object.values(entries).map((entry) => `src/${entry}.ts`),
  };
}

function manifestOf({ name, source, entries }: Part): object {
  const { version, dependencies = {} } = readManifest(source) as Partial<Manifest>;
  const exports = Object.fromEntries(
    Object.entries(entries).map(([path, entry]) => [
      path,
      { types: `./dist/${entry}.d.ts`, default: `./dist/${entry}.js` },
    ]),
  );
  const common = { name, version, license: "Apache-2.0", type: "module", sideEffects: false, exports, dependencies };
  if (source !== "packages/function-sdk") return common;
  const bundled = parts.map((part) => part.name).filter((one) => one !== name);
  const below = parts.filter((part) => part.name !== name).map((part) => readManifest(part.source).dependencies);
  return {
    ...common,
    description: "Write composition functions for Purlin and Crossplane in TypeScript",
    keywords: ["crossplane", "kubernetes", "composition", "function", "purlin"],
    engines: { node: ">=22" },
    files: ["dist"],
    dependencies: Object.assign({}, ...below, dependencies) as object,
    bundleDependencies: bundled,
  };
}

function readManifest(source: string): Manifest {
  return JSON.parse(readFileSync(join(root, source, "package.json"), "utf8")) as Manifest;
}

function pack(stage: string, directory: string): string {
  mkdirSync(directory, { recursive: true });
  const output = run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", directory], stage);
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(packSdk(process.argv[2] ?? join(sdk, "dist")));
}
