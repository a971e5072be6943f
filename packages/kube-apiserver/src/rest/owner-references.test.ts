// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dedupedOwners } from "../objects/object-members.ts";

const owner = (uid: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "a",
  uid,
  ...more,
});
const object = (...ownerReferences: JsonObject[]): JsonObject => ({ metadata: { name: "x", ownerReferences } });
const duplicates = (uids: string): RegExp => new RegExp(`duplicate UID\\(s\\) observed: ${uids}$`);

interface Case {
  readonly reason: string;
  readonly owners: JsonObject[];
  readonly want: JsonObject[];
  readonly uids: string;
}

const cases: Record<string, Case> = {
  Twice: {
    reason: "one of two that are the same stays",
    owners: [owner("1"), owner("1")],
    want: [owner("1")],
    uids: "1",
  },
  Order: {
    reason: "it makes no difference in which order the members are written",
    owners: [owner("1"), { uid: "1", name: "a", kind: "ConfigMap", apiVersion: "v1" }],
    want: [owner("1")],
    uids: "1",
  },
  Several: {
    reason: "the first of each stays in place, and each duplicate is reported",
    owners: [owner("1"), owner("2"), owner("1"), owner("2"), owner("1")],
    want: [owner("1"), owner("2")],
    uids: "1, 2, 1",
  },
};

for (const [name, { reason, owners, want, uids }] of Object.entries(cases)) {
  test(`owners: ${name}: ${reason}`, () => {
    const { object: left, warnings } = dedupedOwners(object(...owners));
    assert.deepEqual(left, object(...want));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", duplicates(uids));
  });
}

const distinct: Record<string, { reason: string; owners: JsonObject[] }> = {
  None: { reason: "nothing to compare", owners: [] },
  OtherMember: {
    reason: "the same owner said in two ways is two: which of them is meant is not for the server to say",
    owners: [owner("1"), owner("1", { controller: true }), owner("1", { controller: false })],
  },
};

for (const [name, { reason, owners }] of Object.entries(distinct)) {
  test(`owners: ${name}: ${reason}`, () => {
    const given = object(...owners);
    assert.deepEqual(dedupedOwners(given), { object: given, warnings: [] });
    assert.equal(dedupedOwners(given).object, given, "what does not change is not copied");
  });
}

test("tens of thousands of owners are gone through once", () => {
  const many = Array.from({ length: 40_000 }, (_, index) => owner(`uid-${index}`));
  const given = object(...many, owner("uid-39999"));
  assert.match(dedupedOwners(given).warnings[0] ?? "", duplicates("uid-39999"));
});
