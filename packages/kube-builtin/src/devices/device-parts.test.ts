// SPDX-License-Identifier: Apache-2.0
// What claims, classes and slices of devices have in common. The texts are those of kube-apiserver.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type FieldError, fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  bindingConditions,
  configuration,
  fullNameErrors,
  labelAt,
  limited,
  poolName,
  qualifiedNameErrors,
  rawObjectErrors,
  repeated,
  requestErrors,
  requestNames,
  selectors,
  toleration,
  unique,
} from "./device-parts.ts";

const identifier =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const texts = (errors: Iterable<FieldError>): string[] => [...errors].map(fieldErrorText);
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);

describe("the name of an attribute", () => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    model: [],
    _a1: [],
    "1a": [`n: Invalid value: "1a": ${identifier}`],
    "a-b": [`n: Invalid value: "a-b": ${identifier}`],
    "": [`n: Invalid value: "": ${identifier}`],
    [`${"a".repeat(32)}`]: [],
    [`${"a".repeat(33)}`]: ["n: Too long: may not be more than 32 bytes"],
    "example.org/model": [],
    "Example.ORG/model": [],
    "/model": ['n: Invalid value: "": the domain must not be empty'],
    "example.org/": ['n: Invalid value: "": the name must not be empty'],
    "/": ['n: Invalid value: "": the domain must not be empty', 'n: Invalid value: "": the name must not be empty'],
    "a_b/c-d": [`n: Invalid value: "a_b": ${subdomain}`, `n: Invalid value: "c-d": ${identifier}`],
    [`${"d".repeat(63)}/a`]: [],
    [`${"d".repeat(64)}/a`]: ["n: Too long: may not be more than 63 bytes"],
  };
  for (const [name, want] of Object.entries(cases)) {
    test(JSON.stringify(name), () => assert.deepEqual(texts(qualifiedNameErrors(name, "n")), want));
  }

  test("has a domain where it must be fully qualified", () => {
    assert.deepEqual(texts(fullNameErrors("a.b/c", "n")), []);
    assert.deepEqual(texts(fullNameErrors("c", "n")), [
      'n: Invalid value: "c": a fully qualified name must be a domain and a name separated by a slash',
    ]);
  });
});

test("a device is named by a DNS label", () => {
  assert.deepEqual(texts(labelAt("device")({ device: "gpu-0" }, "p")), []);
  assert.deepEqual(texts(labelAt("device")({ device: "GPU" }, "p")), [`p.device: Invalid value: "GPU": ${label}`]);
});

test("a pool is named by DNS names between slashes", () => {
  const errors = (pool: string): string[] => texts(poolName("pool")({ pool }, "p"));
  assert.deepEqual(errors("a.b/c"), []);
  assert.deepEqual(errors(""), ["p.pool: Required value"]);
  assert.deepEqual(errors("a//B"), [
    `p.pool: Invalid value: "": ${subdomain}`,
    `p.pool: Invalid value: "B": ${subdomain}`,
  ]);
  const long = [63, 63, 63, 61].map((length) => "a".repeat(length)).join(".");
  assert.equal(long.length, 253);
  assert.deepEqual(errors(long), []);
  assert.deepEqual(errors(`${long}/a`), ["p.pool: Too long: may not be more than 253 bytes"]);
});

test("a list that is too long is not checked further", () => {
  const check = limited("list", 2, unique("list", "name"));
  const list = (...all: readonly string[]): JsonObject => ({ list: all.map((name) => ({ name })) });
  assert.deepEqual(texts(check(list("a", "b"), "p")), []);
  assert.deepEqual(texts(check(list("a", "a"), "p")), ['p.list[1]: Duplicate value: "a"']);
  assert.deepEqual(texts(check(list("a", "a", "a"), "p")), ["p.list: Too many: 3: must have at most 2 items"]);
});

test("each repetition of a text is an error", () => {
  assert.deepEqual(texts(repeated(["a", "b", "a", "a"], "p")), [
    'p[2]: Duplicate value: "a"',
    'p[3]: Duplicate value: "a"',
  ]);
});

describe("the name of a request", () => {
  const claim = {
    requests: [{ name: "one" }, { name: "two", firstAvailable: [{ name: "fast" }, { name: "slow" }] }],
  };
  const unknown =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const cases: Readonly<Record<string, readonly string[]>> = {
    one: [],
    two: [],
    "two/slow": [],
    "two/other": [`r: Invalid value: "two/other": ${unknown}`],
    "one/fast": [`r: Invalid value: "one/fast": ${unknown}`],
    three: [`r: Invalid value: "three": ${unknown}`],
    "two/fast/x": [`r: Invalid value: "two/fast/x": ${unknown}`],
    "A/B": [
      `r: Invalid value: "A": ${label}`,
      `r: Invalid value: "B": ${label}`,
      `r: Invalid value: "A/B": ${unknown}`,
    ],
  };
  for (const [name, want] of Object.entries(cases)) {
    test(name, () => assert.deepEqual(texts(requestErrors(claim, name, "r")), want));
  }

  test("is in a list once, and a list has up to 32 of them", () => {
    const errors = (requests: string[], of: JsonObject = claim): string[] => texts(requestNames(of)({ requests }, "p"));
    assert.deepEqual(errors(["one", "one"]), ['p.requests[1]: Duplicate value: "one"']);
    const many = { requests: names(33).map((name) => ({ name })) };
    assert.deepEqual(errors(names(32), many), []);
    assert.deepEqual(errors(names(33), many), ["p.requests: Too many: 33: must have at most 32 items"]);
  });
});

