// SPDX-License-Identifier: Apache-2.0
import { basename, join } from "node:path";
import { buildSync } from "esbuild";
import { type Part, root } from "./build-package.ts";

/**
 * Builds a package that only our own command imports: one file an entry in `target/dist`, and what entries share beside them. Loading
 * hundreds of small modules took two thirds of the time to the server's first answer.
 */
export function bundlePackage({ source, entries }: Part, target: string): void {
  buildSync({
    absWorkingDir: join(root, source),
    // Programs lie beside the index, where the files that name them look after bundling.
    entryPoints: Object.fromEntries(Object.values(entries).map((entry) => [bundleName(entry), `src/${entry}.ts`])),
    outdir: join(target, "dist"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node26",
    // Every package is bundled alone, so that none is in the command twice.
    packages: "external",
    legalComments: "none",
    logLevel: "error",
  });
}

/** "." and "./schema" keep their names; a program such as process/worker is found as ./worker. */
export function bundleName(entry: string): string {
  return entry.endsWith("index") ? entry : basename(entry);
}
