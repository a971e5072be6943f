// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { notFound } from "@purlin/kube-objects/errors";
import { TestIo } from "../test/test-io.ts";
import {
  asInput,
  errorEntry,
  isAnswer,
  isJsonWanted,
  isUserError,
  jsonErrors,
  textOf,
  UserError,
} from "./user-error.ts";

test("the code of an error follows its exit code, unless it is given", () => {
  const codes = [
    {},
    { exitCode: 2 },
    { exitCode: 130, code: "INTERRUPTED" as const },
    { exitCode: 2, code: "USAGE" as const },
  ];
  assert.deepEqual(
    codes.map((options) => new UserError("x", options)).map(({ exitCode, code }) => [exitCode, code]),
    [
      [1, "FAILED"],
      [2, "INVALID_INPUT"],
      [130, "INTERRUPTED"],
      [2, "USAGE"],
    ],
  );
  assert.equal(new UserError("x").code, "FAILED");
});

test("an error of another copy of the module is known by its brand", () => {
  const brand = Symbol.for("purlin.dev/cli/user-error");
  assert.ok(isUserError(new UserError("x")));
  assert.ok(isUserError({ [brand]: true }));
  for (const other of [new Error("x"), undefined, null, "x", 5]) assert.ok(!isUserError(other), String(other));
});

test("an error of input that has no exit code of its own ends with 2, and keeps its cause", async () => {
  const error = new UserError("a.yaml: no such file");
  await assert.rejects(
    asInput(() => Promise.reject(error)),
    { message: "a.yaml: no such file", exitCode: 2, code: "INVALID_INPUT", cause: error },
  );
  for (const other of [new UserError("x", { exitCode: 3 }), new TypeError("bug")]) {
    await assert.rejects(
      asInput(() => Promise.reject(other)),
      (found) => found === other,
    );
  }
  assert.equal(await asInput(async () => 7), 7);
});

test("the text of what was thrown", () => {
  assert.deepEqual([textOf(new Error("a")), textOf("b"), textOf(undefined)], ["a", "b", "undefined"]);
});

test("the entry of an error has the code, and the reason of the API server", () => {
  const refused = notFound({ group: "", resource: "pods" }, "web");
  assert.ok(isAnswer(refused));
  assert.deepEqual(errorEntry(refused), { code: "API", reason: "NotFound", message: 'pods "web" not found' });
  assert.deepEqual(errorEntry(new UserError("u", { code: "UNREACHABLE" })), { code: "UNREACHABLE", message: "u" });
  assert.deepEqual(errorEntry(new TypeError("bug")), { code: "INTERNAL", message: "bug" });
  assert.deepEqual(errorEntry("text"), { code: "INTERNAL", message: "text" });
});

test("JSON is wanted with any spelling of the option, and not with a file of that name", () => {
  const wanted = [
    "-ojson",
    "--output=json",
    "-o json",
    "get pods --output json",
    "get -o json pods",
    "test --reporter=json",
  ];
  for (const line of wanted) assert.ok(isJsonWanted(line.split(" ")), line);
  for (const line of ["get json", "-o yaml", "json -o", "--output=jsonpath=x", "-f json"]) {
    assert.ok(!isJsonWanted(line.split(" ")), line);
  }
});

test("an error is a document on stdout, unless the command has printed one", () => {
  const entry = { code: "FAILED", message: "x" } as const;
  const silent = new TestIo();
  const first = jsonErrors(silent);
  first.io.stdout.write("");
  first.writeError(entry);
  assert.deepEqual(JSON.parse(silent.stdout.text), { errors: [entry] });
  const printed = new TestIo({ columns: 77 });
  const second = jsonErrors(printed);
  second.io.stdout.write("{}\n");
  second.writeError(entry);
  assert.deepEqual([printed.stdout.text, second.io.stdout.columns], ["{}\n", 77]);
});
