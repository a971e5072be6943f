// SPDX-License-Identifier: Apache-2.0
// Packs the command as it is published: `node tools/pack-cli.ts [DIRECTORY] [--with-sdk function|provider]` writes purlin-VERSION.tgz there (default:
// packages/cli/dist) and prints its path. All workspace packages it needs travel inside it, built, and so do the packed SDKs
// that `purlin function init` and `purlin provider init` put into new projects.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { manPages } from "./man-pages.ts";
import { packProviderSdk } from "./pack-provider-sdk.ts";
import { packSdk } from "./pack-sdk.ts";
import {
  buildPackage,
  bundledManifest,
  commonManifest,
  type Part,
  pack,
  readManifest,
  root,
  writeManifest,
} from "./publish/build-package.ts";
import { bundleModule, licencesOf, type WholeModule } from "./publish/bundle-command.ts";
import { bundleName, bundlePackage } from "./publish/bundle-package.ts";
import { bundleUnscripted } from "./publish/bundle-unscripted.ts";
import { packagesBelow, partOf } from "./publish/package-graph.ts";

const cli = join(root, "packages/cli");

const itself: Part = {
  ...partOf("packages/cli", "purlin"),
  entries: { ".": "main", "./compiled": "compiled/load-compiled" },
};

const commandModule = (name: string): WholeModule => ({ module: `${name}-command`, exports: "run", external: [] });

/** What every command begins with, and commands that people and pipelines run often or wait for. */
const wholeModules = (dist: string): readonly WholeModule[] => [
  { module: "render/render-command", exports: "run", external: ["@purlin/function-process", "@grpc/proto-loader"] },
  commandModule("apiserver/apiserver"),
  // esbuild finds its program beside itself; it bundles functions, which only some projects need.
  { ...commandModule("up/up"), external: ["esbuild"] },
  ...["get/get", "describe/describe", "explain/explain", "events/events", "version/version"].map(commandModule),
  // Runs are asked for with -o json only.
  { ...commandModule("trace/trace"), external: ["@purlin/run-store"] },
  { module: "main", exports: "main", external: [join(dist, "*-command.js")] },
];
const libraries: readonly Part[] = packagesBelow(itself.source);

/** Packages of others that travel inside, because a script of theirs fetches something when npm installs them. */
const unscripted: readonly string[] = ["esbuild"];

/** Builds the command into a folder inside the repository, ready to run from there: `node FOLDER/bin/purlin.js`. */
export function buildCli(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const part of libraries) {
    const target = join(folder, "node_modules", part.name);
    bundlePackage(part, target);
    writeManifest(target, libraryManifest(part));
  }
  buildPackage(itself, folder, folder);
  const dist = join(folder, "dist");
  const inside = wholeModules(dist).flatMap((module) => bundleModule(module, dist));
  writeFileSync(join(dist, "LICENCES.txt"), licencesOf(inside));
  const platforms = unscripted.map((name) => bundleUnscripted(name, join(folder, "node_modules", name)));
  writeManifest(folder, { ...cliManifest(), optionalDependencies: Object.assign({}, ...platforms) as object });
  copyAssets(folder);
  mkdirSync(join(folder, "man"));
  for (const [name, text] of pages()) writeFileSync(join(folder, "man", name), text);
}

/** Without types: only the command imports it. */
function libraryManifest(part: Part): object {
  const exports = Object.entries(part.entries).map(([path, entry]) => [path, `./dist/${bundleName(entry)}.js`]);
  return { ...bundledManifest(part), exports: Object.fromEntries(exports) };
}

function copyAssets(folder: string): void {
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  cpSync(join(cli, "template"), join(folder, "template"), { recursive: true });
  cpSync(join(cli, "src/help"), join(folder, "help"), {
    recursive: true,
    filter: (path) => !path.endsWith(".ts"),
  });
  const launcher = readFileSync(join(cli, "bin/purlin.js"), "utf8");
  const built = launcher.replaceAll(/\.\.\/src\/([\w/-]+)\.ts/g, "../dist/$1.js");
  for (const module of ["main", "compiled/load-compiled"]) {
    if (!built.includes(`"../dist/${module}.js"`)) {
      throw new Error(`packages/cli/bin/purlin.js no longer imports ../src/${module}.ts`);
    }
  }
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin/purlin.js"), built, { mode: 0o755 });
}

function pages(): ReadonlyMap<string, string> {
  return manPages(String((commonManifest(itself) as { readonly version?: string }).version ?? ""));
}

function cliManifest(): object {
  const needed = [...libraries.map(({ source }) => source), itself.source].map((source) => readManifest(source));
  return {
    ...commonManifest(itself),
    description: "A composition control plane in TypeScript: the purlin command",
    keywords: ["crossplane", "kubernetes", "composition", "purlin"],
    bin: { purlin: "bin/purlin.js" },
    exports: {},
    // The launcher finds a newer Node by itself when there is one, and says so when there is none.
    engines: { node: ">=26" },
    // npm installs these with a global installation: man purlin-get.
    man: [...pages().keys()].map((name) => `man/${name}`),
    files: ["bin", "dist", "help", "man", "sdk", "template"],
    dependencies: Object.assign({}, ...needed.map(({ dependencies }) => dependencies ?? {})) as object,
    bundleDependencies: [...libraries.map(({ name }) => name), ...unscripted],
  };
}

type SdkName = "function" | "provider";
const sdks: Readonly<Record<SdkName, (directory: string) => string>> = { function: packSdk, provider: packProviderSdk };
const isSdkName = (name: string): name is SdkName => Object.hasOwn(sdks, name);

/** Builds and packs the command. Gives the path of the .tgz, and those of the SDKs inside it that are wanted as well. */
export function packCli(directory: string, { withSdk = [] }: { readonly withSdk?: readonly SdkName[] } = {}): string[] {
  mkdirSync(join(cli, "dist"), { recursive: true });
  const stage = mkdtempSync(join(cli, "dist/stage-"));
  try {
    buildCli(stage);
    const inside = { function: sdks.function(join(stage, "sdk")), provider: sdks.provider(join(stage, "sdk")) };
    const packed = pack(stage, resolve(directory));
    const copies = withSdk.map((name) => {
      const copy = join(resolve(directory), basename(inside[name]));
      cpSync(inside[name], copy);
      return copy;
    });
    return [packed, ...copies];
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = { "with-sdk": { type: "string", multiple: true } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const withSdk = (values["with-sdk"] ?? []).filter(isSdkName);
  console.log(packCli(positionals[0] ?? join(cli, "dist"), { withSdk }).join("\n"));
}
