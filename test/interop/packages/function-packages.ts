// SPDX-License-Identifier: Apache-2.0
// Packages of functions that know nothing of Purlin, made by the command as its users would.
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

/** What `purlin xpkg build` is told beside the metadata. */
export interface PackageWish {
  readonly name: string;
  /** Another build of the same function. */
  readonly version?: string;
  readonly root: string;
  readonly base?: string;
  readonly entrypoint: readonly string[];
}

/** Builds a package and returns its file. */
export async function buildPackage({ directory }: Workshop, wish: PackageWish): Promise<string> {
  const { name, version = "v1", root, base, entrypoint } = wish;
  const meta = join(directory, `${name}-meta`);
  mkdirSync(meta, { recursive: true });
  writeFileSync(
    join(meta, "crossplane.yaml"),
    `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: ${name}}\nspec: {capabilities: [composition]}\n`,
  );
  const file = join(directory, `${name}-${version}.xpkg`);
  const below = base === undefined ? [] : ["--base", base];
  const command = ["--entrypoint", JSON.stringify(entrypoint)];
  await purlin("xpkg", "build", "-f", meta, "--root", root, ...below, ...command, "-o", file);
  return file;
}

/** The function on the public Python SDK, on Debian. */
export function pythonPackage(workshop: Workshop): Promise<string> {
  const { base, python } = debianRootsIn(installed(debianRoot, cacheDirectory));
  const root = join(workshop.directory, "python");
  cpSync(python, root, { recursive: true, preserveTimestamps: true });
  cpSync(join(programs, "python"), join(root, "function"), { recursive: true });
  return buildPackage(workshop, { name: "function-python", root, base, entrypoint: ["python3", "/function/main.py"] });
}

/** The function on the public TypeScript SDK, on Debian. */
export function typescriptPackage(workshop: Workshop): Promise<string> {
  const { base, typescript } = debianRootsIn(installed(debianRoot, cacheDirectory));
  const root = join(workshop.directory, "typescript");
  cpSync(typescript, root, { recursive: true, verbatimSymlinks: true });
  cpSync(join(programs, "typescript"), join(root, "function"), { recursive: true });
  return buildPackage(workshop, {
    name: "function-typescript",
    root,
    base,
    entrypoint: ["node", "/function/main.mjs"],
  });
}

/** The function in Go: one program and nothing else. */
export function goPackage(workshop: Workshop): Promise<string> {
  const root = join(workshop.directory, "go");
  mkdirSync(root);
  cpSync(goFunctionIn(installed(goFunction, cacheDirectory)), join(root, "function"));
  return buildPackage(workshop, { name: "function-go", root, entrypoint: ["/function"] });
}

/** A package whose entry point is one file. */
export function scriptPackage(
  workshop: Workshop,
  wish: { name: string; version?: string; script: string },
): Promise<string> {
  const { name, version = "v1", script } = wish;
  const root = join(workshop.directory, `${name}-${version}-root`);
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "function"), script);
  chmodSync(join(root, "function"), 0o755);
  return buildPackage(workshop, { name, version, root, entrypoint: ["/function"] });
}
