// SPDX-License-Identifier: Apache-2.0
// Suites of xprin as they are read: inputs, assertions, and the places of mistakes.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import type { TestCase } from "./test-file.ts";
import { isXprinFile, readXprinFile } from "./xprin-file.ts";

async function read(suite: string): Promise<TestCase[]> {
  using folder = tempFolder({ "suite_xprin.yaml": suite });
  return await readXprinFile("suite_xprin.yaml", new TestIo({ cwd: folder.path }), { hooks: [], allowHooks: false });
}

async function only(suite: string): Promise<TestCase> {
  const cases = await read(suite);
  assert.equal(cases.length, 1);
  return cases[0] ?? assert.fail();
}

test("a suite is known by the end of its name", () => {
  const names: Readonly<Record<string, boolean>> = {
    "xprin.yaml": true,
    "xprin.yml": true,
    "app_xprin.yaml": true,
    "tests/xprin.yaml": true,
    "tests\\xprin.yaml": true,
    "app-xprin.yaml": false,
    "notxprin.yaml": false,
    "xprin.yaml.bak": false,
    "xprin.json": false,
  };
  for (const [name, expected] of Object.entries(names)) assert.equal(isXprinFile(name), expected, name);
});

describe("a test", () => {
  test("is a case of its suite with one reconcile", async () => {
    const one = await only("tests:\n- name: first\n  id: a\n  inputs: {xr: xr.yaml}\n");
    const { kind, file, suite, name, tags, isOnly, timeoutMs, reconciles, at, skip } = one;
    assert.deepEqual(
      { kind, file, suite, name, tags, isOnly, timeoutMs, reconciles, at, skip },
      {
        ...{ kind: "CompositionTest", file: "suite_xprin.yaml", suite: "suite_xprin.yaml", name: "first", tags: [] },
        ...{ isOnly: false, timeoutMs: undefined, at: "suite_xprin.yaml:2:3", skip: undefined },
        reconciles: [{ name: "", change: {}, until: 1, expect: undefined }],
      },
    );
    assert.deepEqual([one.xprin?.id, one.xprin?.isValidated, one.xprin?.hooks], ["a", false, undefined]);
    assert.equal(one.locate?.([]), "suite_xprin.yaml:2:3");
  });

  test("has its inputs by the names of ours", async () => {
    const { inputs, xprin } = await only(`tests:
- name: a
  inputs:
    xr: xr.yaml
    claim: claim.yaml
    composition: composition.yaml
    functions: functions
    crds: [crds, more.yaml]
    observed-resources: observed.yaml
    extra-resources: extra.yaml
    function-credentials: credentials.yaml
    context-values: {text: plain, number: "1", object: '{"a": [true]}', broken: "{", plain: 5}
    context-files: {key: file.json}
  patches: {xrd: xrd.yaml}
`);
    assert.deepEqual(inputs, {
      ...{ xr: "xr.yaml", claim: "claim.yaml", composition: "composition.yaml", functions: "functions" },
      ...{ xrd: "xrd.yaml", schemas: ["crds", "more.yaml"], observed: "observed.yaml", required: "extra.yaml" },
      credentials: "credentials.yaml",
      context: { text: "plain", number: 1, object: { a: [true] }, broken: "{", plain: 5 },
    });
    assert.deepEqual([xprin?.contextFiles, xprin?.isValidated], [{ key: "file.json" }, true]);
  });

  test("has the common members, and its own in their place", async () => {
    const cases = await read(`common:
  inputs: {xr: common.yaml, composition: composition.yaml}
  patches: {xrd: common-xrd.yaml}
  assertions: [{name: common, type: Count, value: 1}]
tests:
- name: a
- name: b
  inputs: {xr: own.yaml}
  patches: {xrd: own-xrd.yaml}
  assertions: [{name: own, type: Count, value: 2}]
`);
    assert.deepEqual(
      cases.map(({ inputs }) => [inputs["xr"], inputs["composition"], inputs["xrd"]]),
      [
        ["common.yaml", "composition.yaml", "common-xrd.yaml"],
        ["own.yaml", "composition.yaml", "own-xrd.yaml"],
      ],
    );
    assert.deepEqual(
      cases.map(({ expect }) => expect),
      [{ xprin: [{ name: "common", type: "Count", value: 1 }] }, { xprin: [{ name: "own", type: "Count", value: 2 }] }],
    );
  });

  test("assertions of other engines are golden files; an engine without its own list has the common one", async () => {
    const { expect } = await only(`common:
  assertions:
    xprin: [{type: Count, value: 1}]
    diff: [{name: d, expected: common.yaml}]
tests:
- name: a
  assertions:
    dyff: [{name: own, expected: own.yaml}]
    none:
`);
    assert.deepEqual(expect, {
      xprin: [
        { type: "Count", value: 1 },
        { name: "d", type: "Golden", expected: "common.yaml" },
        { name: "own", type: "Golden", expected: "own.yaml" },
      ],
    });
  });

  test("asks for a connection secret with a name and a namespace", async () => {
    const patches = async (text: string) => (await only(`tests:\n- name: a\n  patches: ${text}\n`)).patches;
    const secret = (name: string, namespace: string) => [{ spec: { writeConnectionSecretToRef: { name, namespace } } }];
    assert.deepEqual(await patches("{}"), []);
    assert.deepEqual(await patches("{connection-secret: false}"), []);
    assert.deepEqual(
      await patches("{connection-secret: true}"),
      secret("00000000-0000-4000-8000-000000000000", "default"),
    );
    assert.deepEqual(
      await patches("{connection-secret: true, connection-secret-name: s, connection-secret-namespace: team}"),
      secret("s", "team"),
    );
    for (const member of ["connection-secret-name", "connection-secret-namespace"]) {
      await assert.rejects(patches(`{${member}: x}`), {
        exitCode: 2,
        message: "suite_xprin.yaml:3:3: patches: connection-secret must be true where its name or namespace is set",
      });
    }
  });
});