test("parameters are a JSON object of up to 10 KiB", () => {
  const errors = (value: JsonValue | undefined): string[] => texts(rawObjectErrors(value, "p"));
  const sized = (bytes: number): JsonObject => ({ a: "x".repeat(bytes - '{"a":""}'.length) });
  assert.deepEqual(errors(undefined), ["p: Required value"]);
  assert.deepEqual(errors(null), ["p: Required value"]);
  for (const value of [[], "x", 1, true])
    assert.deepEqual(errors(value), ['p: Invalid value: "<value omitted>": must be a valid JSON object']);
  assert.deepEqual(errors({}), []);
  assert.deepEqual(errors(sized(10_240)), []);
  assert.deepEqual(errors(sized(10_241)), ["p: Too long: may not be more than 10240 bytes"]);
});

test("a configuration has a driver and parameters for it", () => {
  assert.deepEqual(texts(configuration({ opaque: { driver: "d.example.org", parameters: {} } }, "c")), []);
  assert.deepEqual(texts(configuration({}, "c")), ["c.opaque: Required value"]);
  assert.deepEqual(texts(configuration({ opaque: {} }, "c")), [
    "c.opaque.driver: Required value",
    "c.opaque.parameters: Required value",
  ]);
});

test("selectors are up to 32 CEL expressions of up to 10 KiB", () => {
  const errors = (...expressions: readonly string[]): string[] =>
    texts(selectors({ selectors: expressions.map((expression) => ({ cel: { expression } })) }, "c"));
  const all = (count: number): string[] => names(count).map(() => "true");
  assert.deepEqual(errors(...all(32)), []);
  assert.deepEqual(errors(...all(33)), ["c.selectors: Too many: 33: must have at most 32 items"]);
  assert.deepEqual(errors(`true${" ".repeat(10_237)}`), [
    "c.selectors[0].cel.expression: Too long: may not be more than 10240 bytes",
  ]);
  assert.deepEqual(texts(selectors({ selectors: [{}] }, "c")), ["c.selectors[0].cel: Required value"]);
  assert.match(
    errors("1 +").join("\n"),
    /^c\.selectors\[0\]\.cel\.expression: Invalid value: "1 \+": compilation failed: /,
  );
});

describe("a toleration of a device", () => {
  const value =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  const cases: readonly (readonly [string, JsonObject, readonly string[]])[] = [
    ["of everything", { operator: "Exists" }, []],
    ["of a value", { key: "a/b", operator: "Equal", value: "v", effect: "NoSchedule" }, []],
    ["without an operator", { key: "a" }, ["t.operator: Required value"]],
    [
      "with another operator",
      { operator: "In" },
      ['t.operator: Unsupported value: "In": supported values: "Equal", "Exists"'],
    ],
    [
      "of existence with a value",
      { operator: "Exists", value: "v" },
      ['t.value: Invalid value: "v": must be empty for operator `Exists`'],
    ],
    ["of an invalid value", { operator: "Equal", value: "-" }, [`t.value: Invalid value: "-": ${value}`]],
    [
      "of another effect",
      { operator: "Exists", effect: "PreferNoSchedule" },
      ['t.effect: Unsupported value: "PreferNoSchedule": supported values: "NoExecute", "NoSchedule", "None"'],
    ],
  ];
  for (const [name, one, want] of cases) test(name, () => assert.deepEqual(texts(toleration(one, "t")), want));
});

describe("binding conditions", () => {
  const errors = (awaited: string[], failed: string[]): string[] =>
    texts(bindingConditions({ bindingConditions: awaited, bindingFailureConditions: failed }, "p"));

  test("are of both types, or of none", () => {
    assert.deepEqual(errors([], []), []);
    assert.deepEqual(errors(["a"], ["b"]), []);
    assert.deepEqual(errors(["a"], []), [
      "p.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions",
    ]);
    assert.deepEqual(errors([], ["b"]), [
      "p.bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions",
    ]);
  });

  test("are up to four of each type, each once in both lists", () => {
    assert.deepEqual(errors(names(4), ["b"]), []);
    assert.deepEqual(errors(names(5), ["b"]), ["p.bindingConditions: Too many: 5: must have at most 4 items"]);
    assert.deepEqual(errors(["a", "a"], ["b", "b", "a"]), [
      'p.bindingConditions[1]: Duplicate value: "a"',
      'p.bindingFailureConditions[1]: Duplicate value: "b"',
      'p.bindingFailureConditions[2]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions',
    ]);
  });
});
