// SPDX-License-Identifier: Apache-2.0
// What a bundle does when it is started without anything but Node.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { functionProject } from "../../test/function-project.ts";
import { bundleCommand, bundleFunction } from "./bundle-function.ts";
import { isPackageError } from "./package-meta.ts";

const handler = `(req) => response.to(req)`;
const sdk = `import { response } from "@purlin/function-sdk";\n`;

/** Starts a bundle in an empty folder with a flag that shows its help, and returns what it printed. */
async function start(code: Uint8Array): Promise<{ output: string; exitCode: number }> {
  using folder = tempFolder();
  const file = join(folder.path, "main.mjs");
  await writeFile(file, code);
  // Awaited here: the folder goes when this returns.
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      [...bundleCommand.slice(1, -1), file, "--no-such-flag"],
      { cwd: folder.path, env: {} },
      (error, stdout, stderr) => {
        resolve({ output: stdout + stderr, exitCode: typeof error?.code === "number" ? error.code : 0 });
      },
    );
  });
}

const rows: { why: string; files: Record<string, string>; entry?: string }[] = [
  { why: "the default export", files: { "fn.ts": `${sdk}export default ${handler};\n` } },
  { why: "an export called fn", files: { "fn.ts": `${sdk}export const fn = ${handler};\n` } },
  { why: "an export called handler", files: { "fn.ts": `${sdk}export const handler = ${handler};\n` } },
  { why: "plain JavaScript", files: { "fn.js": `${sdk}export default ${handler};\n` }, entry: "fn.js" },
  {
    why: "types that are erased, and enums that are not",
    files: { "fn.ts": `${sdk}enum E { A }\nexport default (req: never): unknown => (E.A, response.to(req));\n` },
  },
  {
    why: "other files, JSON among them",
    files: {
      "fn.ts": `${sdk}import data from "./data.json";\nimport { f } from "./lib/f.ts";\nexport default (req) => f(data, response.to(req));\n`,
      "data.json": "{}",
      "lib/f.ts": "export const f = (_: object, rsp: unknown): unknown => rsp;\n",
    },
  },
  {
    why: "modules of the older kind",
    files: {
      "fn.ts": `${sdk}import old from "./old.cjs";\nexport default (req) => old(response.to(req));\n`,
      "old.cjs": 'const { join } = require("node:path");\nmodule.exports = (rsp) => (join("a"), rsp);\n',
    },
  },
];
for (const { why, files, entry = "fn.ts" } of rows) {
  test(`a bundle of ${why} starts by itself`, async () => {
    using project = functionProject(files);
    const { output } = await start((await bundleFunction(join(project.path, entry))).code);
    assert.match(output, /no-such-flag/, "the server of the SDK reads the command line");
    assert.doesNotMatch(output, /Cannot find|SyntaxError|ReferenceError/);
  });
}

test("a file that exports no function says so when it is started", async () => {
  using project = functionProject({ "fn.ts": "export const other = 1;\n" });
  const { output, exitCode } = await start((await bundleFunction(join(project.path, "fn.ts"))).code);
  assert.match(output, /fn\.ts exports no function: export it as default/);
  assert.notEqual(exitCode, 0);
});

test("errors name the lines of the sources, and the map holds nothing else", async () => {
  using project = functionProject({
    "src/function.ts": `${sdk}import { fail } from "../lib/fail.ts";\n\nfail();\nexport default ${handler};\n`,
    "lib/fail.ts": "type Reason = string;\nexport function fail(): Reason {\n  throw new Error('boom');\n}\n",
  });
  const { code } = await bundleFunction(join(project.path, "src/function.ts"));
  const { output } = await start(code);
  assert.match(output, /Error: boom\n {4}at fail\d? \(.*\/lib\/fail\.ts:3:9\)\n {4}at .*\/function\.ts:4:1\)?\n/);
  const [, encoded = ""] =
    /sourceMappingURL=data:application\/json;base64,(\S+)\n$/.exec(Buffer.from(code).toString()) ?? [];
  const { sources } = JSON.parse(Buffer.from(encoded, "base64").toString()) as { sources: string[] };
  assert.deepEqual(sources.toSorted(), ["../lib/fail.ts", "function.ts", "purlin-function.js"]);
});

test("minor problems are warnings with their place", async () => {
  using project = functionProject({
    "fn.ts": `${sdk}export default (req) => { if (typeof req === "nothing") return; return response.to(req); };\n`,
  });
  const { warnings } = await bundleFunction(join(project.path, "fn.ts"));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^fn\.ts:2:\d+: /);
});

test("without the SDK the error says how to install it", async () => {
  using folder = tempFolder({ "fn.ts": "export default 1;\n" });
  await assert.rejects(
    bundleFunction(join(folder.path, "fn.ts")),
    /: run npm install; a project of purlin function init has the SDK in its folder vendor\/$/,
  );
});

test("folders called as the settings of a project are passed over, also where the nearest project is looked for", async () => {
  using project = functionProject({
    "src/function.ts": `${sdk}import { fail } from "../lib/fail.ts";\n\nfail();\nexport default ${handler};\n`,
    "lib/fail.ts": "export function fail(): void {\n  throw new Error('boom');\n}\n",
  });
  for (const name of ["package.json", "tsconfig.json", "jsconfig.json"]) mkdirSync(join(project.path, "src", name));
  const { output } = await start((await bundleFunction(join(project.path, "src/function.ts"))).code);
  assert.match(output, /Error: boom\n {4}at fail\d? \(.*\/lib\/fail\.ts:2:9\)/);
});

describe("files that are not regular", () => {
  const pipe = (path: string): void => void execFileSync("mkfifo", [path]);
  const cases: readonly { why: string; at: string; make: (path: string) => void; says: RegExp }[] = [
    { why: "the file of the function", at: "fn.ts", make: pipe, says: /fn\.ts: it is a named pipe \(FIFO\)/ },
    {
      why: "an imported FIFO",
      at: "lib.ts",
      make: pipe,
      says: /fn\.ts:1:\d+: cannot read lib\.ts: it is a named pipe/,
    },
    {
      why: "an imported device",
      at: "lib.ts",
      make: (path) => symlinkSync("/dev/zero", path),
      says: /zero: it is a device/,
    },
    {
      why: "an imported file of 8 GiB",
      at: "lib.ts",
      make: (path) => {
        writeFileSync(path, "");
        truncateSync(path, 8 * 1024 ** 3);
      },
      says: /lib\.ts: it has 8 GiB; the limit is 64 MiB/,
    },
    { why: "the manifest of the project", at: "package.json", make: pipe, says: /package\.json: it is a named pipe/ },
    { why: "the settings of TypeScript", at: "tsconfig.json", make: pipe, says: /tsconfig\.json: it is a named pipe/ },
  ];
  for (const { why, at, make, says } of cases) {
    test(`are refused before they are opened: ${why}`, async () => {
      using folder = tempFolder({ "fn.ts": 'import { a } from "./lib.ts";\nexport default a;\n', "lib.ts": "" });
      rmSync(join(folder.path, at), { force: true });
      make(join(folder.path, at));
      await assert.rejects(bundleFunction(join(folder.path, "fn.ts")), (error) => {
        assert.ok(isPackageError(error));
        assert.match(error.message, says);
        return true;
      });
    });
  }
});
