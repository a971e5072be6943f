// SPDX-License-Identifier: Apache-2.0
// The documents are programs: every TypeScript block is compiled, the guide's test is run, and the reference names all there is.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import * as sdk from "./index.ts";
import * as testing from "./testing/index.ts";

const root = join(import.meta.dirname, "../../..");
const documents = [
  "docs/guide/writing-functions.md",
  "docs/reference/function-sdk.md",
  "packages/function-sdk/README.md",
] as const;
// Inside the package, so that the blocks import it by its name, as users do.
const dist = join(import.meta.dirname, "../dist");
let project = "";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** The TypeScript blocks of a document: those with a name are files that import each other. */
function blocksOf(path: string): { name: string; text: string }[] {
  return [...read(path).matchAll(/^```ts(?: (\S+))?\n(.*?)^```$/gms)].map(([, name, text = ""], index) => ({
    name: name ?? `block-${index + 1}.ts`,
    text,
  }));
}

function run(...args: readonly string[]): void {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: "utf8", env });
  assert.equal(status, 0, `${stdout}${stderr}`);
}

before(() => {
  mkdirSync(dist, { recursive: true });
  project = mkdtempSync(join(dist, "docs-"));
  for (const [index, path] of documents.entries()) {
    const folder = join(project, String(index));
    mkdirSync(folder);
    for (const { name, text } of blocksOf(path)) writeFileSync(join(folder, name), text);
  }
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { isolatedDeclarations: false, declaration: false },
    include: ["*/*.ts"],
    exclude: [],
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
});

after(() => rmSync(project, { recursive: true, force: true }));

test("the documents have code to compile", () => {
  assert.deepEqual(
    documents.map((path) => blocksOf(path).length > 0),
    [true, false, true],
  );
});

test("every TypeScript block compiles", () => {
  const readme = join(project, "2/block-2.ts");
  // The second block of the README continues where the first one ends.
  writeFileSync(readme, `import { fn } from "./block-1.ts";\n${readFileSync(readme, "utf8")}`);
  const first = join(project, "2/block-1.ts");
  writeFileSync(first, readFileSync(first, "utf8").replace("const fn", "export const fn"));
  run(join(root, "node_modules/typescript/bin/tsc"), "-p", ".", "--noEmit");
});

test("the test the guide shows passes", () => {
  run("--test", join(project, "0/requirements.test.ts"));
});

test("the reference names every export", () => {
  const reference = read("docs/reference/function-sdk.md");
  const messages = /^(?:[A-Z][a-zA-Z]+|create|decode|encode|fromJson|toJson|isStruct|allCapabilities)$/;
  const names = [
    ...Object.keys(sdk).filter((name) => !messages.test(name)),
    ...[sdk.request, sdk.response, sdk.result, sdk.resource, testing].flatMap((namespace) => Object.keys(namespace)),
  ];
  // conditionTrue, conditionFalse and conditionUnknown are written as one.
  const missing = names.filter((name) => !reference.includes(name.replace(/(True|False|Unknown)$/, "True")));
  assert.deepEqual([...new Set(missing)], ["KubeObject"]);
});

test("the reference names every error code, and none that is gone", () => {
  const source = readFileSync(join(import.meta.dirname, "errors/function-error.ts"), "utf8");
  const codes = [...source.matchAll(/^ {2}\| "([A-Z_]+)"/gm)].map(([, code]) => code);
  const table = read("docs/reference/function-sdk.md").split("## Error codes")[1] ?? "";
  const documented = [...table.matchAll(/`([A-Z_]{4,})`/g)].map(([, code]) => code);
  assert.deepEqual(documented.sort(), codes.sort());
});

test("guide and reference name every flag", () => {
  const flags = [...sdk.usageText("fn").matchAll(/--([a-z-]+)/g)]
    .map(([flag]) => flag)
    .filter((flag) => flag !== "--help");
  for (const path of [documents[0], documents[1]]) {
    assert.deepEqual(
      flags.filter((flag) => !read(path).includes(flag)),
      [],
      path,
    );
  }
});
