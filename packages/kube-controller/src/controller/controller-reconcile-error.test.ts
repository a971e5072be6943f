// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { conflict, during, isConflict, textOf, wrapError } from "@purlin/kube-objects/errors";
import { attempt, isReconcileError, ReconcileError } from "./controller.ts";

const step = { reason: "SelectThing", text: "cannot select thing" };

test("a step that succeeds gives what it gave, whether at once or later", async () => {
  assert.equal(await attempt(step, () => 1), 1);
  assert.equal(await attempt(step, async () => "later"), "later");
});

test("a step that fails says what it was about, keeps its cause and the reason for its event", async () => {
  const boom = new Error("boom");
  const failed = await attempt(step, () => Promise.reject(boom)).catch((error: unknown) => error);
  assert.ok(isReconcileError(failed));
  assert.deepEqual([failed.reason, failed.message, failed.cause], ["SelectThing", "cannot select thing: boom", boom]);
  assert.equal(failed.name, "ReconcileError");
});

test("a step inside a step has both prefixes, from the outside in", async () => {
  const inner = { reason: "Inner", text: "cannot read" };
  const failed = attempt(step, () =>
    attempt(inner, () => during("cannot open", () => Promise.reject(new Error("no")))),
  );
  await assert.rejects(failed, { reason: "SelectThing", message: "cannot select thing: cannot read: cannot open: no" });
});

test("what a failure was caused by can still be asked", async () => {
  const lost = conflict({ group: "", resource: "configmaps" }, "a", "the object has been modified");
  const failed = await attempt(step, () => during("cannot update", () => Promise.reject(lost))).catch(
    (error: unknown) => error,
  );
  assert.ok(isConflict(failed));
});

test("one whose cause says everything says no more", () => {
  const failure = ReconcileError.from("Pipeline", new Error("step a lacks b"));
  assert.deepEqual([failure.reason, failure.message], ["Pipeline", "step a lacks b"]);
});

test("only a failure is one, also of another copy of this package", () => {
  const rows: readonly unknown[] = [undefined, null, "text", new Error("x"), { reason: "r", message: "m" }];
  for (const row of rows) assert.equal(isReconcileError(row), false);
  const mark = Object.getOwnPropertySymbols(ReconcileError.from("r", "m"))[0];
  assert.equal(
    mark && Symbol.keyFor(mark),
    "purlin.dev/kube-controller/ReconcileError",
    "a name that all copies share",
  );
});

test("texts of whatever was thrown", () => {
  assert.deepEqual([new Error("e"), "s", 3, undefined].map(textOf), ["e", "s", "3", "undefined"]);
  const wrapped = wrapError("outer", "inner");
  assert.deepEqual([wrapped.message, wrapped.cause], ["outer: inner", "inner"]);
});
