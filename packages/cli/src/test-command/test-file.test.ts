// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import { readTestFile, type TestCase } from "./test-file.ts";

async function read(text: string, files: Readonly<Record<string, string>> = {}): Promise<TestCase[]> {
  using folder = tempFolder({ "a.test.yaml": text, ...files });
  return await readTestFile("a.test.yaml", new TestIo({ cwd: folder.path }));
}

const head = "apiVersion: test.purlin.dev/v1alpha1\nkind: CompositionTest\n";
/** A file whose cases begin in line 4. */
const file = (...cases: readonly string[]): string => `${head}spec:\n${list(cases)}`;
const list = (cases: readonly string[]): string => `  cases:\n${cases.map((one) => `  - ${one}\n`).join("")}`;
const one = async (text: string): Promise<TestCase> => {
  const [first, ...others] = await read(file(text));
  assert.deepEqual(others, []);
  assert.ok(first);
  return first;
};

test("a case with only a name reconciles once and expects nothing", async () => {
  const { locate, ...members } = await one("name: a");
  assert.deepEqual(members, {
    ...{ kind: "CompositionTest", file: "a.test.yaml", suite: "a.test.yaml", name: "a", tags: [], skip: undefined },
    ...{ isOnly: false, timeoutMs: undefined, inputs: {}, patches: [], expect: undefined, at: "a.test.yaml:5:5" },
    reconciles: [{ name: "", change: {}, until: 1, expect: undefined }],
  });
  assert.equal(locate(["ready"]), "a.test.yaml:5:5", "the closest place that exists");
});

test("the members of a case are read; its inputs win over those of the file", async () => {
  const [read1] = await read(`${head}metadata: {name: apps}
spec:
  inputs: {xr: xr.yaml, xrd: xrd.yaml}
  cases:
  - name: a
    tags: [fast, 1]
    only: true
    timeout: 1m5s
    inputs: {xr: other.yaml}
    patch: {spec: {size: l}}
    expect: {ready: true}
`);
  assert.ok(read1);
  const { suite, tags, isOnly, timeoutMs, inputs, patches, expect } = read1;
  assert.deepEqual(
    { suite, tags, isOnly, timeoutMs, inputs, patches, expect },
    {
      ...{ suite: "apps", tags: ["fast", "1"], isOnly: true, timeoutMs: 65_000 },
      ...{ inputs: { xr: "other.yaml", xrd: "xrd.yaml" }, patches: [{ spec: { size: "l" } }], expect: { ready: true } },
    },
  );
});

test("reconciles have the numbers as names, one round each, and their own expectations", async () => {
  const { reconciles } = await one(
    "{name: a, reconciles: [{}, {name: second, until: settled, change: {ready: all}}, {until: 3, expect: {ready: true}}]}",
  );
  assert.deepEqual(reconciles, [
    { name: "1", change: {}, until: 1, expect: undefined },
    { name: "second", change: { ready: "all" }, until: "settled", expect: undefined },
    { name: "3", change: {}, until: 3, expect: { ready: true } },
  ]);
});

test("each row of a table is a case: its patch comes after that of the case, its expectations win", async () => {
  const cases = await read(
    file(`name: size
    patch: {spec: {a: 1}}
    expect: {ready: true, writes: 1}
    only: true
    each:
    - {name: s}
    - {name: l, patch: {spec: {a: 2}}, expect: {writes: 2}, skip: not yet}`),
  );
  assert.deepEqual(
    cases.map(({ name, patches, expect, skip, isOnly, at }) => ({ name, patches, expect, skip, isOnly, at })),
    [
      {
        ...{ name: "size/s", patches: [{ spec: { a: 1 } }], expect: { ready: true, writes: 1 }, skip: undefined },
        ...{ isOnly: true, at: "a.test.yaml:10:7" },
      },
      {
        ...{ name: "size/l", patches: [{ spec: { a: 1 } }, { spec: { a: 2 } }], expect: { ready: true, writes: 2 } },
        ...{ skip: "not yet", isOnly: true, at: "a.test.yaml:11:7" },
      },
    ],
  );
});

test("an expectation is found where it is written: in the row, the case or the reconcile", async () => {
  const [row] = await read(
    file(`name: a
    expect:
      ready: true
      xr: {spec: {size: s}}
    reconciles:
    - expect:
        writes: 1
    each:
    - name: r
      expect:
        ready: false`),
  );
  assert.ok(row);
  assert.equal(row.locate(["ready"]), "a.test.yaml:15:9");
  assert.equal(row.locate(["xr", "spec", "size"]), "a.test.yaml:8:19");
  assert.equal(row.locate(["writes"], 0), "a.test.yaml:11:9");
  assert.equal(row.locate(["ready"], 0), "a.test.yaml:10:7", "the reconcile does not have it");
});

test("a row without expectations has those of the case, and only by itself", async () => {
  const cases = await read(
    file("{name: a, expect: {ready: true}, skip: all, each: [{name: x, only: true}, {name: z, skip: mine}]}"),
  );
  assert.deepEqual(
    cases.map(({ expect, isOnly, skip }) => [expect, isOnly, skip]),
    [
      [{ ready: true }, true, "all"],
      [{ ready: true }, false, "mine"],
    ],
  );
});

