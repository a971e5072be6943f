// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createTypeNames,
  docComment,
  docLines,
  generatedMark,
  importPath,
  isGenerated,
  memberName,
  moduleHeader,
  modulePath,
  quoted,
} from "./generated-text.ts";

test("members that TypeScript cannot name are quoted", () => {
  for (const name of ["a", "_a", "$ref", "a1", "class"]) assert.equal(memberName(name), name);
  for (const name of ["a-b", "1a", "a.b/c", "", "ä", "a b"]) assert.equal(memberName(name), `"${name}"`);
  assert.equal(memberName('a"\n\\'), '"a\\"\\n\\\\"');
  assert.equal(quoted("a\u2028b\u2029"), '"a\\u2028b\\u2029"');
});

test("each name of a type is handed out once, as close to the wanted one as TypeScript allows", () => {
  const names = createTypeNames(["ObjectMeta"]);
  const taken = ["App", "App", "App", "ObjectMeta", "my-kind", "1st", "string", "class", "", "Ä"].map(names.take);
  assert.deepEqual(taken, ["App", "App_", "App__", "ObjectMeta_", "my_kind", "_1st", "string_", "class_", "_", "__"]);
});

test("modules are below the folder of their group, and import each other by relative paths", () => {
  assert.deepEqual([modulePath("v1"), modulePath("apps/v1")], ["v1.d.ts", "apps/v1.d.ts"]);
  assert.equal(importPath("v1.d.ts", "meta/v1.d.ts"), "./meta/v1.d.ts");
  assert.equal(importPath("apps/v1.d.ts", "meta/v1.d.ts"), "../meta/v1.d.ts");
  assert.equal(importPath("a/b/c.d.ts", "v1.d.ts"), "../../v1.d.ts");
});

test("a description becomes the lines of a comment, which it cannot end", () => {
  assert.deepEqual(docLines({}), []);
  assert.deepEqual(docLines({ description: 5 }), []);
  assert.deepEqual(docLines({ description: "\n\nSize.  \r\nSee */ and \u0007\u001b.\n\n" }), [
    "Size.",
    "See *\\/ and  .",
  ]);
  assert.deepEqual(docLines({ description: "a\u2028b\u2029c\rd" }), ["a", "b", "c", "d"]);
  assert.deepEqual(docLines({ description: "a\n\nb" }), ["a", "", "b"]);
});

test("the default is the last line; null is not a default, and a long one is cut", () => {
  assert.deepEqual(docLines({ description: "Size.", default: "s" }), ["Size.", '@default "s"']);
  assert.deepEqual(docLines({ default: false }), ["@default false"]);
  assert.deepEqual(docLines({ default: 9007199254740993n }), ["@default 9007199254740993"]);
  assert.deepEqual(docLines({ default: null }), []);
  assert.deepEqual(docLines({ default: "s" }, { isDefaultShown: false }), []);
  assert.deepEqual(docLines({ default: "*/" }), ['@default "*\\/"']);
  const text = (length: number): string | undefined => docLines({ default: "x".repeat(length - 2) })[0];
  assert.equal(text(200), `@default "${"x".repeat(198)}"`);
  assert.equal(text(201), `@default "${"x".repeat(199)}…`);
});

test("a comment of one line, of several, and of none", () => {
  assert.equal(docComment([], "  "), "");
  assert.equal(docComment(["Size."], "  "), "  /** Size. */\n");
  assert.equal(docComment(["a", "", "b"], "  "), "  /**\n   * a\n   *\n   * b\n   */\n");
});

test("a generated file is known by its first lines", () => {
  assert.ok(isGenerated(`${moduleHeader}export {};\n`));
  assert.ok(isGenerated(`{"$comment": "${generatedMark}"}`));
  assert.ok(!isGenerated("export {};\n"));
  assert.ok(!isGenerated(`${" ".repeat(300)}${generatedMark}`));
});
