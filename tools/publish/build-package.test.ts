// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { bundledManifest, commonManifest, readManifest } from "./build-package.ts";

const sdk = { name: "@purlin/function-sdk", source: "packages/function-sdk", entries: { ".": "index" } };

test("a published package names the repository of the root and its own folder there", () => {
  const repository = { type: "git", url: "git+https://git.example.org/purlin.git" };
  const manifest = commonManifest(sdk, repository);
  assert.deepEqual(manifest["repository"], { ...repository, directory: "packages/function-sdk" });
});

test("a published package names no repository while the root names none", () => {
  const { repository } = readManifest(".");
  const published = commonManifest(sdk)["repository"];
  assert.deepEqual(published, repository && { ...repository, directory: "packages/function-sdk" });
});

test("a published package has a license, a version and the types of each entry", () => {
  const { license, version, exports } = commonManifest(sdk);
  assert.equal(license, "Apache-2.0");
  assert.equal(version, readManifest("packages/function-sdk").version);
  assert.deepEqual(exports, { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } });
});

test("a package inside a published one declares no dependencies, which a global installation would leave empty", () => {
  assert.ok(commonManifest(sdk)["dependencies"]);
  assert.equal("dependencies" in bundledManifest(sdk), false);
});
