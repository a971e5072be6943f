// SPDX-License-Identifier: Apache-2.0
// What needs a registry (installing, type-checking, running) is tested in test/interop/function-init.test.ts.
import assert from "node:assert/strict";
import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { nodeWarning } from "../scaffold/make-project.ts";
import { tempFolder } from "../testing/temp-folder.ts";
import { runInProcess } from "../testing/test-io.ts";

test("a project is made whole, with the packed SDK and command beside it", async () => {
  using folder = tempFolder();
  const env = { PATH: process.env["PATH"] };
  const { exitCode, stdout, stderr } = await runInProcess(["function", "init", "my-function"], {
    cwd: folder.path,
    env,
  });
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^Created my-function\. Next:\n\n {2}cd my-function\n {2}npm install\n {2}npm test\n/);
  assert.deepEqual(readdirSync(folder.path), ["my-function"]);
  assert.deepEqual(readdirSync(join(folder.path, "my-function")).sort(), [
    ".gitignore",
    "README.md",
    "package",
    "package.json",
    "request.yaml",
    "src",
    "tsconfig.json",
    "vendor",
  ]);
  assert.match(
    readdirSync(join(folder.path, "my-function/vendor")).sort().join(),
    /^purlin-\d[\d.]+\.tgz,purlin-function-sdk-[\d.]+\.tgz$/,
  );
});

test("a bad name or a folder with something in it: one line, and nothing is written", async () => {
  using folder = tempFolder({ "taken/mine.txt": "" });
  const bad = await runInProcess(["function", "init", "My_Function"], { cwd: folder.path });
  assert.equal(bad.exitCode, 2);
  assert.equal(
    bad.stderr,
    'error: invalid function name "My_Function": use at most 63 lower-case letters, digits and dashes, starting with a letter, such as my-function\n',
  );
  const taken = await runInProcess(["function", "init", "taken"], { cwd: folder.path });
  assert.equal(taken.exitCode, 1);
  assert.equal(
    taken.stderr,
    "error: cannot create taken: the folder exists and is not empty: choose another name, or empty it\n",
  );
  assert.deepEqual(readdirSync(folder.path, { recursive: true }).sort(), ["taken", "taken/mine.txt"]);
});

test("interrupted half-way, nothing is left", async () => {
  using folder = tempFolder();
  const stop = new AbortController();
  const running = runInProcess(["function", "init", "my-function"], { cwd: folder.path, signal: stop.signal });
  stop.abort(new Error("stopped by SIGINT"));
  const { exitCode, stderr } = await running;
  assert.equal(exitCode, 130);
  assert.match(stderr, /stopped by SIGINT\n$/);
  assert.deepEqual(readdirSync(folder.path), []);
});

const nodes: readonly { readonly version: string; readonly warning: RegExp | undefined }[] = [
  {
    version: "v20.20.2",
    warning:
      /^Node v20\.20\.2 on PATH is too old to run the project, which needs Node 22\.18 or newer: .* node@26" in the project$/,
  },
  { version: "v22.17.1", warning: /^Node v22\.17\.1 on PATH is too old/ },
  { version: "v22.18.0", warning: undefined },
  { version: "v24.0.0", warning: undefined },
];
for (const { version, warning } of nodes) {
  test(`the Node on PATH is checked, not the one of npx: ${version}`, async () => {
    const npx = "repository/node_modules/.bin";
    using folder = tempFolder({
      "bin/node": `#!/bin/sh\necho ${version}\n`,
      [`${npx}/node`]: "#!/bin/sh\necho v26.0.0\n",
    });
    for (const path of ["bin/node", `${npx}/node`]) chmodSync(join(folder.path, path), 0o755);
    const text = await nodeWarning({ PATH: `${folder.path}/${npx}:${folder.path}/none:${folder.path}/bin` });
    if (warning === undefined) assert.equal(text, undefined);
    else assert.match(text ?? "", warning);
  });
}

test("a PATH without Node is reported", async () => {
  assert.match((await nodeWarning({ PATH: "/none" })) ?? "", /^no Node found on PATH: the project needs Node 22\.18/);
});
