// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { highlight } from "./highlight.ts";
import { codeHtml } from "./render-markdown.ts";

/** The highlighted parts, as `class:text`. */
const parts = (code: string, language: string): string[] =>
  [...highlight(code, language).matchAll(/<span class="code-(\w+)">([^<]*)<\/span>/g)].map(
    ([, kind, text]) => `${kind}:${text}`,
  );

test("scripts: comments, strings and keywords", () => {
  assert.deepEqual(parts("const a = 1; // const b", "ts"), ["keyword:const", "comment:// const b"]);
  assert.deepEqual(parts("/* if\nfor */ x", "js"), ["comment:/* if\nfor */"]);
  assert.deepEqual(parts("f('if', `a\nb`)", "typescript"), ["string:'if'", "string:`a\nb`"]);
  assert.deepEqual(parts('"a\\"b" in c', "js"), ["string:&quot;a\\&quot;b&quot;", "keyword:in"]);
  assert.deepEqual(parts("constant format typeofx", "ts"), [], "parts of words are not keywords");
  assert.deepEqual(parts('{"a": true}', "json"), ["string:&quot;a&quot;", "keyword:true"]);
});

test("YAML: comments, strings and keys, also of items", () => {
  assert.deepEqual(parts("a.b/c-d: x # note\n- - k: 'v'", "yaml"), [
    "key:a.b/c-d",
    "comment:# note",
    "key:k",
    "string:'v'",
  ]);
  assert.deepEqual(
    parts("url: http://x#y", "yml"),
    ["key:url"],
    "a number sign inside a word, and a colon without a space",
  );
  assert.deepEqual(parts("empty:\n", "yaml"), ["key:empty"]);
});

test("shells: comments, strings and options", () => {
  assert.deepEqual(parts('purlin get -o "a b" --as-group x # c', "sh"), [
    "option:-o",
    "string:&quot;a b&quot;",
    "option:--as-group",
    "comment:# c",
  ]);
  assert.deepEqual(parts("a-b --1", "bash"), []);
});

test("code is escaped everywhere, and unchanged in an unknown language", () => {
  assert.equal(highlight("a < b && '<'", "ts"), `a &lt; b &amp;&amp; <span class="code-string">'&lt;'</span>`);
  assert.equal(highlight("if <a>", "go"), "if &lt;a&gt;");
  assert.equal(highlight("if", "constructor"), "if");
  assert.equal(highlight("", "ts"), "");
});

test("the language of a block is the first word of its info, and part of its label", () => {
  assert.match(
    codeHtml("a: 1", "yaml platform/x.yaml"),
    /aria-label="Code, yaml"><code><span class="code-key">a<\/span>: 1<\/code>/,
  );
  assert.match(codeHtml("a", ""), /aria-label="Code"><code>a<\/code>/);
});
