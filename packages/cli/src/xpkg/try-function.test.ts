// SPDX-License-Identifier: Apache-2.0
// What is built is started once, and what does not start is not built.
import assert from "node:assert/strict";
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { platformOfNode } from "@purlin/oci";
import { functionPackage, packageMeta } from "../../test/function-folder.ts";
import { type Outcome, runInProcess } from "../../test/test-io.ts";

const build = (folder: TempFolder, ...args: string[]): Promise<Outcome> =>
  runInProcess(["xpkg", "build", "-o", "f.xpkg", ...args], { cwd: folder.path });
const isBuilt = (folder: TempFolder): boolean => existsSync(join(folder.path, "f.xpkg"));

const sdk = 'import { response } from "@purlin/function-sdk";\n';

test("a function that answers is built, and the report says that it was started", async () => {
  using project = functionPackage();
  const { exitCode, stdout, stderr } = await build(project);
  assert.deepEqual([exitCode, stderr], [0, ""]);
  assert.match(stdout, /\n {2}started +yes, it responds/);
  assert.ok(isBuilt(project));
});

const broken: Record<string, { readonly source: string; readonly says: RegExp }> = {
  "throws while it is loaded": {
    source: `${sdk}\n\nconst settings = JSON.parse("{");\nexport default (req: never) => response.to(req, settings);\n`,
    says: /SyntaxError: .*[\s\S]*\/function\.ts:4:23/,
  },
  "exports no function": { source: `${sdk}export const other = response;\n`, says: /function\.ts exports no function/ },
  "ends at once": {
    source: `${sdk}process.exit(3);\nexport default (req: never) => response.to(req);\n`,
    says: /function-hello does not start: .*3/,
  },
};
for (const [what, { source, says }] of Object.entries(broken)) {
  test(`refused: a function that ${what}`, async () => {
    using project = functionPackage({ "src/function.ts": source });
    const { exitCode, stderr } = await build(project);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^error: function-hello does not start: /);
    assert.match(stderr, /skip this check: purlin xpkg build --skip-start/);
    assert.match(stderr, says);
    assert.equal(isBuilt(project), false);
    const skipped = await build(project, "--skip-start");
    assert.match(skipped.stdout, /\n {2}started +no: --skip-start\n/);
    assert.ok(isBuilt(project));
  });
}

function program(text: string): TempFolder {
  const folder = tempFolder({ "crossplane.yaml": packageMeta(), "root/bin/function": text });
  chmodSync(join(folder.path, "root/bin/function"), 0o755);
  return folder;
}

test("a program of another kind is started as well, unless it is for another machine", async () => {
  using folder = program("#!/no/such/interpreter\n");
  const args = ["--root", "root", "--entrypoint", "/bin/function"];
  const { exitCode, stderr } = await build(folder, ...args);
  assert.equal(exitCode, 1);
  assert.match(stderr, /^error: function-hello does not start: /);
  const { architecture } = platformOfNode(process);
  const other = architecture === "arm64" ? "amd64" : "arm64";
  const { stdout } = await build(folder, ...args, "--platform", `linux/${other}`);
  assert.match(stdout, /\n {2}started +no: this machine is \w+\/\w+\n/);
});

test("packages without a program have nothing to start", async () => {
  using folder = tempFolder({ "crossplane.yaml": packageMeta("platform", "Configuration") });
  const { exitCode, stdout } = await build(folder);
  assert.equal(exitCode, 0);
  assert.doesNotMatch(stdout, /started/);
});
