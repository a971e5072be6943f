// SPDX-License-Identifier: Apache-2.0
// CEL's cost of a call can be small where its work is not: work is accounted for by the size of what is looked at.
import assert from "node:assert/strict";
import { test } from "node:test";
import { showValue } from "../../test/expressions.ts";
import { compile } from "../program.ts";
import { untyped } from "../schema/schema-map.ts";
import { type CelType, dynType } from "../types/types.ts";

const variables = new Map<string, CelType>([
  ["s", dynType],
  ["l", dynType],
  ["m", dynType],
]);

/** The work of an expression over a string, a list and a map of that size. */
function workOf(expr: string, size: number): number {
  const program = compile(expr, { variables, objects: new Map() });
  if ("problem" in program) return assert.fail(program.problem);
  const names = Array.from({ length: size }, (_, index) => `k${index}`);
  const values = {
    s: "a".repeat(size),
    l: untyped(names),
    m: untyped(Object.fromEntries(names.map((name) => [name, 1]))),
  };
  return program.evaluate(values, 1_000_000_000, 1_000_000_000).work;
}

const expressions: readonly string[] = [
  "size(s) > 0",
  "s == s + ''",
  "s.contains('b')",
  "s.indexOf('b') > 0",
  "s.lastIndexOf('b') > 0",
  "s.charAt(0) == 'b'",
  "s.substring(1) == 'b'",
  "s.upperAscii() == 'b'",
  "s.trim() == 'b'",
  "s.replace('a', 'bc') == 'b'",
  "s.split('') == ['b']",
  "strings.quote(s) == 'b'",
  "s.matches('^[a-z]+$')",
  "s.find('b') == 'b'",
  "s.findAll('a') == ['b']",
  "s.format([]) == 'b'",
  "'%s'.format([l]) == 'b'",
  "'%s'.format([m]) == 'b'",
  "isURL(s)",
  "isQuantity(s)",
  "l == l.map(e, e)",
  "m == m",
  "'z' in l",
  "l.join() == 'b'",
  "l.isSorted()",
  "l.max() == 'b'",
  "l.indexOf('z') > 0",
  "l.lastIndexOf('z') > 0",
  "l.sort() == ['b']",
  "l.reverse() == ['b']",
  "[l].flatten() == ['b']",
  "l.slice(0, l.size()) == ['b']",
  "l.distinct() == ['b']",
  "lists.range(l.size()) == [1]",
  "sets.contains(l, ['z'])",
  "sets.intersects(['z'], l)",
  "m.size() > 0",
  "m.transformMap(k, v, v) == {}",
];

for (const expr of expressions) {
  test(`the work grows with the data: ${expr}`, () => {
    const [small, large] = [workOf(expr, 64), workOf(expr, 1024)];
    assert.ok(large >= small * 4, `${small} for 64 elements and ${large} for 1024`);
  });
}

test("a pattern that is not a constant is compiled once in a loop", () => {
  const loop = (count: number): string => `lists.range(${count}).all(i, 'x'.matches(s))`;
  const extra = workOf(loop(11), 4) - workOf(loop(1), 4);
  assert.ok(extra < workOf("'x'.matches(s)", 4), `${extra} for ten more matches`);
});

test("long quantities are more than linear work", () => {
  assert.ok(workOf("isQuantity(s)", 10_000) > 20 * workOf("isQuantity(s)", 1000));
});

test("a list that costs more than there is left is not made, and costs as much as if it had been", () => {
  for (const expr of ["lists.range(4000000)", "lists.range(40000000)", "l.reverse()", "l.slice(0, l.size())"]) {
    const program = compile(`${expr}.size() > 0`, { variables, objects: new Map() });
    if ("problem" in program) return assert.fail(program.problem);
    const values = { l: untyped(Array.from({ length: 5000 }, () => 1)) };
    const limit = expr.startsWith("lists") ? 1_000_000 : 1000;
    const { value, cost, work } = program.evaluate(values, limit);
    assert.match(showValue(value), /actual cost limit exceeded/);
    assert.ok(work < 100, `${expr}: ${work} units of work`);
    const size = expr.startsWith("lists") ? Number(expr.slice(12, -1)) : 5000;
    assert.ok(cost > size && cost < size + 30, `${expr}: a cost of ${cost}`);
  }
});
