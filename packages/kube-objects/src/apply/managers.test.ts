// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import type { ManagedFieldsEntry } from "../object/kube-object.ts";
import {
  ApplyConflictsError,
  conflictingFields,
  conflictStatus,
  isApplyConflicts,
  printPaths,
  withoutConflictsOn,
} from "./apply-errors.ts";
import { fieldSetOfPaths } from "./field-set.ts";
import { encodeFieldsV1, encodingFieldsV1 } from "./fields-v1.ts";
import {
  decodeManagers,
  encodeManagers,
  isManagedFieldsReset,
  type ManagerIdentity,
  managedFieldsOf,
  managerKey,
  unixSeconds,
} from "./managers.ts";
import { capUpdaters } from "./record-update.ts";

const entry = (manager: string, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager,
  operation: "Update",
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: { [`f:${manager}`]: {} },
  ...more,
});

test("identities: an applier is one at all versions, an updater one a version, and each subresource its own", () => {
  const identity = (more: Partial<ManagerIdentity>): string =>
    managerKey({ manager: "m<", operation: "Update", apiVersion: "g/v1", subresource: "", ...more });
  assert.equal(identity({}), '{"manager":"m\\u003c","operation":"Update","apiVersion":"g/v1"}');
  assert.equal(identity({ operation: "Apply" }), '{"manager":"m\\u003c","operation":"Apply"}');
  assert.equal(
    identity({ manager: "", subresource: "status" }),
    '{"operation":"Update","apiVersion":"g/v1","subresource":"status"}',
  );
});

test("entries are ordered by operation, second, manager, version and subresource", () => {
  const time = (second: number): string => `2020-01-01T00:00:0${second}Z`;
  const expected = [
    entry("z", { operation: "Apply", time: time(1) }),
    entry("a", { operation: "Apply", time: time(2) }),
    entry("n"),
    entry("b", { time: time(1) }),
    entry("c", { time: time(1), apiVersion: "v1" }),
    entry("c", { time: time(1), apiVersion: "v1", subresource: "status" }),
    entry("c", { time: time(1), apiVersion: "v2" }),
    entry("a", { time: time(3) }),
  ];
  for (const shuffled of [expected.toReversed(), [...expected.slice(4), ...expected.slice(0, 4)]]) {
    assert.deepEqual(encodeManagers(decodeManagers(shuffled, "client")), expected);
  }
});

test("of two entries of one identity the last counts", () => {
  const twice = [entry("a", { fieldsV1: { "f:x": {} } }), entry("a", { fieldsV1: { "f:y": {} } })];
  assert.deepEqual(encodeManagers(decodeManagers(twice, "client")), [entry("a", { fieldsV1: { "f:y": {} } })]);
});

test("unchanged entries of a live object are written as the very objects they were", () => {
  const entries = [entry("a", { operation: "Apply" }), entry("b")];
  const managers = decodeManagers(entries, "live");
  assert.deepEqual(
    encodeManagers(managers).map((one, index) => one === entries[index]),
    [true, true],
  );
  const later = {
    ...managers,
    times: new Map([...managers.owned.keys()].slice(0, 1).map((key) => [key, "2020-01-01T00:00:00Z"])),
  };
  assert.deepEqual(
    encodeManagers(later).map((one) => entries.includes(one)),
    [false, true],
  );
  assert.ok(!encodeManagers(decodeManagers(entries, "client")).includes(entries[0] ?? {}));
});

test("a managedFields that is not a list of entries is ignored", () => {
  const rows: ReadonlyArray<readonly [JsonValue, boolean]> = [
    [[], true],
    [[{}], true],
    [[{ manager: null, time: null, fieldsV1: null }], true],
    [null, false],
    ["x", false],
    [[1], false],
    [[{ manager: 5 }], false],
    [[{ time: "yesterday" }], false],
    [[{ fieldsV1: "x" }], false],
  ];
  for (const [managedFields, isList] of rows) {
    const object: JsonObject = { metadata: { managedFields } };
    assert.equal(managedFieldsOf(object) !== undefined, isList, JSON.stringify(managedFields));
  }
  assert.equal(managedFieldsOf({}), undefined);
  assert.equal(managedFieldsOf({ metadata: "x" }), undefined);
});

test("a reset is an empty list or one empty entry", () => {
  const rows: ReadonlyArray<readonly [readonly ManagedFieldsEntry[] | undefined, boolean]> = [
    [undefined, false],
    [[], true],
    [[{}], true],
    [[{ manager: "" }], true],
    [[{ fieldsV1: {} }], false],
    [[{}, {}], false],
    [[entry("a")], false],
  ];
  for (const [entries, want] of rows) assert.equal(isManagedFieldsReset(entries), want, JSON.stringify(entries));
});

test("times count in whole seconds; none is the beginning of time", () => {
  assert.equal(unixSeconds("1970-01-01T00:00:01.999Z"), 1);
  assert.equal(unixSeconds("1970-01-01T01:00:00+01:00"), 0);
  assert.equal(unixSeconds(undefined), 0);
  assert.equal(unixSeconds("nonsense"), 0);
});

