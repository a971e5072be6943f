// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { describeLoadError } from "./function-module.ts";

const cases: Record<string, { readonly files: Record<string, string>; readonly says: string | RegExp }> = {
  TypeScriptSyntax: {
    files: { "fn.ts": "export const a: number = 1;\nexport const b = await 3 3;\n" },
    says: "fn.ts:2:26: Expected a semicolon",
  },
  InAnImportedFile: {
    files: { "fn.ts": 'import "./lib/part.ts";\nexport {};\n', "lib/part.ts": "export const x: = 1;\n" },
    says: /^lib\/part\.ts:1:17: Unexpected token `=`/,
  },
  Enum: {
    files: { "fn.ts": "export enum A { x }\n" },
    says: /^fn\.ts:1:\d+: TypeScript enum is not supported in strip-only mode: Node removes types and compiles nothing; /,
  },
  MissingPackage: {
    files: { "fn.ts": 'import "no-such-package";\nexport {};\n' },
    says: /^fn\.ts: Cannot find package 'no-such-package' imported from .*: run npm install$/,
  },
  MissingFile: {
    files: { "fn.ts": 'import "./nope.ts";\nexport {};\n' },
    says: /^fn\.ts: Cannot find module '.*nope\.ts' imported from .*: check the path and its ending$/,
  },
  NoProgram: {
    files: { "fn.ts": 'import "./request.yaml";\nexport {};\n', "request.yaml": "a: 1\n" },
    says: /^request\.yaml: Unknown file extension "\.yaml" for .*: not a TypeScript or JavaScript file: specify the file that exports the function$/,
  },
  MissingExport: {
    files: { "fn.ts": 'import { nope } from "node:fs";\nexport default nope;\n' },
    says: "fn.ts:1:10: The requested module 'node:fs' does not provide an export named 'nope'",
  },
  Throws: {
    files: { "fn.ts": "export const ok = 1;\nfunction f(): void {\n  throw new Error('boom\\nbang');\n}\nf();\n" },
    says: "fn.ts:3:9: boom bang",
  },
  ThrowsText: { files: { "fn.ts": "export {};\nthrow 'text';\n" }, says: "the file threw text" },
};
for (const [name, { files, says }] of Object.entries(cases)) {
  test(`load errors: ${name}`, async () => {
    using folder = tempFolder({ "package.json": '{"type":"module"}', ...files });
    const error = await import(pathToFileURL(`${folder.path}/fn.ts`).href).then(
      () => assert.fail("the module loads"),
      (reason: unknown) => reason,
    );
    const text = describeLoadError(error, folder.path);
    if (typeof says === "string") assert.equal(text, says);
    else assert.match(text, says);
  });
}

test("a syntax error in JavaScript has the place in the file that was to be loaded", async () => {
  using folder = tempFolder({ "package.json": '{"type":"module"}', "fn.mjs": "const a = 1;\nexport default (a;\n" });
  const file = `${folder.path}/fn.mjs`;
  const error = await import(pathToFileURL(file).href).then(
    () => assert.fail("the module loads"),
    (reason: unknown) => reason,
  );
  assert.match(describeLoadError(error, folder.path, file), /^fn\.mjs:2:\d+: (Unexpected token|missing \))/);
});

test("a file outside the folder keeps its whole path", () => {
  const error = Object.assign(new Error("no"), { stack: "Error: no\n    at f (file:///elsewhere/a.ts:1:2)" });
  assert.equal(describeLoadError(error, "/work"), "/elsewhere/a.ts:1:2: no");
});
