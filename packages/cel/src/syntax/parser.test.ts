// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { showValue } from "../../test/expressions.ts";
import { type Comprehension, childrenOf, type Entry, type Expr } from "./ast.ts";
import { parse } from "./parser.ts";
import { createSource, renderIssues } from "./source.ts";

/** An expression in a notation that shows its structure: calls by the name of their operator, macros expanded. */
function showExpr(expr: Expr): string {
  switch (expr.kind) {
    case "literal":
      return showValue(expr.value);
    case "ident":
      return expr.name;
    case "select":
      return `${showExpr(expr.operand)}.${expr.field}${expr.isTest ? "~test~" : ""}`;
    case "call":
      return `${expr.target ? `${showExpr(expr.target)}.` : ""}${expr.functionName}(${expr.args.map(showExpr).join(", ")})`;
    case "list":
      return `[${expr.elements.map((element, at) => (expr.optionals.has(at) ? "?" : "") + showExpr(element)).join(", ")}]`;
    case "map":
      return `{${expr.entries.map(showEntry).join(", ")}}`;
    case "struct":
      return `${expr.typeName}{${expr.fields.map(({ name, value }) => `${name}: ${showExpr(value)}`).join(", ")}}`;
    case "comprehension":
      return showComprehension(expr);
    case "unspecified":
      return "<nothing>";
  }
}

const showEntry = ({ key, value, isOptional }: Entry): string =>
  `${isOptional ? "?" : ""}${showExpr(key)}: ${showExpr(value)}`;

function showComprehension(fold: Comprehension): string {
  const variables = fold.iterVar2 === undefined ? fold.iterVar : `${fold.iterVar}, ${fold.iterVar2}`;
  const parts = [fold.accuInit, fold.condition, fold.step, fold.result].map(showExpr);
  return `fold(${showExpr(fold.range)} as ${variables}; ${parts.join("; ")})`;
}

/** The structure of an expression, or the messages about it without their snippets. */
function parsed(text: string): string {
  const source = createSource(text);
  const result = parse(source);
  if ("ast" in result) return showExpr(result.ast.root);
  return renderIssues(source, result.issues).replace(/\n \|.*/g, "");
}

const structures = [
  { why: "products bind before sums", text: "1 + 2 * 3", expected: "_+_(1, _*_(2, 3))" },
  { why: "parentheses bind first", text: "(1 + 2) * 3", expected: "_*_(_+_(1, 2), 3)" },
  { why: "sums go from the left", text: "1 - 2 - 3", expected: "_-_(_-_(1, 2), 3)" },
  { why: "comparisons go from the left", text: "a == b < c", expected: "_<_(_==_(a, b), c)" },
  { why: "conditions go from the right", text: "a ? b : c ? d : e", expected: "_?_:_(a, b, _?_:_(c, d, e))" },
  { why: "and binds before or", text: "a && b || c && d", expected: "_||_(_&&_(a, b), _&&_(c, d))" },
  { why: "chains of and are balanced", text: "a && b && c && d", expected: "_&&_(_&&_(a, b), _&&_(c, d))" },
  { why: "chains of or are balanced", text: "a || b || c", expected: "_||_(_||_(a, b), c)" },
  { why: "a sign binds after a selection", text: "-a.b", expected: "-_(a.b)" },
  { why: "two negations cancel out", text: "!!a", expected: "a" },
  { why: "three negations are one", text: "!!!a", expected: "!_(a)" },
  { why: "two minus signs cancel out", text: "--a", expected: "a" },
  { why: "a sign is part of a literal", text: "- 1", expected: "-1" },
  { why: "a sign in front of parentheses is an operator", text: "-(1)", expected: "-_(1)" },
  { why: "membership", text: "a in b", expected: "@in(a, b)" },
  { why: "a name from the root", text: ".a.b", expected: ".a.b" },
  { why: "an index and a field", text: "a[0].b", expected: "_[_](a, 0).b" },
  { why: "a member call", text: "a.b(c)", expected: "a.b(c)" },
  { why: "a call", text: "f(a, b)", expected: "f(a, b)" },
  { why: "an optional field", text: "a.?b", expected: '_?._(a, "b")' },
  { why: "an optional index", text: "a[?b]", expected: "_[?_](a, b)" },
  { why: "a comma may end a list", text: "[1, 2,]", expected: "[1, 2]" },
  { why: "an optional element", text: "[?a, b]", expected: "[?a, b]" },
  { why: "an optional entry", text: "{'a': 1, ?'b': c,}", expected: '{"a": 1, ?"b": c}' },
  { why: "a message", text: "a.b.Foo{c: 1}", expected: "a.b.Foo{c: 1}" },
  { why: "a field may have the name of a keyword of other languages", text: "a.for", expected: "a.for" },
] as const;

