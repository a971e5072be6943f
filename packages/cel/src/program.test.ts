// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { showValue } from "../test/expressions.ts";
import type { Environment } from "./check/environment.ts";
import { compile, evaluateExpression, type Program, syntaxProblem, typeCheck } from "./program.ts";
import { untyped } from "./schema/schema-map.ts";
import { type CelType, dynType, formatType } from "./types/types.ts";

const env: Environment = {
  variables: new Map<string, CelType>([
    ["self", dynType],
    ["oldSelf", dynType],
  ]),
  objects: new Map(),
};

function program(text: string): Program {
  const compiled = compile(text, env);
  return "problem" in compiled ? assert.fail(compiled.problem) : compiled;
}

test("a program runs any number of times, with other variables each time", () => {
  const twice = program("self.map(e, e * 2)");
  assert.equal(showValue(twice.evaluate({ self: untyped([1, 2]) }, 100).value), "[2, 4]");
  assert.equal(showValue(twice.evaluate({ self: untyped([]) }, 100).value), "[]");
  assert.equal(showValue(twice.evaluate({ self: untyped([3]) }, 100).value), "[6]");
});

test("a variable that is left out cannot be read", () => {
  assert.equal(showValue(program("self == 1").evaluate({}, 100).value), "ERR no such attribute(s): self");
  assert.equal(showValue(program("true || self == 1").evaluate({}, 100).value), "true");
});

test("a program reports whether it reads oldSelf", () => {
  for (const text of [
    "oldSelf == 1",
    "[1].all(e, e == oldSelf)",
    "has(oldSelf.a)",
    "{'a': oldSelf}",
    ".oldSelf == 1",
  ]) {
    assert.equal(program(text).usesOldSelf, true, text);
  }
  for (const text of ["self == 1", "'oldSelf' == 'a'", "self.oldSelf == 1"]) {
    assert.equal(program(text).usesOldSelf, false, text);
  }
});

test("the cost may reach its limit, and no more", () => {
  const text = program("self + self + self");
  assert.deepEqual(text.evaluate({ self: 1n }, 5).cost, 5);
  assert.equal(showValue(text.evaluate({ self: 1n }, 5).value), "3");
  const over = text.evaluate({ self: 1n }, 4);
  assert.equal(showValue(over.value), "ERR operation cancelled: actual cost limit exceeded");
});

test("no operator absorbs that the cost limit is exceeded", () => {
  const { value } = program("true || self.all(e, e > 0)").evaluate({ self: untyped([1]) }, 0);
  assert.equal(showValue(value), "true");
  const or = program("self.all(e, e > 0) || true").evaluate({ self: untyped([1, 2, 3]) }, 3);
  assert.equal(showValue(or.value), "ERR operation cancelled: actual cost limit exceeded");
});

test("work beside the cost has a limit of its own", () => {
  const text = "a".repeat(160_000);
  const same = program("self == oldSelf");
  const variables = { self: text, oldSelf: `${text}` };
  const { work } = same.evaluate(variables, 1_000_000);
  assert.ok(work >= 10_000, `${work} units of work`);
  const ended = same.evaluate(variables, 1_000_000, 5000);
  assert.equal(showValue(ended.value), "ERR operation cancelled: actual cost limit exceeded");
});

