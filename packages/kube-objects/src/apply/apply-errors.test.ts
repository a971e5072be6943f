// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ApplyConflictsError,
  conflictingFields,
  conflictStatus,
  isApplyConflicts,
  type ManagerConflict,
  printPaths,
  withoutConflictsOn,
} from "./apply-errors.ts";
import { emptySet, fieldSetOfPaths } from "./field-set.ts";
import { decodeFieldsV1 } from "./fields-v1.ts";

const conflict = (
  manager: string,
  paths: string[],
  more: Partial<ManagerConflict["manager"]> = {},
): ManagerConflict => ({
  key: manager,
  manager: { manager, operation: "Apply", apiVersion: "", subresource: "", ...more },
  set: fieldSetOfPaths(paths.map((path) => path.split("."))),
});

test("one conflict is one line", () => {
  const { status } = conflictStatus(new ApplyConflictsError([conflict('m"e', ["spec.replicas"])]));
  assert.deepEqual(
    [status.code, status.reason, status.message],
    [409, "Conflict", 'Apply failed with 1 conflict: conflict with "m\\"e": .spec.replicas'],
  );
  assert.deepEqual(status.details, {
    causes: [{ reason: "FieldManagerConflict", message: 'conflict with "m\\"e"', field: ".spec.replicas" }],
  });
});

test("several conflicts are grouped by manager, managers and fields in order", () => {
  const status = conflictStatus(
    new ApplyConflictsError([conflict("b", ["spec.x"]), conflict("a", ["spec.z", "metadata.y", "spec"])]),
  ).status;
  assert.equal(
    status.message,
    'Apply failed with 4 conflicts: conflicts with "a":\n- .spec\n- .metadata.y\n- .spec.z\nconflicts with "b":\n- .spec.x',
  );
  assert.deepEqual(
    status.details?.causes?.map(({ field }) => field),
    [".spec", ".metadata.y", ".spec.z", ".spec.x"],
  );
});

test("a manager that updates is shown with its version, one of a subresource with that", () => {
  const message = (more: Partial<ManagerConflict["manager"]>): string =>
    conflictStatus(new ApplyConflictsError([conflict("m", ["a"], more)])).message;
  const text = "Apply failed with 1 conflict: conflict with";
  assert.equal(message({ operation: "Update", apiVersion: "apps/v1" }), `${text} "m" using apps/v1: .a`);
  assert.equal(message({ subresource: "status" }), `${text} "m" with subresource "status": .a`);
  assert.equal(
    message({ subresource: "scale", operation: "Update", apiVersion: "v1" }),
    `${text} "m" with subresource "scale" using v1: .a`,
  );
});

test("of very many fields the first hundred are named, and all are counted", () => {
  const names = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `f${String(index).padStart(3, "0")}`);
  const status = (count: number): ReturnType<typeof conflictStatus> =>
    conflictStatus(new ApplyConflictsError([conflict("m", names(count).toReversed())]));
  const lines = status(102).message.split("\n");
  assert.equal(lines[0], 'Apply failed with 102 conflicts: conflicts with "m":');
  assert.deepEqual(
    lines.slice(1, 101),
    names(100).map((name) => `- .${name}`),
  );
  assert.deepEqual(lines.slice(101), ["- and 2 more"]);
  assert.equal(status(102).status.details?.causes?.length, 100);
  assert.ok(!status(100).message.includes("more"));
  assert.equal(status(100).message.split("\n").length, 101);
});

test("paths are printed members first, then what is below them", () => {
  const fields = { "f:b": { "f:x": {} }, "f:a": { ".": {}, "f:y": {} }, 'k:{"n":1}': { ".": {}, "f:z": {} } };
  assert.deepEqual(printPaths(decodeFieldsV1(fields)), [".a", "[n=1]", ".a.y", ".b.x", "[n=1].z"]);
  assert.deepEqual(printPaths(decodeFieldsV1(fields), 3), [".a", "[n=1]", ".a.y"]);
  assert.deepEqual(printPaths(emptySet), []);
});

test("conflicts on allowed fields do not count", () => {
  const conflicts = new ApplyConflictsError([conflict("a", ["x", "y"]), conflict("b", ["x"])]);
  assert.deepEqual(printPaths(conflictingFields(conflicts)), [".x", ".y"]);
  const rest = withoutConflictsOn(conflicts, fieldSetOfPaths([["x"]]));
  assert.deepEqual(
    rest.conflicts.map(({ key, set }) => [key, printPaths(set)]),
    [["a", [".y"]]],
  );
  assert.deepEqual(conflicts.conflicts.length, 2, "the conflicts themselves are not changed");
});

test("conflicts are recognized by their brand", () => {
  assert.ok(isApplyConflicts(new ApplyConflictsError([])));
  assert.ok(!isApplyConflicts(new Error("x")));
  assert.ok(!isApplyConflicts(null) && !isApplyConflicts("x"));
});