const macros = [
  { why: "has", text: "has(a.b)", expected: "a.b~test~" },
  {
    why: "all",
    text: "l.all(x, x > 0)",
    expected: "fold(l as x; true; @not_strictly_false(@result); _&&_(@result, _>_(x, 0)); @result)",
  },
  {
    why: "exists",
    text: "l.exists(x, x)",
    expected: "fold(l as x; false; @not_strictly_false(!_(@result)); _||_(@result, x); @result)",
  },
  {
    why: "exists_one",
    text: "l.exists_one(x, x)",
    expected: "fold(l as x; 0; true; _?_:_(x, _+_(@result, 1), @result); _==_(@result, 1))",
  },
  {
    why: "map",
    text: "l.map(x, x + 1)",
    expected: "fold(l as x; []; true; _+_(@result, [_+_(x, 1)]); @result)",
  },
  {
    why: "map with a filter",
    text: "l.map(x, x > 0, x)",
    expected: "fold(l as x; []; true; _?_:_(_>_(x, 0), _+_(@result, [x]), @result); @result)",
  },
  {
    why: "filter",
    text: "l.filter(x, x)",
    expected: "fold(l as x; []; true; _?_:_(x, _+_(@result, [x]), @result); @result)",
  },
  {
    why: "all with two variables",
    text: "l.all(i, v, v)",
    expected: "fold(l as i, v; true; @not_strictly_false(@result); _&&_(@result, v); @result)",
  },
  {
    why: "existsOne with two variables",
    text: "l.existsOne(i, v, v)",
    expected: "fold(l as i, v; 0; true; _?_:_(v, _+_(@result, 1), @result); _==_(@result, 1))",
  },
  {
    why: "transformList",
    text: "l.transformList(i, v, v)",
    expected: "fold(l as i, v; []; true; _+_(@result, [v]); @result)",
  },
  {
    why: "transformMap with a filter",
    text: "l.transformMap(k, v, v > 0, v)",
    expected: "fold(l as k, v; {}; true; _?_:_(_>_(v, 0), cel.@mapInsert(@result, k, v), @result); @result)",
  },
  {
    why: "transformMapEntry",
    text: "l.transformMapEntry(k, v, {k: v})",
    expected: "fold(l as k, v; {}; true; cel.@mapInsert(@result, {k: v}); @result)",
  },
  {
    why: "optMap",
    text: "o.optMap(x, x + 1)",
    expected: "_?_:_(o.hasValue(), optional.of(fold([] as #unused; o.value(); false; x; _+_(x, 1))), optional.none())",
  },
  {
    why: "optFlatMap",
    text: "o.optFlatMap(x, x)",
    expected: "_?_:_(o.hasValue(), fold([] as #unused; o.value(); false; x; x), optional.none())",
  },
  {
    why: "sortBy",
    text: "l.sortBy(x, x.y)",
    expected:
      "fold([] as #unused; l; false; @__sortBy_input__; @__sortBy_input__.@sortByAssociatedKeys(fold(@__sortBy_input__ as x; []; true; _+_(@result, [x.y]); @result)))",
  },
  { why: "another number of arguments is a call", text: "l.all(x)", expected: "l.all(x)" },
  { why: "without a target it is a call", text: "all(l, x, x)", expected: "all(l, x, x)" },
  {
    why: "existsOne with one variable is a function, not a macro",
    text: "l.existsOne(x, x)",
    expected: "l.existsOne(x, x)",
  },
] as const;

for (const { why, text, expected } of structures) test(`structure: ${why}`, () => assert.equal(parsed(text), expected));

for (const { why, text, expected } of macros) test(`macro: ${why}`, () => assert.equal(parsed(text), expected));

const start =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