test("ten updaters stay; beyond, the oldest of each version are put together, appliers not counted", () => {
  const updaters = (count: number, apiVersion = "v1"): ManagedFieldsEntry[] =>
    Array.from({ length: count }, (_, i) =>
      entry(`${apiVersion}-${i}`, { apiVersion, time: `2020-01-01T00:00:${String(i).padStart(2, "0")}Z` }),
    );
  const cap = (entries: readonly ManagedFieldsEntry[]): string[] =>
    encodeManagers(capUpdaters(decodeManagers(entries, "client"))).map(
      ({ manager, apiVersion, fieldsV1 }) => `${manager} ${apiVersion} ${Object.keys(fieldsV1 ?? {}).length}`,
    );
  const appliers = Array.from({ length: 5 }, (_, i) => entry(`applier${i}`, { operation: "Apply" }));
  assert.equal(cap([...updaters(10), ...appliers]).length, 15);
  assert.deepEqual(cap(updaters(12)).slice(0, 2), ["ancient-changes v1 3", "v1-3 v1 1"]);
  const mixed = cap([...updaters(7, "v1"), ...updaters(6, "v2")]);
  assert.equal(mixed.length, 10);
  assert.deepEqual(
    mixed.filter((line) => line.startsWith("ancient")),
    ["ancient-changes v2 2", "ancient-changes v1 3"],
  );
  const again = encodeManagers(capUpdaters(decodeManagers(updaters(12), "client")));
  const more = [...again, entry("new", { time: "2021-01-01T00:00:00Z" })];
  assert.deepEqual(cap(more)[0], "ancient-changes v1 4", "the bucket takes the next oldest in");
});

test("conflicts: fields together, without the allowed ones, and as a Status", () => {
  const manager = (name: string, more: Partial<ManagerIdentity> = {}): ManagerIdentity => ({
    manager: name,
    operation: "Apply",
    apiVersion: "",
    subresource: "",
    ...more,
  });
  const conflict = (
    who: ManagerIdentity,
    ...paths: string[][]
  ): { key: string; manager: ManagerIdentity; set: ReturnType<typeof fieldSetOfPaths> } => ({
    key: managerKey(who),
    manager: who,
    set: fieldSetOfPaths(paths),
  });
  const error = new ApplyConflictsError([
    conflict(manager("z"), ["b"], ["a"]),
    conflict(manager("a", { operation: "Update", apiVersion: "g/v1", subresource: "scale" }), ["c", "d"]),
  ]);
  assert.ok(isApplyConflicts(error) && !isApplyConflicts(new Error("x")));
  assert.deepEqual(printPaths(conflictingFields(error)), [".a", ".b", ".c.d"]);
  assert.equal(
    conflictStatus(error).message,
    'Apply failed with 3 conflicts: conflicts with "a" with subresource "scale" using g/v1:\n- .c.d\nconflicts with "z":\n- .a\n- .b',
  );
  const rest = withoutConflictsOn(error, fieldSetOfPaths([["a"], ["c", "d"]]));
  assert.equal(conflictStatus(rest).message, 'Apply failed with 1 conflict: conflict with "z": .b');
});

test("a conflict over very many fields names the first hundred, and how many more there are", () => {
  const who: ManagerIdentity = { manager: "z", operation: "Apply", apiVersion: "", subresource: "" };
  const set = fieldSetOfPaths(Array.from({ length: 1000 }, (_, i) => ["map", `k${1000 + i}`]));
  const { message, status } = conflictStatus(new ApplyConflictsError([{ key: managerKey(who), manager: who, set }]));
  assert.match(message, /^Apply failed with 1000 conflicts: conflicts with "z":\n- \.map\.k1000\n- \.map\.k1001\n/);
  assert.match(message, /\n- \.map\.k1099\n- and 900 more$/);
  assert.equal(status.details?.causes?.length, 100);
});

test("the first paths of a set are those of all of them", () => {
  const names = Array.from({ length: 400 }, (_, i) => `n${(i * 7919) % 400}`);
  const set = fieldSetOfPaths([...names.map((name) => ["m", name]), ["m", "n1", "below"], ["z"], ["a", "b"]]);
  const all = printPaths(set);
  for (const most of [0, 1, 2, 3, 100, 399, 403, 1000]) assert.deepEqual(printPaths(set, most), all.slice(0, most));
});

test("a large set is encoded in parts, as it is at once", () => {
  const paths = Array.from({ length: 5000 }, (_, i) => ["data", `k${i % 2500}`, `f${i}`]);
  const inParts = encodingFieldsV1(fieldSetOfPaths([...paths, ["data"], ["__proto__"]]));
  let parts = 0;
  let step = inParts.next();
  for (; step.done !== true; step = inParts.next()) parts += 1;
  assert.ok(parts > 5, `${parts} parts`);
  assert.equal(
    JSON.stringify(step.value),
    JSON.stringify(encodeFieldsV1(fieldSetOfPaths([...paths, ["data"], ["__proto__"]]))),
  );
});
