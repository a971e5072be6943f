// SPDX-License-Identifier: Apache-2.0
import { type Part, readManifest } from "./build-package.ts";

const scope = "@purlin/";

/** The workspace packages that a package needs, directly or not, each after what it needs itself. */
export function packagesBelow(source: string): Part[] {
  const found = new Map<string, Part>();
  const visit = (name: string): void => {
    if (found.has(name)) return;
    const part = partOf(`packages/${name.slice(scope.length)}`, name);
    for (const below of ownDependencies(part.source)) visit(below);
    found.set(name, part);
  };
  for (const name of ownDependencies(source)) visit(name);
  return [...found.values()];
}

function ownDependencies(source: string): string[] {
  return Object.keys(readManifest(source).dependencies ?? {}).filter((name) => name.startsWith(scope));
}

/** A package with the entries its package.json names, without helpers of our own tests. */
export function partOf(source: string, name: string): Part {
  const exported = Object.entries(readManifest(source).exports ?? {})
    .filter(([, file]) => file.startsWith("./src/"))
    .map(([path, file]) => [path, entryOf(file)]);
  return { name, source, entries: Object.fromEntries(exported) };
}

const entryOf = (file: string): string => file.replace(/^\.\/src\/(.*)\.ts$/, "$1");