const problems = [
  { why: "nothing", text: "", expected: `1:0: Syntax error: mismatched input '<EOF>' expecting ${start}` },
  {
    why: "an operand is missing",
    text: "1 +",
    expected: `1:4: Syntax error: mismatched input '<EOF>' expecting ${start}`,
  },
  {
    why: "something after the end",
    text: "a b",
    expected: "1:3: Syntax error: extraneous input 'b' expecting <EOF>",
  },
  {
    why: "a comma is missing",
    text: "[1 2]",
    expected: "1:4: Syntax error: extraneous input '2' expecting {']', ','}",
  },
  { why: "a value is missing", text: "{1}", expected: "1:3: Syntax error: mismatched input '}' expecting ':'" },
  {
    why: "the other case is missing",
    text: "a ? b",
    expected: "1:6: Syntax error: mismatched input '<EOF>' expecting ':'",
  },
  { why: "no name after the point", text: "a.(b)", expected: "1:3: Syntax error: no viable alternative at input '.('" },
  { why: "a word CEL keeps for itself", text: "if", expected: "1:1: reserved identifier: if" },
  { why: "a quoted field, which Kubernetes does not enable", text: "a.`b`", expected: "1:3: unsupported syntax: '`'" },
  { why: "has of an expression that is not a field", text: "has(a)", expected: "1:5: invalid argument to has() macro" },
  {
    why: "a variable that is not a name",
    text: "l.all(x.y, true)",
    expected: "1:8: argument must be a simple name",
  },
] as const;

for (const { why, text, expected } of problems) {
  test(`syntax error: ${why}`, () => assert.equal(parsed(text), `ERROR: <input>:${expected}`));
}

const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + 1 + close.repeat(depth);

const limits = [
  {
    why: "more code points than fit",
    text: "\u{1f600}".repeat(100_001),
    expected: "expression code point size exceeds limit: size: 100001, limit 100000",
  },
  {
    why: "parentheses in parentheses",
    text: nested(251, "(", ")"),
    expected: "expression recursion limit exceeded: 250",
  },
  { why: "lists in lists", text: nested(40_000, "[", "]"), expected: "expression recursion limit exceeded: 250" },
  { why: "a long sum", text: `1${"+1".repeat(40_000)}`, expected: "max recursion depth exceeded" },
  { why: "a long chain of fields", text: `a${".b".repeat(40_000)}`, expected: "max recursion depth exceeded" },
  {
    why: "macros that double their target",
    text: `o${".optMap(x, x)".repeat(40)}`,
    expected: "expression exceeds 300000 nodes after macro expansion",
  },
  {
    why: "errors that cannot be recovered from",
    text: ")".repeat(1000),
    expected: "error recovery token lookahead limit exceeded: 256",
  },
] as const;

for (const { why, text, expected } of limits) {
  test(`limit: ${why}`, () => assert.ok(parsed(text).startsWith(`ERROR: <input>:-1:0: ${expected}`), parsed(text)));
}

const withinLimits = [
  { why: "nested parentheses", text: nested(200, "(", ")") },
  { why: "a long chain of or", text: `a${" || a".repeat(15_000)}` },
  { why: "a long list", text: `[${"1,".repeat(40_000)}]` },
  { why: "a long text", text: `'${"x".repeat(99_998)}'` },
  { why: "many negations", text: `${"!".repeat(90_000)}a` },
] as const;

for (const { why, text } of withinLimits) {
  test(`no limit: ${why}`, () => assert.ok(!parsed(text).startsWith("ERROR"), parsed(text).slice(0, 200)));
}

test("nodes have numbers of their own and a place in the text", () => {
  const result = parse(createSource("self.l.map(x, x + 1).exists(y, y > 2) || {'a': [1]} == {}"));
  assert.ok("ast" in result);
  const ids: number[] = [];
  const visit = (expr: Expr): void => {
    ids.push(expr.id);
    assert.ok(result.ast.offsets.has(expr.id), showExpr(expr));
    childrenOf(expr).forEach(visit);
  };
  visit(result.ast.root);
  assert.equal(new Set(ids).size, ids.length);
});

const pieces = [
  "a",
  ".",
  "(",
  ")",
  "[",
  "]",
  "{",
  "}",
  ",",
  ":",
  "?",
  "!",
  "-",
  "1",
  "'s'",
  "&&",
  "+",
  " in ",
  "has",
  "all",
];

test("any text is parsed or refused, and never throws", () => {
  const texts = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 3 })), { maxLength: 30 });
  fc.assert(
    fc.property(texts, (parts) => {
      assert.equal(typeof parsed(parts.join("")), "string");
    }),
    { numRuns: 500 },
  );
});
