// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TempFolder } from "./temp-folder.ts";

const compiler = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));

const options = {
  target: "es2024",
  module: "nodenext",
  types: [],
  noEmit: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
  // Declarations are what is tested.
  skipLibCheck: false,
};

/** Type-checks everything in a folder with the strictest options. Returns what the compiler says, nothing where all is well. */
export function compileTypes(folder: TempFolder): string {
  folder.write("tsconfig.json", JSON.stringify({ compilerOptions: options, include: ["**/*.ts"] }));
  folder.write("package.json", JSON.stringify({ type: "module" }));
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, "-p", join(folder.path, "tsconfig.json")], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout + stderr;
}
