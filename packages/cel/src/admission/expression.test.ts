// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { untyped } from "../schema/schema-map.ts";
import { formatType } from "../types/types.ts";
import { UnknownValueError } from "../values/collections.ts";
import type { AdmissionScope } from "./environment.ts";
import {
  type AdmissionExpression,
  compileAdmissionExpression,
  ExpressionBudget,
  evaluateAdmission,
  outOfBudget,
  VariableValues,
} from "./expression.ts";

function compiled(text: string, scope: AdmissionScope = {}): AdmissionExpression {
  const expression = compileAdmissionExpression(text, scope, "any");
  return "problem" in expression ? assert.fail(expression.problem) : expression;
}

const object = untyped({ spec: { replicas: 3, name: "web" } });

function value(text: string): unknown {
  const outcome = finish(evaluateAdmission(compiled(text), { object }, new ExpressionBudget(1000)));
  return "error" in outcome ? outcome.error : outcome.value;
}

test("values become JSON", () => {
  assert.equal(value("object.spec.replicas * 2"), 6);
  assert.equal(value("object.spec.name + '!'"), "web!");
  assert.deepEqual(value("{'a': [object.spec.replicas, dyn(null)]}"), { a: [3, null] });
  assert.equal(value("9007199254740993"), 9_007_199_254_740_993n);
  assert.equal(value("duration('90m')"), "5400s");
  assert.equal(value("timestamp('2020-01-01T00:00:00Z')"), "2020-01-01T00:00:00Z");
  assert.equal(value("b'hi'"), "aGk=");
});

test("an expression that fails is quoted with the reason", () => {
  assert.equal(value("object.nope"), "expression 'object.nope' resulted in error: no such key: nope");
  assert.equal(value("1 / 0"), "expression '1 / 0' resulted in error: division by zero");
});

const problem = (text: string, types: readonly string[] | "any" = "any", scope: AdmissionScope = {}): string => {
  const expression = compileAdmissionExpression(text, scope, types);
  return "problem" in expression ? expression.problem : formatType(expression.type);
};

test("an expression must have one of the types that are wanted", () => {
  assert.equal(problem("true", ["bool"]), "bool");
  assert.equal(problem("1", ["bool"]), "must evaluate to bool but got int");
  assert.equal(problem("1", ["string", "null"]), "must evaluate to one of [string null_type] but got int");
  assert.equal(problem("null", ["string", "null"]), "null");
  assert.equal(problem("object", ["bool"]), "must evaluate to bool but got dyn");
});

test("an expression that does not compile says where", () => {
  const place = "\n | nope\n | ^";
  assert.equal(
    problem("nope"),
    `compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')${place}`,
  );
  assert.equal(problem("int('a')"), "instantiation failed: type conversion error from 'string' to 'int'");
});

const undeclared = (name: string, text: string): string =>
  `compilation failed: ERROR: <input>:1:1: undeclared reference to '${name}' (in container '')\n | ${text}\n | ^`;

const variables: readonly { readonly why: string; readonly text: string; readonly scope: AdmissionScope }[] = [
  { why: "params", text: "params", scope: { hasParams: true } },
  { why: "the authorizer", text: "authorizer", scope: { hasAuthorizer: true } },
  { why: "the namespace", text: "namespaceObject", scope: { hasNamespace: true } },
  { why: "variables", text: "variables", scope: { variables: new Map() } },
];

for (const { why, text, scope } of variables) {
  test(`expressions have ${why} where the scope says so`, () => {
    assert.equal(problem(text), undeclared(text, text));
    assert.notEqual(problem(text, "any", scope), undeclared(text, text));
  });
}

