// SPDX-License-Identifier: Apache-2.0
// Packs @purlin/function-sdk as it is published: `node tools/pack-sdk.ts [DIRECTORY]` writes a .tgz there (default:
// packages/function-sdk/dist) and prints its path. The packages below the SDK travel inside it, since they are not
// published on their own.
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

const sdk = join(root, "packages/function-sdk");

// What Node 22 has: a newer built-in would compile here and fail there.
const lib = ["es2024", "es2025.iterator", "es2025.collection", "esnext.disposable"];

const below: readonly Part[] = [
  { name: "@purlin/base", source: "packages/base", entries: { ".": "index" }, lib },
  { name: "@purlin/certificates", source: "packages/certificates", entries: { "./peer": "peer/index" }, lib },
  { name: "@purlin/function-protocol", source: "packages/function-protocol", entries: { ".": "index" }, lib },
  {
    name: "@purlin/kube-objects",
    source: "packages/kube-objects",
    entries: {
      "./json": "json/index",
      "./object": "object/index",
      "./openapi": "openapi/index",
      "./schema": "schema/index",
    },
    lib,
  },
];

const itself: Part = {
  name: "@purlin/function-sdk",
  source: "packages/function-sdk",
  entries: { ".": "index", "./testing": "testing/index" },
  lib,
};

/** Builds and packs the SDK. Gives the path of the .tgz. */
export function packSdk(directory: string): string {
  mkdirSync(join(sdk, "dist"), { recursive: true });
  const stage = mkdtempSync(join(sdk, "dist/stage-"));
  try {
    for (const part of below) {
      const target = join(stage, "node_modules", part.name);
      buildPackage(part, stage, target);
      writeManifest(target, bundledManifest(part));
    }
    buildPackage(itself, stage, stage);
    writeManifest(stage, sdkManifest());
    for (const file of ["LICENSE", "packages/function-sdk/README.md"]) {
      cpSync(join(root, file), join(stage, file.split("/").at(-1) ?? file));
    }
    return pack(stage, resolve(directory));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function sdkManifest(): object {
  const inherited = below.map(({ source }) => readManifest(source).dependencies ?? {});
  const all = Object.assign({}, ...inherited, readManifest(itself.source).dependencies) as Record<string, string>;
  // The YAML reader belongs to an entry of kube-objects that does not travel along.
  const { "js-yaml": _, ...dependencies } = all;
  return {
    ...commonManifest(itself),
    description: "Write composition functions for Purlin and Crossplane in TypeScript",
    keywords: ["crossplane", "kubernetes", "composition", "function", "purlin"],
    engines: { node: ">=22" },
    files: ["dist"],
    dependencies,
    bundleDependencies: below.map(({ name }) => name),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(packSdk(process.argv[2] ?? join(sdk, "dist")));
}
