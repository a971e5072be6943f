// SPDX-License-Identifier: Apache-2.0
// At most ten updaters are kept apart; the oldest of more are merged into `ancient-changes`, one for each version.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fieldSetOfPaths, hasFieldPath } from "./field-set.ts";
import { encodeFieldsV1 } from "./fields-v1.ts";
import { type ManagerIdentity, type Managers, managerKey, type OwnedFields } from "./managers.ts";
import { capUpdaters, neverOwned } from "./record-update.ts";

interface Entry {
  readonly name: string;
  /** Minutes after midnight; none for an entry without a time. */
  readonly minute?: number;
  readonly field?: string;
  readonly apiVersion?: string;
  readonly applied?: boolean;
}

const timeAt = (minute: number): string =>
  `2024-01-01T${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}:00Z`;

function managersOf(entries: readonly Entry[]): Managers {
  const owned = new Map<string, OwnedFields>();
  const identities = new Map<string, ManagerIdentity>();
  const times = new Map<string, string>();
  for (const { name, minute, field = name, apiVersion = "v1", applied = false } of entries) {
    const identity: ManagerIdentity = {
      manager: name,
      operation: applied ? "Apply" : "Update",
      apiVersion,
      subresource: "",
    };
    const key = managerKey(identity);
    owned.set(key, { set: fieldSetOfPaths([["spec", field]]), apiVersion, applied });
    identities.set(key, identity);
    if (minute !== undefined) times.set(key, timeAt(minute));
  }
  return { owned, identities, times, sources: new Map() };
}

interface Shown {
  readonly fields: readonly string[];
  readonly time: string | undefined;
  readonly apiVersion: string;
}

/** The managers by name, each with the fields below spec that it owns. */
function shown({ owned, identities, times }: Managers): Readonly<Record<string, Shown>> {
  const rows = [...owned].map(([key, { set, apiVersion }]) => {
    const spec = encodeFieldsV1(set)["f:spec"] as object;
    const fields = Object.keys(spec).map((field) => field.slice(2));
    return [identities.get(key)?.manager ?? key, { fields, time: times.get(key), apiVersion }] as const;
  });
  return Object.fromEntries(rows);
}

const updaters = (count: number): Entry[] =>
  Array.from({ length: count }, (_, index) => ({ name: `m${String(index).padStart(2, "0")}`, minute: index }));

describe("the number of updaters", () => {
  test("ten stay as they are", () => {
    const managers = managersOf(updaters(10));
    assert.equal(capUpdaters(managers), managers);
  });

  test("of eleven the two oldest become one, with the time of the later", () => {
    const capped = shown(capUpdaters(managersOf(updaters(11))));
    assert.equal(Object.keys(capped).length, 10);
    assert.deepEqual(capped["ancient-changes"], { fields: ["m00", "m01"], time: timeAt(1), apiVersion: "v1" });
    assert.equal(capped["m00"], undefined);
    assert.equal(capped["m01"], undefined);
    assert.deepEqual(capped["m02"]?.fields, ["m02"]);
  });

  test("of fifteen the six oldest become one", () => {
    const capped = shown(capUpdaters(managersOf(updaters(15))));
    assert.equal(Object.keys(capped).length, 10);
    assert.deepEqual(capped["ancient-changes"]?.fields, ["m00", "m01", "m02", "m03", "m04", "m05"]);
    assert.equal(capped["ancient-changes"]?.time, timeAt(5));
  });

  test("age counts, not the order of the entries", () => {
    const capped = shown(capUpdaters(managersOf(updaters(11).reverse())));
    assert.deepEqual(capped["ancient-changes"]?.fields, ["m00", "m01"]);
  });

  test("entries of the same age go by their key", () => {
    const same = updaters(11).map((entry) => ({ ...entry, minute: 5 }));
    assert.deepEqual(shown(capUpdaters(managersOf(same.reverse())))["ancient-changes"]?.fields, ["m00", "m01"]);
  });

  test("an entry without a time is the oldest", () => {
    const entries = updaters(11).map((entry) => (entry.name === "m07" ? { name: "m07" } : entry));
    assert.deepEqual(shown(capUpdaters(managersOf(entries)))["ancient-changes"]?.fields, ["m00", "m07"]);
  });

  test("appliers are not counted and stay", () => {
    const appliers = updaters(20).map((entry) => ({ ...entry, name: `a${entry.name}`, applied: true }));
    const managers = managersOf([...appliers, ...updaters(10)]);
    assert.equal(capUpdaters(managers), managers);
    const capped = shown(capUpdaters(managersOf([...appliers, ...updaters(11)])));
    assert.equal(Object.keys(capped).length, 30);
    assert.deepEqual(capped["ancient-changes"]?.fields, ["m00", "m01"]);
  });

  test("entries at different versions are not merged", () => {
    const entries = updaters(12).map((entry, index) => (index % 2 === 0 ? entry : { ...entry, apiVersion: "v2" }));
    const capped = capUpdaters(managersOf(entries));
    const ancient = [...capped.owned].filter(([key]) => capped.identities.get(key)?.manager === "ancient-changes");
    const fields = ancient.map(([, { apiVersion, set }]) => [
      apiVersion,
      Object.keys(encodeFieldsV1(set)["f:spec"] ?? {}),
    ]);
    assert.deepEqual(Object.fromEntries(fields), { v1: ["f:m00", "f:m02"], v2: ["f:m01", "f:m03"] });
    assert.equal(capped.owned.size, 10);
  });

  test("fields that two of the merged entries own are there once", () => {
    const entries = updaters(11).map((entry, index) => (index < 2 ? { ...entry, field: "shared" } : entry));
    assert.deepEqual(shown(capUpdaters(managersOf(entries)))["ancient-changes"]?.fields, ["shared"]);
  });

  test("a merged entry takes in the next oldest", () => {
    const once = capUpdaters(managersOf(updaters(11)));
    const grown = managersOf([{ name: "new", minute: 59 }]);
    const again = capUpdaters({
      ...once,
      owned: new Map([...once.owned, ...grown.owned]),
      identities: new Map([...once.identities, ...grown.identities]),
      times: new Map([...once.times, ...grown.times]),
    });
    assert.deepEqual(shown(again)["ancient-changes"], {
      fields: ["m00", "m01", "m02"],
      time: timeAt(2),
      apiVersion: "v1",
    });
  });

  test("the managers that were given stay as they were", () => {
    const managers = managersOf(updaters(11));
    capUpdaters(managers);
    assert.equal(managers.owned.size, 11);
    assert.equal(shown(managers)["ancient-changes"], undefined);
  });
});

describe("fields without an owner", () => {
  test("the type and what the server sets are among them", () => {
    for (const path of [["apiVersion"], ["kind"], ["metadata"], ["metadata", "uid"], ["metadata", "managedFields"]]) {
      assert.equal(hasFieldPath(neverOwned, path), true, path.join("."));
    }
  });

  test("what users set is not", () => {
    for (const path of [["spec"], ["metadata", "labels"], ["metadata", "finalizers"], ["metadata", "generateName"]]) {
      assert.equal(hasFieldPath(neverOwned, path), false, path.join("."));
    }
  });
});
