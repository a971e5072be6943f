// SPDX-License-Identifier: Apache-2.0
// What needs a registry (installing, type-checking, running) is tested in test/interop/function-init.test.ts.
import assert from "node:assert/strict";
import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { pathWithNode } from "../../test/spawn-purlin.ts";
import { runInProcess } from "../../test/test-io.ts";
import { nodeWarning } from "../scaffold/make-project.ts";

test("a project is made whole, with the packed SDK and command beside it", async () => {
  using tools = tempFolder();
  using folder = tempFolder();
  const { exitCode, stdout, stderr } = await runInProcess(["function", "init", "my-function"], {
    cwd: folder.path,
    env: { PATH: pathWithNode(tools, "v22.18.0") },
  });
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^Created my-function\. Next:\n\n {2}cd my-function\n {2}npm install\n {2}npm test\n/);
  assert.deepEqual(readdirSync(folder.path), ["my-function"]);
  assert.deepEqual(readdirSync(join(folder.path, "my-function")).sort(), [
    ".gitignore",
    ".npmrc",
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

const [own, withCommand] = [
  ["npm install", "npm test"],
  ["npm install", "npx purlin up"],
] as const;
const nodes: readonly {
  readonly version: string;
  readonly next: readonly string[];
  readonly warning: RegExp | undefined;
}[] = [
  {
    version: "v20.20.2",
    next: own,
    warning:
      /^Node v20\.20\.2 on PATH is too old to run the project, which needs Node 22\.18 or newer: install one from https:\/\/nodejs\.org$/,
  },
  { version: "v20.20.2", next: withCommand, warning: /too old to run the project, which needs Node 22\.18 or newer: / },
  { version: "v22.17.1", next: own, warning: /^Node v22\.17\.1 on PATH is too old/ },
  { version: "v22.18.0", next: own, warning: undefined },
  { version: "v24.0.0", next: own, warning: undefined },
  {
    version: "v24.0.0",
    next: withCommand,
    warning: /^Node v24\.0\.0 on PATH is too old to run the purlin command, which needs Node 26 or newer: /,
  },
  { version: "v26.0.0", next: withCommand, warning: undefined },
];
for (const { version, next, warning } of nodes) {
  test(`without a Node for its platform, the one on PATH is checked, not the one of npx: ${version} for ${next.at(-1)}`, async () => {
    using folder = tempFolder();
    using repository = tempFolder({ "node_modules/.bin/node": "#!/bin/sh\necho v26.0.0\n" });
    const npx = join(repository.path, "node_modules/.bin");
    chmodSync(join(npx, "node"), 0o755);
    const text = await nodeWarning(next, { PATH: `${npx}:${folder.path}/none:${pathWithNode(folder, version)}` });
    if (warning === undefined) assert.equal(text, undefined);
    else assert.match(text ?? "", warning);
  });
}

test("a PATH without Node is reported", async () => {
  assert.match(
    (await nodeWarning(own, { PATH: "/none" })) ?? "",
    /^no Node found on PATH: the project needs Node 22\.18/,
  );
});
