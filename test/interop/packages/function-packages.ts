// SPDX-License-Identifier: Apache-2.0
// Packages of functions that do not depend on Purlin, built by the command as its users would.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { debianRoot, debianRootsIn } from "../../../tools/peers/debian-root.ts";
import { goFunction, goFunctionIn } from "../../../tools/peers/go-function.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { purlin } from "./embedded-plane.ts";

const programs = join(import.meta.dirname, "programs");

/** Folders and files of the suite; disposing of it removes them. */
export interface Workshop extends Disposable {
  readonly directory: string;
}

/** A folder to build in. */
export function openWorkshop(): Workshop {
  const directory = mkdtempSync(join(tmpdir(), "purlin-workshop-"));
  return { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

/** The options of `purlin xpkg build` beside the metadata. */
export interface PackageWish {
  readonly name: string;
  /** Another build of the same function. */
  readonly version?: string;
  readonly options: readonly string[];
}

/** The options for a program in a folder. */
function rootOptions(root: string, entrypoint: readonly string[], base?: string): readonly string[] {
  const below = base === undefined ? [] : ["--base", base];
  return ["--root", root, ...below, "--entrypoint", JSON.stringify(entrypoint)];
}

/** Builds a package and returns its file. */
export async function buildPackage({ directory }: Workshop, wish: PackageWish): Promise<string> {
  const { name, version = "v1", options } = wish;
  const meta = join(directory, `${name}-meta`);
  mkdirSync(meta, { recursive: true });
  writeFileSync(
    join(meta, "crossplane.yaml"),
    `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: ${name}}\nspec: {capabilities: [composition]}\n`,
  );
  const file = join(directory, `${name}-${version}.xpkg`);
  // The suites start it in every way there is, and some of it is not meant to start.
  await purlin("xpkg", "build", "-f", meta, ...options, "--skip-start", "-o", file);
  return file;
}

/** The function on the public Python SDK, on Debian. */
export function pythonPackage(workshop: Workshop): Promise<string> {
  const { base, python } = debianRootsIn(installed(debianRoot, cacheDirectory));
  const root = join(workshop.directory, "python");
  cpSync(python, root, { recursive: true, preserveTimestamps: true });
  cpSync(join(programs, "python"), join(root, "function"), { recursive: true });
  return buildPackage(workshop, {
    name: "function-python",
    options: rootOptions(root, ["python3", "/function/main.py"], base),
  });
}

/** The function on the public TypeScript SDK, on Debian. */
export function typescriptPackage(workshop: Workshop): Promise<string> {
  const { base, typescript } = debianRootsIn(installed(debianRoot, cacheDirectory));
  const root = join(workshop.directory, "typescript");
  cpSync(typescript, root, { recursive: true, verbatimSymlinks: true });
  cpSync(join(programs, "typescript"), join(root, "function"), { recursive: true });
  return buildPackage(workshop, {
    name: "function-typescript",
    options: rootOptions(root, ["node", "/function/main.mjs"], base),
  });
}

/** The function in Go: one program and nothing else. */
export function goPackage(workshop: Workshop, version = "v1", words: readonly string[] = []): Promise<string> {
  const root = join(workshop.directory, "go");
  mkdirSync(root, { recursive: true });
  cpSync(goFunctionIn(installed(goFunction, cacheDirectory)), join(root, "function"));
  return buildPackage(workshop, { name: "function-go", version, options: rootOptions(root, ["/function", ...words]) });
}

/** A function of the suite on our own SDK, bundled, on Purlin's own Node. */
export function bundledPackage(workshop: Workshop, name: string, program: string): Promise<string> {
  return buildPackage(workshop, { name, options: ["--function", join(programs, program)] });
}
