// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { untyped } from "../schema/schema-map.ts";
import { compileAdmissionExpression, ExpressionBudget, evaluatePatch, VariableValues } from "./expression.ts";

const values = { object: untyped({ data: { a: "1" } }) };

function patch(text: string, type = "Object", hasPatchTypes = true): unknown {
  const compiled = compileAdmissionExpression(text, { hasPatchTypes }, [type]);
  if ("problem" in compiled) return compiled.problem;
  const outcome = finish(evaluatePatch(compiled, values, new ExpressionBudget(10_000_000)));
  return "error" in outcome ? outcome.error : outcome.value;
}

const list = "list(JSONPatch)";

test("an expression constructs an object", () => {
  assert.deepEqual(patch("Object{metadata: Object.metadata{labels: {'a': object.data.a}}}"), {
    metadata: { labels: { a: "1" } },
  });
  assert.deepEqual(patch("Object{?data: optional.none(), kind: 'x'}"), { kind: "x" });
  assert.deepEqual(patch("Object{spec: Object.spec{items: [Object.spec.items{name: 'a'}]}}"), {
    spec: { items: [{ name: "a" }] },
  });
});

test("an expression constructs the operations of a JSON patch", () => {
  const text = "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/~b'), value: {'x': [1, 2]}}]";
  assert.deepEqual(patch(text, list), [{ op: "add", path: "/data/a~1~0b", value: { x: [1, 2] } }]);
  assert.deepEqual(patch("object.data.a == '7' ? [JSONPatch{op: 'test'}] : []", list), []);
});

test("the name of a type is the path of its field", () => {
  const expected = 'expected "Object.spec", which matches field name path from root Object type';
  assert.equal(
    patch("Object{spec: Object.wrong{a: 1}}"),
    `type mismatch: unexpected type name "Object.wrong", ${expected}`,
  );
});

test("literals are not nested: objects have the names of their types", () => {
  const refused = "error applying patch: failed to convert patch object to typed object: ";
  assert.equal(
    patch("Object{metadata: {'labels': {'b': '2', 'a': '1'}}}"),
    `${refused}.metadata.labels: expected map, got &{map[a:1 b:2]}`,
  );
  assert.equal(patch("Object{spec: {'args': ['x', 'y']}}"), `${refused}.spec.args: expected list, got &{[x y]}`);
  assert.equal(patch("Object{items: [{'name': 'a'}]}"), `${refused}.items[0]: expected map, got &{map[name:a]}`);
  assert.deepEqual(patch("Object{spec: {'data': object.data}}"), { spec: { data: { a: "1" } } });
  assert.deepEqual(patch("[JSONPatch{op: 'add', path: '/a', value: {'x': {'y': [1]}}}]", list), [
    { op: "add", path: "/a", value: { x: { y: [1] } } },
  ]);
});

test("fields of an operation have types", () => {
  assert.match(
    String(patch("[JSONPatch{op: 7}]", list)),
    /expected type of field 'op' is 'string' but provided type is 'int'/,
  );
});

test("other expressions construct nothing", () => {
  assert.match(String(patch("Object{a: 1}", "Object", false)), /undeclared reference to 'Object'/);
  assert.match(String(patch("jsonpatch.escapeKey('a')", "string", false)), /undeclared reference to/);
});

test("all variables are not a value of a patch, whatever they cost", () => {
  const budget = new ExpressionBudget(10_000_000);
  const costly = compileAdmissionExpression("lists.range(150).map(a, lists.range(150).map(b, b).size())", {}, "any");
  if ("problem" in costly) assert.fail(costly.problem);
  const scope = { hasPatchTypes: true, variables: new Map([["v", costly.type]]) };
  const patchWith = (value: string): unknown => {
    const text = `[JSONPatch{op: "add", path: "/data/b", value: ${value}}]`;
    const compiled = compileAdmissionExpression(text, scope, ["list(JSONPatch)"]);
    if ("problem" in compiled) assert.fail(compiled.problem);
    const variables = new VariableValues([{ name: "v", expression: costly }], {}, budget);
    const outcome = finish(evaluatePatch(compiled, { variables }, budget));
    return "error" in outcome ? outcome.error : outcome.value;
  };
  const refused = "JSONPath valueExpression evaluated to a type that could not marshal to JSON";
  for (const value of ["variables", "[variables]", "{'a': variables}", "optional.of(variables)"]) {
    assert.equal(patchWith(value), `${refused}: disallowed conversion from "kubernetes.variables" to ""`, value);
  }
  const numbers = Array.from({ length: 150 }, () => 150);
  assert.deepEqual(patchWith("variables.v"), [{ op: "add", path: "/data/b", value: numbers }]);
});

test("large values of patches are converted, and looked at, in parts", () => {
  const texts = {
    list: '[JSONPatch{op: "add", path: "/a", value: lists.range(50000)}]',
    object: "Object{a: lists.range(50000)}",
    nested: "Object{a: [lists.range(50000)]}",
    map: "Object{a: lists.range(50000).transformMap(i, v, v)}",
  };
  for (const [name, text] of Object.entries(texts)) {
    const compiled = compileAdmissionExpression(text, { hasPatchTypes: true }, ["list(JSONPatch)", "Object"]);
    if ("problem" in compiled) assert.fail(compiled.problem);
    const work = evaluatePatch(compiled, values, new ExpressionBudget(10_000_000));
    let parts = 1;
    let part = work.next();
    for (; !part.done; part = work.next()) parts += 1;
    assert.ok(parts > 300, `${name}: ${parts} parts`);
    assert.equal("error" in part.value, name === "nested");
  }
});
