// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestIo } from "../../test/test-io.ts";
import { actionReport, jsonText, printData, readOutput } from "./data-output.ts";

const input = (output?: string) => ({ args: [], options: { output } });

test("the first format is the default, and another one is refused with all of them", () => {
  const formats = ["text", "json", "yaml"];
  assert.equal(readOutput(input(), formats), "text");
  assert.equal(readOutput(input("yaml"), formats), "yaml");
  assert.throws(() => readOutput(input("xml"), formats), {
    message: "--output xml: expected text, json or yaml",
    exitCode: 2,
  });
  assert.throws(() => readOutput(input(""), ["text", "json"]), { message: "--output : expected text or json" });
});

test("a document is JSON or YAML; integers of any size are digits, and what a terminal obeys is an escape", () => {
  const data = { name: "a\u001b[2J", count: 9007199254740993n };
  assert.equal(jsonText(data), '{\n  "name": "a\\u001b[2J",\n  "count": 9007199254740993\n}\n');
  const printed = (output: string): string => {
    const io = new TestIo();
    printData({ a: [1, "b"] }, output, io);
    return io.stdout.text;
  };
  assert.equal(printed("json"), '{\n  "a": [\n    1,\n    "b"\n  ]\n}\n');
  assert.equal(printed("yaml"), "a:\n- 1\n- b\n");
});

test("a report of actions has an item for each object, and errors if there are any", () => {
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "a" } };
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" } };
  const items = [
    { apiVersion: "v1", kind: "Pod", namespace: "a", name: "web", action: "created" },
    { apiVersion: "v1", kind: "Node", name: "n", action: "unchanged" },
  ];
  const actions = [
    { object: pod, action: "created" },
    { object: node, action: "unchanged" },
  ] as const;
  assert.deepEqual(actionReport(actions), { apiVersion: "cli.purlin.dev/v1", kind: "ActionReport", items });
  const errors = [{ code: "FAILED", message: "x" }] as const;
  assert.deepEqual(actionReport([], errors), {
    apiVersion: "cli.purlin.dev/v1",
    kind: "ActionReport",
    items: [],
    errors,
  });
});