test("the fields of a request have types", () => {
  assert.equal(problem("request.userInfo.groups"), "list(string)");
  assert.equal(problem("request.userInfo.extra"), "map(string, list(string))");
  assert.equal(problem("request.kind.kind"), "string");
  assert.equal(problem("request.dryRun"), "bool");
  assert.equal(problem("request.options"), "dyn");
  assert.equal(problem("namespaceObject.metadata.creationTimestamp", "any", { hasNamespace: true }), "timestamp");
  assert.match(problem("request.nope"), /undefined field 'nope'/);
});

test("a budget is spent, and once it is exceeded nothing is left", () => {
  const expression = compiled("object.spec.replicas > 1");
  const budget = new ExpressionBudget(8);
  assert.deepEqual(finish(evaluateAdmission(expression, { object }, budget)), { value: true });
  assert.equal(budget.left, 4);
  assert.deepEqual(finish(evaluateAdmission(expression, { object }, budget)), { value: true });
  assert.equal(budget.left, 0);
  assert.deepEqual(finish(evaluateAdmission(expression, { object }, budget)), { error: outOfBudget, isFinal: true });
  assert.equal(budget.left, -1);
});

test("a call that costs more than a million ends", () => {
  const text = "lists.range(5000).all(a, lists.range(5000).all(b, a + b >= 0))";
  const outcome = finish(evaluateAdmission(compiled(text), {}, new ExpressionBudget(10_000_000)));
  assert.deepEqual(outcome, {
    error: `expression '${text}' resulted in error: operation cancelled: actual cost limit exceeded`,
    isFinal: false,
  });
});

test("a variable is evaluated when it is first read, once, and can read others", () => {
  const types = new Map([["a", compiled("1").type]]);
  const scope = { variables: types };
  const budget = new ExpressionBudget(1000);
  const named = [
    { name: "a", expression: compiled("object.spec.replicas + 1") },
    { name: "b", expression: compiled("variables.a * 10", scope) },
    { name: "bad", expression: compiled("1 / 0") },
  ];
  const values = new VariableValues(named, { object }, budget);
  assert.equal(budget.left, 1000);
  assert.throws(() => values.find("b"), UnknownValueError);
  while (values.evaluatePart("b"));
  assert.equal(values.find("b"), 40n);
  const { left } = budget;
  assert.ok(left < 1000);
  assert.equal(values.find("a"), 4n);
  assert.equal(values.find("b"), 40n);
  assert.equal(budget.left, left);
  assert.deepEqual([...values.keys()], ["a", "b", "bad"]);
  assert.equal(values.size, 3);
  assert.equal(values.find("nope"), undefined);
  assert.equal(values.find(1n), undefined);
});

test("a variable that fails says so where it is used", () => {
  const scope = { variables: new Map([["bad", compiled("1").type]]) };
  const budget = new ExpressionBudget(1000);
  const bad = { name: "bad", expression: compiled("1 / 0") };
  const values = new VariableValues([bad], {}, budget);
  assert.deepEqual(finish(evaluateAdmission(compiled("variables.bad == 1", scope), { variables: values }, budget)), {
    error:
      "expression 'variables.bad == 1' resulted in error: composited variable \"bad\" fails to evaluate: division by zero",
    isFinal: false,
  });
});

/** Variables of which one takes several parts to evaluate. */
const costly = "lists.range(300).all(a, lists.range(300).all(b, a + b >= 0)) ? 7 : 0";
const intVariables: AdmissionScope = { variables: new Map(["v", "w"].map((name) => [name, compiled("1").type])) };

function costlyValues(budget: ExpressionBudget, v = compiled(costly)): VariableValues {
  const variables = [
    { name: "v", expression: v },
    { name: "w", expression: compiled("2") },
  ];
  return new VariableValues(variables, {}, budget);
}