describe("a mistake", () => {
  const mistakes: Readonly<Record<string, readonly [suite: string, message: string]>> = {
    "an empty file": ["", "suite_xprin.yaml: the file is empty"],
    "a list": ["- a\n", "suite_xprin.yaml:1:1: document: expected an object"],
    "no tests": ["common: {}\n", "suite_xprin.yaml:1:1: tests: expected a list of tests"],
    "an empty list of tests": ["tests: []\n", "suite_xprin.yaml:1:1: tests: expected a list of tests"],
    "a test that is a text": ["tests:\n- a\n", "suite_xprin.yaml:2:3: 0: expected an object"],
    "a test without a name": ["tests:\n- id: a\n", "suite_xprin.yaml:2:3: name: required field is missing"],
    "an empty name": ["tests:\n- name: ''\n", "suite_xprin.yaml:2:3: name: required field is missing"],
    "common members that are a list": [
      "common: []\ntests: [{name: a}]\n",
      "suite_xprin.yaml:1:1: common: expected an object",
    ],
    "inputs that are a text": [
      "tests:\n- name: a\n  inputs: xr.yaml\n",
      "suite_xprin.yaml:3:3: inputs: expected an object",
    ],
    "common inputs that are a text": [
      "common:\n  inputs: x\ntests: [{name: a}]\n",
      "suite_xprin.yaml:2:3: inputs: expected an object",
    ],
    "assertions that are a text": [
      "tests:\n- name: a\n  assertions: x\n",
      "suite_xprin.yaml:3:3: assertions: expected an object",
    ],
    "a hook without a program": [
      "tests:\n- name: a\n  hooks:\n    pre-test:\n    - name: x\n",
      "suite_xprin.yaml:5:7: run: required field is missing: add a program",
    ],
    "an id twice": [
      "tests:\n- {name: a, id: x}\n- name: b\n  id: x\n",
      'suite_xprin.yaml:4:3: id: the file has another test "x"',
    ],
    "an output of a test that is missing": [
      "tests:\n- name: a\n  inputs: {xr: '{{ .Tests.gone.Outputs.XR }}'}\n",
      'suite_xprin.yaml:3:3: inputs: no test above has the id "gone"',
    ],
    "an output of a test below": [
      "tests:\n- name: a\n  inputs: {xr: '{{ .Tests.b.Outputs.XR }}'}\n- {name: b, id: b}\n",
      'suite_xprin.yaml:3:3: inputs: no test above has the id "b"',
    ],
  };
  for (const [name, [suite, message]] of Object.entries(mistakes)) {
    test(`${name} is named with its place`, async () => {
      await assert.rejects(read(suite), { name: "UserError", exitCode: 2, message });
    });
  }
});
