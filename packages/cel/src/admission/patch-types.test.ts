// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { untyped } from "../schema/schema-map.ts";
import { compileAdmissionExpression, ExpressionBudget, evaluatePatch } from "./expression.ts";

const values = { object: untyped({ data: { a: "1" } }) };

function patch(text: string, type = "Object", hasPatchTypes = true): unknown {
  const compiled = compileAdmissionExpression(text, { hasPatchTypes }, [type]);
  if ("problem" in compiled) return compiled.problem;
  const outcome = evaluatePatch(compiled, values, new ExpressionBudget(10_000_000));
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