test("types are checked without a plan", () => {
  const shown = (text: string): string => {
    const type = typeCheck(text, env);
    return "problem" in type ? `${type.stage}: ${type.problem.split("\n")[0]}` : formatType(type);
  };
  assert.equal(shown("[1]"), "list(int)");
  assert.equal(shown("int('a')"), "int");
  assert.equal(shown("nope"), "compile: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')");
  assert.equal(
    shown("1 +"),
    "compile: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  );
});

test("a syntax problem is found without knowing variables and functions", () => {
  assert.equal(syntaxProblem("anything.at(all) && nope"), undefined);
  assert.match(syntaxProblem("a b") ?? "", /^ERROR: <input>:1:3: Syntax error: /);
});

test("an expression is evaluated over JSON", () => {
  assert.deepEqual(evaluateExpression("a.b[0] + c", { a: { b: [1] }, c: 2 }), { value: 3 });
  assert.deepEqual(evaluateExpression("{'x': a}", { a: [1.5, null, "s"] }), { value: { x: [1.5, null, "s"] } });
  assert.deepEqual(evaluateExpression("a", { a: 2n ** 60n }), { value: 2n ** 60n });
  assert.deepEqual(evaluateExpression("a.nope", { a: {} }), { problem: "no such key: nope" });
  assert.deepEqual(evaluateExpression("{b'a': 1}", {}), {
    problem: "internal error: runtime error: hash of unhashable type types.Bytes",
  });
});

test("an expression that nests too deeply is refused with a message", () => {
  const nested = `${"(".repeat(100_000)}1${")".repeat(100_000)}`;
  const compiled = compile(nested, env);
  assert.ok("problem" in compiled);
  assert.equal(compiled.stage, "compile");
});

interface Divided {
  readonly text: string;
  readonly elements: number;
  readonly cost: number;
}

const divided: Record<string, Divided> = {
  "loops in each other": { text: "self.all(a, self.all(b, a >= 0 && b >= 0))", elements: 300, cost: 631_502 },
  "a value that is bound": {
    text: "cel.bind(m, self.map(a, self.filter(b, b < a).size()), m.all(v, m.all(w, w >= 0)))",
    elements: 300,
    cost: 1_309_054,
  },
  "a value that a loop is the first to read": {
    text: `optional.of(self.map(a, self.filter(b, b < a).size()))
      .optMap(m, self.all(v, m.size() > 0) && m.size() > 0 && self.all(v, self.all(w, w >= 0))).orValue(false)`,
    elements: 180,
    cost: 782_656,
  },
  "a list that loops add to": {
    text: `optional.of(self.filter(x, x > 1000)).optMap(m, self.map(a,
      (m + [a]).size() == 1 && self.all(b, self.all(c, c >= 0)) ? m.size() : -1)).orValue([]) == self.map(i, 0)`,
    elements: 60,
    cost: 1_100_239,
  },
  "many loops one after the other": {
    text: Array.from({ length: 3000 }, () => "self.all(a, a >= 0)").join("&&"),
    elements: 20,
    cost: 306_000,
  },
  "many terms without a loop": {
    text: Array.from({ length: 1500 }, () => "self.max() >= 0").join("&&"),
    elements: 300,
    cost: 453_000,
  },
};

for (const [name, { text, elements, cost }] of Object.entries(divided)) {
  test(`an evaluation in parts costs what it costs at once: ${name}`, () => {
    const compiled = compile(text, { ...env, hasBindings: true });
    if ("problem" in compiled) assert.fail(compiled.problem);
    const self = untyped(Array.from({ length: elements }, (_, i) => i));
    const work = compiled.evaluating({ self }, { cost: 10_000_000 });
    let count = 1;
    let part = work.next();
    for (; !part.done; part = work.next()) count += 1;
    assert.deepEqual({ value: part.value.value, cost: part.value.cost }, { value: true, cost });
    assert.deepEqual(part.value, compiled.evaluate({ self }, 10_000_000));
    assert.ok(count > 2, `${count} parts`);
  });
}

test("a list or map that has a name does not change when something is added to it", () => {
  const sizes = "[(m + [1]).size(), m.size(), (m + [2]).size(), m.size(), (m + m).size(), (m + ([3] + m)).size()]";
  for (const empty of ["self.filter(x, x > 1000)", "[]"]) {
    const named = program(`optional.of(${empty}).optMap(m, ${sizes}).value()`);
    assert.equal(showValue(named.evaluate({ self: untyped([1]) }, 1000).value), "[1, 0, 1, 0, 0, 1]", empty);
  }
});

test("steps without cost are work", () => {
  const free = Array.from({ length: 300 }, () => "'x' in ['a']").join("||");
  const { value } = program(`self.all(a, self.all(b, ${free} || true))`).evaluate(
    { self: untyped(Array.from({ length: 500 }, (_, i) => i)) },
    10_000_000,
  );
  assert.match(showValue(value), /actual cost limit exceeded/);
});