test("an expression that reads a costly variable is evaluated in parts, and so is the variable", () => {
  const reading = [
    "variables.v + 1 == 8",
    "variables.?v.orValue(0) == 7",
    "has(variables.v)",
    "dyn(variables)['v'] == 7",
    "[1, 2].all(i, [3, 4].all(j, variables.v > i + j))",
    "dyn(variables).all(k, v, v > 1)",
    "{'v': 7, 'w': 2} == dyn(variables)",
    "!({'v': 7, 'w': 3} == dyn(variables))",
    "{'x': {'v': 7, 'w': 2}} == {'x': dyn(variables)}",
    "'v' in dyn(variables) && !('x' in dyn(variables))",
    "'%s'.format([dyn([variables])]) == '[{\"v\":7, \"w\":2}]'",
    "{'a': 1, 'b': 2}.transformMapEntry(k, _, k == 'a' ? {k: 0} : {k: dyn(variables).v}) == {'a': 0, 'b': 7}",
  ];
  for (const text of reading) {
    const budget = new ExpressionBudget(10_000_000);
    const work = evaluateAdmission(compiled(text, intVariables), { variables: costlyValues(budget) }, budget);
    let parts = 1;
    let part = work.next();
    for (; !part.done; part = work.next()) parts += 1;
    assert.deepEqual(part.value, { value: true }, text);
    assert.ok(parts > 3, `${text}: ${parts} parts`);
    assert.ok(budget.left > 9_000_000 && budget.left < 9_500_000, `${text}: ${budget.left} left`);
  }
});

test("variables are equal to themselves, and only evaluated where their values matter", () => {
  for (const text of ["variables == variables", "dyn(variables).size() == 2", "type(dyn(variables)) == map"]) {
    const budget = new ExpressionBudget(10_000_000);
    const outcome = evaluateAdmission(compiled(text, intVariables), { variables: costlyValues(budget) }, budget);
    assert.deepEqual(finish(outcome), { value: true }, text);
    assert.ok(budget.left > 9_999_900, `${text}: ${budget.left} left`);
  }
});

test("an error about all variables shows none of their values", () => {
  const budget = new ExpressionBudget(10_000_000);
  const text = "[?dyn(variables)].size() > 0";
  const outcome = evaluateAdmission(compiled(text, intVariables), { variables: costlyValues(budget) }, budget);
  const why = "cannot initialize optional list element from non-optional value kubernetes.variables";
  assert.deepEqual(finish(outcome), { error: `expression '${text}' resulted in error: ${why}`, isFinal: false });
  assert.ok(budget.left > 9_999_900);
});

test("no variable is evaluated once the budget is used up", () => {
  const names = Array.from({ length: 40 }, (_, at) => `v${at}`);
  const scope = { variables: new Map(names.map((name) => [name, compiled("1").type])) };
  const budget = new ExpressionBudget(2_000_000);
  let evaluated = 0;
  const variables = new VariableValues(
    names.map((name) => ({ name, expression: counted(compiled(costly), () => evaluated++) })),
    {},
    budget,
  );
  const outcome = finish(
    evaluateAdmission(compiled("'%s'.format([dyn(variables)]) == ''", scope), { variables }, budget),
  );
  assert.deepEqual(outcome, { error: outOfBudget, isFinal: true });
  assert.ok(evaluated < 6, `${evaluated} were evaluated`);
});

/** The same expression, with a notice when its evaluation begins. */
function counted(expression: AdmissionExpression, begun: () => void): AdmissionExpression {
  const { program } = expression;
  const evaluating: typeof program.evaluating = (...given) => {
    begun();
    return program.evaluating(...given);
  };
  return { ...expression, program: { ...program, evaluating } };
}

test("a variable that reads itself fails", () => {
  const budget = new ExpressionBudget(10_000_000);
  const variables = costlyValues(budget, compiled("dyn(variables).v == 1 ? 1 : 2", intVariables));
  const expression = compiled("variables.v == 1", intVariables);
  assert.deepEqual(finish(evaluateAdmission(expression, { variables }, budget)), {
    error:
      'expression \'variables.v == 1\' resulted in error: composited variable "v" fails to evaluate: composited variable "v" fails to evaluate: it reads itself',
    isFinal: false,
  });
});
