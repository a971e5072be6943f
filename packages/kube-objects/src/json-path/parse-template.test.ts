// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Path, type PathStep, parsePath, parseTemplate } from "./parse-template.ts";

const field = (name: string): PathStep => ({ kind: "field", name });
const rootOf = (...steps: PathStep[]): Path => ({ isCurrent: false, steps });
const at = (start?: number): PathStep => ({
  kind: "slices",
  slices: [{ start, end: undefined, step: undefined, isIndex: true }],
});
const slice = (start?: number, end?: number, step?: number): PathStep => ({
  kind: "slices",
  slices: [{ start, end, step, isIndex: false }],
});

const paths: readonly (readonly [string, readonly PathStep[]])[] = [
  ["", []],
  [".", []],
  ["$", []],
  [".spec.ports", [field("spec"), field("ports")]],
  ["$.spec", [field("spec")]],
  ["spec", [field("spec")]],
  [" .spec ", [field("spec")]],
  ["..name", [{ kind: "descend" }, field("name")]],
  [".*", [{ kind: "all" }]],
  ["[*]", [{ kind: "all" }]],
  [".items[*].name", [field("items"), { kind: "all" }, field("name")]],
  [".items[0]", [field("items"), at(0)]],
  [".items[-1]", [field("items"), at(-1)]],
  ["[1:3]", [slice(1, 3)]],
  ["[:]", [slice()]],
  ["[::2]", [slice(undefined, undefined, 2)]],
  ["[-2:]", [slice(-2)]],
  [
    ".metadata.labels.app\\.kubernetes\\.io/name",
    [field("metadata"), field("labels"), field("app.kubernetes.io/name")],
  ],
  ["['a b']", [{ kind: "union", paths: [[field("a b")]] }]],
  ["['a','b']", [{ kind: "union", paths: [[field("a")], [field("b")]] }]],
  ["['a.b']", [{ kind: "union", paths: [[field("a"), field("b")]] }]],
  ['["a\\.b"]', [{ kind: "union", paths: [[field("a.b")]] }]],
  [".é", [field("é")]],
];

for (const [source, steps] of paths) {
  test(`the path ${JSON.stringify(source)}`, () => {
    assert.deepEqual(parsePath(source), rootOf(...steps));
  });
}

test("several indexes and slices may be in one pair of brackets", () => {
  const [step] = parsePath("[0, 2:4]").steps;
  assert.deepEqual(step, {
    kind: "slices",
    slices: [
      { start: 0, end: undefined, step: undefined, isIndex: true },
      { start: 2, end: 4, step: undefined, isIndex: false },
    ],
  });
});

const name: Path = { isCurrent: true, steps: [field("name")] };

test("a filter compares two operands: paths, texts, numbers, booleans", () => {
  const filters: readonly (readonly [string, PathStep])[] = [
    ['[?(@.name=="a")]', { kind: "filter", left: { path: name }, operator: "==", right: { literal: "a" } }],
    ["[?(@.name != 'a b')]", { kind: "filter", left: { path: name }, operator: "!=", right: { literal: "a b" } }],
    ["[?(@.name>=1.5)]", { kind: "filter", left: { path: name }, operator: ">=", right: { literal: 1.5 } }],
    ["[?(@.name<-2)]", { kind: "filter", left: { path: name }, operator: "<", right: { literal: -2 } }],
    ["[?(@.name==true)]", { kind: "filter", left: { path: name }, operator: "==", right: { literal: true } }],
    [
      "[?(@.name<=$.max)]",
      { kind: "filter", left: { path: name }, operator: "<=", right: { path: rootOf(field("max")) } },
    ],
    ["[?(@.name)]", { kind: "exists", path: name }],
  ];
  for (const [source, step] of filters) assert.deepEqual(parsePath(`.items${source}`).steps[1], step, source);
});

test("paths that cannot be parsed name the rest", () => {
  const errors: readonly (readonly [string, string])[] = [
    ["[]", "[] is empty"],
    ["[a]", 'cannot parse "[a]"'],
    ["[1:2:3:4]", 'cannot parse "[1:2:3:4]"'],
    [".a}", 'cannot parse "}"'],
    [".a[0", 'cannot parse "[0"'],
    ["(a)", 'cannot parse "(a)"'],
  ];
  for (const [source, message] of errors) assert.throws(() => parsePath(source), { message }, source);
});

const value = (...steps: PathStep[]): object => ({ kind: "values", path: rootOf(...steps) });
const text = (content: string): object => ({ kind: "text", text: content });

test("a template is text, values and ranges", () => {
  assert.deepEqual(parseTemplate(""), []);
  assert.deepEqual(parseTemplate("plain"), [text("plain")]);
  assert.deepEqual(parseTemplate("a {.b} c{.d}"), [text("a "), value(field("b")), text(" c"), value(field("d"))]);
  assert.deepEqual(parseTemplate('{range .items[*]}{.name}{"\\n"}{end}x'), [
    { kind: "range", path: rootOf(field("items"), { kind: "all" }), body: [value(field("name")), text("\n")] },
    text("x"),
  ]);
});

test("ranges may contain ranges", () => {
  assert.deepEqual(parseTemplate("{range .a}{range .b}{.c}{end}{end}"), [
    {
      kind: "range",
      path: rootOf(field("a")),
      body: [{ kind: "range", path: rootOf(field("b")), body: [value(field("c"))] }],
    },
  ]);
});

test("several paths and texts may be in one pair of braces", () => {
  assert.deepEqual(parseTemplate(`{.a "\\t" .b['x y'] '}'}`), [
    value(field("a")),
    text("\t"),
    value(field("b"), { kind: "union", paths: [[field("x y")]] }),
    text("}"),
  ]);
});

test("texts have escapes for line breaks, tabs and themselves", () => {
  assert.deepEqual(parseTemplate(`{"a\\n\\t\\r\\"\\\\b"}{'it\\'s'}`), [text('a\n\t\r"\\b'), text("it's")]);
});

test("templates that cannot be parsed", () => {
  assert.throws(() => parseTemplate("{.a"), { message: "unclosed {: add }" });
  assert.throws(() => parseTemplate('{"}'), { message: "unclosed {: add }" });
  assert.throws(() => parseTemplate("{range .a}"), { message: "range without end" });
  assert.throws(() => parseTemplate("{end}"), { message: "end without range" });
  assert.throws(() => parseTemplate("{.a[}"), { message: 'cannot parse "[" in ".a["' });
});
