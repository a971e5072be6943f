// SPDX-License-Identifier: Apache-2.0
import { cpSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root, writeManifest } from "./build-package.ts";

type Versions = Readonly<Record<string, string>>;

interface ForeignManifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly main: string;
  readonly dependencies?: Versions;
  readonly optionalDependencies?: Versions;
}

/**
 * Copies a package of others into `target` without the script that npm would run when it installs it, such as esbuild's, which downloads a
 * binary where the package of the platform is missing. Gives the packages of the platforms: the package around it has to name them.
 */
export function bundleUnscripted(name: string, target: string): Versions {
  const source = join(root, "node_modules", name);
  const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as ForeignManifest;
  const { version, license, main, dependencies, optionalDependencies = {} } = manifest;
  if (dependencies !== undefined) throw new Error(`${name} has dependencies, and a bundled package declares none`);
  for (const file of globSync(["LICENSE*", `${dirname(main)}/**/*.js`], { cwd: source })) {
    cpSync(join(source, file), join(target, file));
  }
  writeManifest(target, { name, version, license, main });
  return optionalDependencies;
}
