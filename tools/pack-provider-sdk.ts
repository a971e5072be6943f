// SPDX-License-Identifier: Apache-2.0
// Packs @purlin/provider-sdk as it is published: `node tools/pack-provider-sdk.ts [DIRECTORY]` writes a .tgz there (default:
// packages/provider-sdk/dist) and prints its path. The packages below the kit travel inside it.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
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
import { packagesBelow, partOf } from "./publish/package-graph.ts";

const kit = join(root, "packages/provider-sdk");
const itself: Part = partOf("packages/provider-sdk", "@purlin/provider-sdk");

const below: readonly Part[] = packagesBelow(itself.source);

/** Builds and packs the kit. Gives the path of the .tgz. */
export function packProviderSdk(directory: string): string {
  mkdirSync(join(kit, "dist"), { recursive: true });
  const stage = mkdtempSync(join(kit, "dist/stage-"));
  try {
    for (const part of below) {
      const target = join(stage, "node_modules", part.name);
      buildPackage(part, stage, target);
      writeManifest(target, bundledManifest(part));
    }
    buildPackage(itself, stage, stage);
    writeManifest(stage, manifest());
    for (const file of ["LICENSE", "packages/provider-sdk/README.md"]) {
      cpSync(join(root, file), join(stage, file.split("/").at(-1) ?? file));
    }
    return pack(stage, resolve(directory));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function manifest(): object {
  const needed = [...below.map(({ source }) => source), itself.source].map(
    (source) => readManifest(source).dependencies ?? {},
  );
  return {
    ...commonManifest(itself),
    description: "Write Providers for Purlin and Crossplane in TypeScript",
    keywords: ["crossplane", "kubernetes", "provider", "purlin"],
    engines: { node: ">=22" },
    files: ["dist"],
    dependencies: Object.assign({}, ...needed) as object,
    bundleDependencies: below.map(({ name }) => name),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(packProviderSdk(process.argv[2] ?? join(kit, "dist")));
}
