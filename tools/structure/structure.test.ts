// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { deadExports } from "./dead-exports.ts";
import { folderCycles } from "./folder-cycles.ts";
import { readSourceFiles, type SourceFile } from "./source-files.ts";
import { undocumentedExports } from "./undocumented-exports.ts";

const manifest = (name: string): string =>
  JSON.stringify({ name: `@purlin/${name}`, exports: { ".": "./src/index.ts", "./part": "./src/part/index.ts" } });

/** The source files of a repository with these files. */
function filesOf(t: TestContext, texts: Readonly<Record<string, string>>): readonly SourceFile[] {
  const root = mkdtempSync(join(tmpdir(), "structure-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return readSourceFiles(root);
}

const dead: Readonly<Record<string, { texts: Readonly<Record<string, string>>; want: readonly string[] }>> = {
  "an export that no file imports": {
    texts: {
      "packages/a/src/x.ts": "export const used = 1;\nexport type Unused = string;\n",
      "packages/a/src/y.ts": 'import { used } from "./x.ts";\n',
    },
    want: ["packages/a/src/x.ts: Unused"],
  },
  "an export that its own tests alone import is alive": {
    texts: {
      "packages/a/src/x.ts": "export function tested() {}\n",
      "packages/a/src/x.test.ts": 'import { tested } from "./x.ts";\n',
    },
    want: [],
  },
  "an entry point alone does not keep an export alive": {
    texts: {
      "packages/a/package.json": manifest("a"),
      "packages/a/src/index.ts": 'export { one, two } from "./x.ts";\n',
      "packages/a/src/x.ts": "export const one = 1;\nexport const two = 2;\n",
      "packages/b/src/y.ts": 'import { one } from "@purlin/a";\n',
    },
    want: ["packages/a/src/index.ts: two", "packages/a/src/x.ts: two"],
  },
  "an import of another entry point": {
    texts: {
      "packages/a/package.json": manifest("a"),
      "packages/a/src/part/index.ts": 'export { one as first } from "./x.ts";\n',
      "packages/a/src/part/x.ts": "export const one = 1;\n",
      "tools/y.ts": 'import { first } from "@purlin/a/part";\n',
    },
    want: [],
  },
  "a module that is imported as a whole": {
    texts: {
      "packages/a/src/x.ts": "export const one = 1;\n",
      "packages/a/src/y.ts": 'const x = await import("./x.ts");\n',
    },
    want: [],
  },
};

for (const [name, { texts, want }] of Object.entries(dead)) {
  test(`dead exports: ${name}`, (t) => assert.deepEqual(deadExports(filesOf(t, texts)), want));
}

const cycles: Readonly<Record<string, { texts: Readonly<Record<string, string>>; want: readonly string[] }>> = {
  "two folders that import each other, types included": {
    texts: {
      "packages/a/src/one/x.ts": 'import { y } from "../two/y.ts";\n',
      "packages/a/src/two/z.ts": 'import type { X } from "../one/x.ts";\n',
    },
    want: ["packages/a/src/one packages/a/src/two"],
  },
  "three folders in a circle, through a deeper file": {
    texts: {
      "packages/a/src/one/x.ts": 'import { y } from "../two/y.ts";\n',
      "packages/a/src/two/deep/z.ts": 'import { u } from "../../three/u.ts";\n',
      "packages/a/src/three/v.ts": 'import { x } from "../one/x.ts";\n',
    },
    want: ["packages/a/src/one packages/a/src/three packages/a/src/two"],
  },
  "imports in one direction, of tests, and of a module that is loaded later": {
    texts: {
      "packages/a/src/one/x.ts": 'import { y } from "../two/y.ts";\n',
      "packages/a/src/two/y.test.ts": 'import { x } from "../one/x.ts";\n',
      "packages/a/src/two/z.ts": 'const x = () => import("../one/x.ts");\n',
    },
    want: [],
  },
};

for (const [name, { texts, want }] of Object.entries(cycles)) {
  test(`folder cycles: ${name}`, (t) => assert.deepEqual(folderCycles(filesOf(t, texts)), want));
}

const undocumented: Readonly<Record<string, { texts: Readonly<Record<string, string>>; want: readonly string[] }>> = {
  "a re-exported declaration without a comment, or with a comment of another kind": {
    texts: {
      "packages/a/src/index.ts": 'export { one, plain, star, two } from "./x.ts";\n',
      "packages/a/src/x.ts":
        "/** One. */\nexport const one = 1;\nexport const two = 2;\n\n/* No. */\nexport type star = 1;\n// No.\nexport class plain {}\n",
    },
    want: ["packages/a/src/x.ts: plain", "packages/a/src/x.ts: star", "packages/a/src/x.ts: two"],
  },
  "comments of several lines, for tools in between, and of the first overload": {
    texts: {
      "packages/a/src/index.ts": 'export { one, type Two, three } from "./x.ts";\n',
      "packages/a/src/x.ts":
        "/**\n * One.\n */\n// biome-ignore lint/a/b: c.\nexport async function one() {}\n/** Two. */\nexport interface Two {}\n/** Three. */\nexport function three(a: 1): 1;\nexport function three(a: 2): 2;\n",
    },
    want: [],
  },
  "names that are renamed, listed, imported first, or come from a whole file or another package": {
    texts: {
      "packages/a/package.json": manifest("a"),
      "packages/a/src/index.ts":
        'import { local } from "./y.ts";\nexport { one as first } from "./x.ts";\nexport * from "./z.ts";\nexport { local };\nexport { shared } from "@purlin/b";\nexport const own = 1;\n',
      "packages/a/src/x.ts": "const one = 1;\nexport { one };\n",
      "packages/a/src/y.ts": "export let local = 1;\n",
      "packages/a/src/z.ts": "export const all = 1;\n/** Said. */\nexport const said = 1;\n",
      "packages/b/package.json": manifest("b"),
      "packages/b/src/index.ts": 'export { shared } from "./s.ts";\n',
      "packages/b/src/s.ts": "export const shared = 1;\n",
    },
    want: [
      "packages/a/src/index.ts: own",
      "packages/a/src/x.ts: one",
      "packages/a/src/y.ts: local",
      "packages/a/src/z.ts: all",
      "packages/b/src/s.ts: shared",
    ],
  },
  "what no entry point exports, generated code, tests, and files that re-export each other": {
    texts: {
      "packages/a/src/index.ts": 'export { message } from "./gen/m.ts";\nexport * from "./x.ts";\n',
      "packages/a/src/gen/m.ts": "export const message = 1;\n",
      "packages/a/src/x.ts": 'export * from "./y.ts";\n',
      "packages/a/src/y.ts": 'export * from "./x.ts";\n',
      "packages/a/src/z.ts": "export const internal = 1;\n",
      "packages/a/test/index.ts": "export const helper = 1;\n",
    },
    want: [],
  },
};

for (const [name, { texts, want }] of Object.entries(undocumented)) {
  test(`exports without a doc comment: ${name}`, (t) => assert.deepEqual(undocumentedExports(filesOf(t, texts)), want));
}
