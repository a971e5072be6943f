// SPDX-License-Identifier: Apache-2.0
// What is published contains what it declares and nothing else. All packages, as npm would upload them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { packCli } from "../../tools/pack-cli.ts";

interface Manifest {
  readonly files: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly bundleDependencies: readonly string[];
  readonly scripts?: object;
}

/** Packages of others that travel inside the command, without their install scripts. */
const unscripted: readonly string[] = ["esbuild"];

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "published-"));
const folders = ["cli", "sdk", "provider-sdk"] as const;
const packageOf = (name: string): string => join(folder, name, "package");
const filesOf = (name: string): string[] =>
  readdirSync(packageOf(name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
const manifestIn = (path: string): Manifest => JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest;

before(() => {
  const tarballs = packCli(folder, { withSdk: ["function", "provider"] });
  for (const [index, name] of folders.entries()) {
    mkdirSync(join(folder, name));
    const { status, stderr } = spawnSync("tar", ["-xzf", tarballs[index] ?? "", "-C", join(folder, name)]);
    assert.equal(status, 0, String(stderr));
  }
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** The package that a module specifier names: `@a/b` of `@a/b/c`. */
const packageName = (specifier: string): string => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");

/** The packages that a module imports by name. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const found = text.matchAll(/(?:\bfrom\s*|\bimport\s*|\bimport\()"((?:@[a-z0-9-]+\/)?[a-z][\w.-]*(?:\/[\w./-]+)?)"/g);
  return [...found]
    .map(([, specifier = ""]) => specifier)
    .filter((specifier) => !isBuiltin(specifier))
    .map(packageName);
}

for (const name of folders) {
  describe(name, () => {
    test("has only the files that it declares", () => {
      const { files, bundleDependencies } = manifestIn(packageOf(name));
      const allowed = [...files, "package.json", "LICENSE", "README.md", "node_modules"];
      assert.deepEqual(
        readdirSync(packageOf(name)).filter((entry) => !allowed.includes(entry)),
        [],
      );
      const own = readdirSync(join(packageOf(name), "node_modules/@purlin")).map((entry) => `@purlin/${entry}`);
      const others = readdirSync(join(packageOf(name), "node_modules")).filter((entry) => entry !== "@purlin");
      assert.deepEqual(others, name === "cli" ? unscripted : []);
      assert.deepEqual([...own, ...others].sort(), [...bundleDependencies].sort());
    });

    test("has no tests, no sources and no scripts", () => {
      const odd = filesOf(name).filter((file) => {
        const isTemplate = file.includes("/package/template/");
        return !isTemplate && (/\.test\.|\/testdata\/|\.tsbuildinfo$/.test(file) || /(?<!\.d)\.ts$/.test(file));
      });
      assert.deepEqual(odd, []);
      const { bundleDependencies } = manifestIn(packageOf(name));
      for (const inside of ["", ...bundleDependencies.map((bundled) => join("node_modules", bundled))]) {
        const { scripts } = manifestIn(join(packageOf(name), inside));
        assert.equal(scripts, undefined, `nothing runs when it is installed: ${inside}`);
      }
    });

    test("names no folder of the machine that built it", () => {
      const places = [`${root}/`, `${folder}/`, `${homedir()}/`];
      const found = filesOf(name).flatMap((file) => {
        const bytes = readFileSync(file);
        return places.filter((place) => bytes.includes(place)).map((place) => `${file}: ${place}`);
      });
      assert.deepEqual(found, []);
    });

    test("declares every package that it imports", () => {
      const { dependencies = {}, optionalDependencies = {} } = manifestIn(packageOf(name));
      const modules = filesOf(name).filter((file) => /\/dist\/.*\.js$/.test(file));
      const imported = new Set(modules.flatMap(importsOf));
      assert.ok(imported.size > 0);
      const declared = { ...dependencies, ...optionalDependencies };
      assert.deepEqual(
        [...imported].filter((one) => !(one in declared)),
        [],
      );
    });

    test("pins what it needs", () => {
      const { dependencies = {}, optionalDependencies = {} } = manifestIn(packageOf(name));
      const ranges = Object.entries({ ...dependencies, ...optionalDependencies }).filter(
        ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
      );
      assert.deepEqual(ranges, []);
    });
  });
}
