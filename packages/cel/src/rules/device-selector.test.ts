// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceSelectorProblem } from "./device-selector.ts";

const accepted: Readonly<Record<string, string>> = {
  "the driver": "device.driver == 'gpu.example.com'",
  "an attribute of a domain": "device.attributes['gpu.example.com'].model == 'a100'",
  "an attribute alone has a type that only the device knows": "device.attributes['gpu.example.com'].shared",
  "a capacity is a quantity": "device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('40Gi'))",
  "several allocations": "device.allowMultipleAllocations == true",
  "a binding": "cel.bind(a, device.attributes['x'], a.b == 1 && a.c == 'd')",
  "an optional attribute": "device.attributes[?'x'].?y.orValue(false)",
  "a version": "semver(device.attributes['x'].version).isGreaterThan(semver('1.0.0'))",
  "all domains": "device.attributes.all(d, d.startsWith('x'))",
};

for (const [why, text] of Object.entries(accepted)) {
  test(`a selector: ${why}`, () => assert.equal(deviceSelectorProblem(text), undefined));
}

test("a selector that does not compile", () => {
  assert.deepEqual(deviceSelectorProblem("device.nope"), {
    kind: "invalid",
    detail: "compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^",
  });
  assert.deepEqual(deviceSelectorProblem("self.a"), {
    kind: "invalid",
    detail: "compilation failed: ERROR: <input>:1:1: undeclared reference to 'self' (in container '')\n | self.a\n | ^",
  });
});

test("a selector that cannot be planned is an internal error", () => {
  assert.deepEqual(deviceSelectorProblem("int('a') == 1"), {
    kind: "internal",
    detail: "program instantiation failed: type conversion error from 'string' to 'int'",
  });
});

test("a selector has to be a bool", () => {
  const wrong = (type: string): unknown => ({
    kind: "invalid",
    detail: `must evaluate to bool or the unknown type, not ${type}`,
  });
  assert.deepEqual(deviceSelectorProblem("device.driver"), wrong("string"));
  assert.deepEqual(deviceSelectorProblem("device.attributes['x']"), wrong("map(string, any)"));
  assert.deepEqual(deviceSelectorProblem("1"), wrong("int"));
});

test("a selector that can cost more than a million is refused", () => {
  const loops = (depth: number): string =>
    depth === 0 ? "true" : `device.attributes.all(d${depth}, ${loops(depth - 1)})`;
  assert.equal(deviceSelectorProblem(loops(3)), undefined);
  assert.deepEqual(deviceSelectorProblem(loops(5)), { kind: "forbidden", detail: "too complex, exceeds cost limit" });
});
