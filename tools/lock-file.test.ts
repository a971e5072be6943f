// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

// npm leaves out what the registry at hand does not have, and `npm ci` then refuses the lock everywhere.
test("the lock file has the packages of every platform", () => {
  const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages),
    ),
  );
  assert.deepEqual(missing, [], "restore the entries from the last commit");
});

test("the lock file names no registry", () => {
  const named = Object.values(lock.packages).flatMap(({ resolved = "" }) =>
    /^https?:/.test(resolved) ? resolved : [],
  );
  assert.deepEqual(named, []);
});
