// SPDX-License-Identifier: Apache-2.0
// What `purlin provider init` makes, as its user gets it: installed from the registry, tested, type-checked and packaged, outside the repository.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";

const root = join(import.meta.dirname, "../..");
const launcher = join(root, "packages/cli/bin/purlin.js");
const folder = mkdtempSync(join(tmpdir(), "provider-init-"));
const project = join(folder, "my-provider");

// A test runner inside a test runner would report to the outer one instead of to us.
const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
const env = { ...environment, PATH: `${dirname(process.execPath)}:${environment["PATH"]}` };

function run(command: string, cwd: string = project): string {
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", command], { cwd, env, encoding: "utf8" });
  assert.equal(status, 0, `${command}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

before(() => {
  const output = run(`"${process.execPath}" "${launcher}" provider init my-provider`, folder);
  assert.match(output, /^Created my-provider\. Next:\n\n {2}cd my-provider\n {2}npm install\n {2}npm test\n/m);
  run("npm install --no-audit --no-fund");
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("the project is tied to nothing but its own folder", () => {
  const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as Record<string, unknown>;
  assert.deepEqual(manifest["dependencies"], { "@purlin/provider-sdk": "file:vendor/purlin-provider-sdk-0.1.0.tgz" });
  assert.ok(!readFileSync(join(project, "package-lock.json"), "utf8").includes(root), "no path of the repository");
});

test("its tests pass, and it type-checks", () => {
  assert.match(run("npm test"), /pass 2\b/);
  run("npm run check");
});

test("the type-check can fail", () => {
  const file = join(project, "src/wrong.ts");
  writeFileSync(
    file,
    'import { defineManagedResource } from "@purlin/provider-sdk";\ndefineManagedResource({ plural: 1 });\n',
  );
  const { status, stdout } = spawnSync("npx", ["tsc"], { cwd: project, env, encoding: "utf8" });
  rmSync(file);
  assert.notEqual(status, 0);
  assert.match(stdout, /src\/wrong\.ts.*TS2/);
});

test("it is packaged, with the CRD of its kind", () => {
  run("npm run build");
  assert.ok(existsSync(join(project, "my-provider.xpkg")));
  const inspected = run("npx --no-install purlin xpkg inspect my-provider.xpkg");
  assert.match(inspected, /files\.files\.example\.org/);
});