test("a file may hold several documents, also of Operations", async () => {
  const operations = file("{name: b, inputs: {operation: o.yaml}, expect: {succeeded: true}}").replace(
    "Composition",
    "Operation",
  );
  const cases = await read(`${file("name: a")}---\n${operations}`);
  assert.deepEqual(
    cases.map(({ kind, name, at }) => [kind, name, at]),
    [
      ["CompositionTest", "a", "a.test.yaml:5:5"],
      ["OperationTest", "b", "a.test.yaml:11:5"],
    ],
  );
});

test("the names of all cases of a file differ, also over documents and rows", async () => {
  await assert.rejects(read(file("name: a", "name: a")), {
    message: 'a.test.yaml:6:5: name: the file has another case "a": make it unique',
    exitCode: 2,
  });
  await assert.rejects(read(file("{name: a, each: [{name: b}]}", "name: a/b")), {
    message: 'a.test.yaml:6:5: name: the file has another case "a/b": make it unique',
  });
});

const wrong: readonly (readonly [name: string, text: string, message: string])[] = [
  [
    "another kind",
    "apiVersion: v1\nkind: Pod\n",
    "1:1: expected apiVersion test.purlin.dev/v1alpha1 and kind CompositionTest or OperationTest",
  ],
  ["nothing", "# later\n", " the file is empty: expected a document of kind CompositionTest or OperationTest"],
  ["a list", "- 1\n", "1:1: expected apiVersion test.purlin.dev/v1alpha1 and kind CompositionTest or OperationTest"],
  ["no spec", head, "1:1: spec: expected an object"],
  ["no cases", `${head}spec: {}\n`, "3:1: cases: expected a list"],
  ["an empty list of cases", `${head}spec: {cases: []}\n`, "3:8: the file has no cases"],
  ["a case that is a text", file("text"), "5:5: 0: expected an object"],
  ["no name", file("{tags: []}"), "5:5: name: required field is missing: add a text"],
  ["an empty name", file('name: ""'), "5:5: name: required field is missing: add a text"],
  ["a name that is a number", file("name: 1"), "5:5: name: required field is missing: add a text"],
  ["an unknown key with a near one", file("{name: a, expects: {}}"), "5:15: unknown key expects: did you mean expect?"],
  [
    "an unknown key far from all",
    `${head}spec: {cases: [], x-other-things: 1}\n`,
    "3:19: unknown key x-other-things: expected one of inputs, cases",
  ],
  ["an unknown expectation", file("{name: a, expect: {redy: true}}"), "5:24: unknown key redy: did you mean ready?"],
  [
    "an unknown expectation in not",
    file("{name: a, expect: {not: {redy: true}}}"),
    "5:30: unknown key redy: did you mean ready?",
  ],
  [
    "an unknown expectation of a nested resource",
    file("{name: a, expect: {nested: {db: {redy: true}}}}"),
    "5:38: unknown key redy: did you mean ready?",
  ],
  [
    "an unknown expectation of a row",
    file("{name: a, each: [{name: b, expect: {redy: 1}}]}"),
    "5:41: unknown key redy: did you mean ready?",
  ],
  ["an unknown input", file("{name: a, inputs: {xrs: x}}"), "5:24: unknown key xrs: did you mean xr?"],
  [
    "an unknown change",
    file("{name: a, reconciles: [{change: {xrs: {}}}]}"),
    "5:38: unknown key xrs: did you mean xr?",
  ],
  ["skip without a reason", file("{name: a, skip: true}"), "5:15: skip: expected the reason as text"],
  ["skip with an empty reason", file('{name: a, skip: ""}'), "5:15: skip: expected the reason as text"],
  [
    "a timeout that is not a duration",
    file("{name: a, timeout: soon}"),
    '5:15: timeout: expected a duration, such as 5s, not "soon"',
  ],
  [
    "no rounds",
    file("{name: a, reconciles: [{until: 0}]}"),
    '5:29: until: expected "settled" or a number of reconciles, not 0',
  ],
  [
    "half a round",
    file("{name: a, reconciles: [{until: 1.5}]}"),
    '5:29: until: expected "settled" or a number of reconciles, not 1.5',
  ],
  [
    "another word",
    file("{name: a, reconciles: [{until: done}]}"),
    '5:29: until: expected "settled" or a number of reconciles, not "done"',
  ],
  ["tags that are not a list", file("{name: a, tags: fast}"), "5:15: tags: expected a list"],
  ["reconciles that are not a list", file("{name: a, reconciles: {}}"), "5:15: reconciles: expected a list"],
  [
    "an expectation of Operations in a composition",
    file("{name: a, expect: {succeeded: true}}"),
    "5:24: unknown key succeeded: expected one of resources",
  ],
];
for (const [name, text, message] of wrong) {
  test(`refused with its place: ${name}`, async () => {
    await assert.rejects(read(text), (error: Error & { readonly exitCode?: number }) => {
      const found = error.message.replace(/(expected one of resources).*/, "$1");
      assert.deepEqual([found, error.exitCode], [`a.test.yaml:${message}`, 2]);
      return true;
    });
  });
}
