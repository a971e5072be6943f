// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OwnerReference } from "@purlin/kube-objects/object";
import { type Action, decide, type OwnedObject, ownedObject, type World } from "./decide.ts";

interface Sketch {
  readonly owners?: readonly string[];
  readonly finalizers?: readonly string[];
  readonly deleting?: boolean;
  /** Owners whose deletion it blocks. */
  readonly blocks?: readonly string[];
}

/** An object whose uid is its name; owners by name. */
function object(
  name: string,
  { owners = [], finalizers = [], deleting = false, blocks = [] }: Sketch = {},
): OwnedObject {
  const references = owners.map(
    (uid): OwnerReference => ({
      apiVersion: "v1",
      kind: "Thing",
      name: uid,
      uid,
      blockOwnerDeletion: blocks.includes(uid),
    }),
  );
  return {
    apiVersion: "v1",
    kind: "Thing",
    namespace: "ns",
    name,
    uid: name,
    resourceVersion: "1",
    owners: references,
    finalizers,
    isDeleting: deleting,
  };
}

/** A world of objects; owners named "?…" are of a kind that is not served. */
function world(...objects: readonly OwnedObject[]): World {
  return {
    ownerOf: ({ uid }) => (uid.startsWith("?") ? "unknown" : (objects.find((one) => one.uid === uid) ?? "absent")),
    dependentsOf: (uid) =>
      objects
        .filter((one) => one.owners.some((owner) => owner.uid === uid))
        .map((one) => ({ uid: one.uid, read: () => one })),
  };
}

const show = (action: Action): string => {
  switch (action.action) {
    case "delete":
      return `delete ${action.object.name} ${action.policy}`;
    case "dropOwners":
      return `drop ${action.uids.join("+")} from ${action.object.name}`;
    case "dropFinalizer":
      return `finish ${action.object.name} ${action.finalizer}`;
    case "visit":
      return `visit ${action.uid}`;
  }
};

const actions = (decisions: Iterable<Action | undefined>): Action[] =>
  [...decisions].filter((one) => one !== undefined);

const waiting = object("owner", { deleting: true, finalizers: ["foregroundDeletion"] });
const orphaning = object("owner", { deleting: true, finalizers: ["orphan"] });

const cases: Record<
  string,
  { reason: string; of: OwnedObject; among: readonly OwnedObject[]; want: readonly string[] }
> = {
  Free: { reason: "no owner", of: object("a"), among: [], want: [] },
  Owned: { reason: "its owner is there", of: object("a", { owners: ["owner"] }), among: [object("owner")], want: [] },
  OwnerGone: {
    reason: "its only owner is gone",
    of: object("a", { owners: ["gone"] }),
    among: [],
    want: ["delete a Background"],
  },
  OneOwnerLeft: {
    reason: "of two owners one is gone: only the reference goes",
    of: object("a", { owners: ["gone", "owner"] }),
    among: [object("owner")],
    want: ["drop gone from a"],
  },
  OwnerUnknown: {
    reason: "unknown owners: nothing is deleted",
    of: object("a", { owners: ["gone", "?x"] }),
    among: [],
    want: [],
  },
  OwnPolicyOrphan: {
    reason: "it says itself that what it owns stays",
    of: object("a", { owners: ["gone"], finalizers: ["orphan"] }),
    among: [],
    want: ["delete a Orphan"],
  },
  OwnPolicyForeground: {
    reason: "or goes first",
    of: object("a", { owners: ["gone"], finalizers: ["foregroundDeletion"] }),
    among: [],
    want: ["delete a Foreground"],
  },
  AlreadyDeleting: {
    reason: "once is enough",
    of: object("a", { owners: ["gone"], deleting: true }),
    among: [],
    want: [],
  },
  OwnerWaits: {
    reason: "its owner waits for it to go",
    of: object("a", { owners: ["owner"] }),
    among: [waiting],
    want: ["delete a Background"],
  },
  OwnerWaitsForAll: {
    reason: "what it owns itself goes before it",
    of: object("a", { owners: ["owner"] }),
    among: [waiting, object("b", { owners: ["a"] })],
    want: ["delete a Foreground"],
  },
  OneOwnerWaits: {
    reason: "another owner keeps it, so it leaves the one that waits",
    of: object("a", { owners: ["owner", "other"] }),
    among: [waiting, object("other")],
    want: ["drop owner from a"],
  },
  Waits: {
    reason: "all dependents are looked at while one blocks",
    of: waiting,
    among: [object("a", { owners: ["owner"], blocks: ["owner"] }), object("b", { owners: ["owner"] })],
    want: ["visit a", "visit b"],
  },
  WaitsForNobody: {
    reason: "those that do not block are not waited for",
    of: waiting,
    among: [object("b", { owners: ["owner"] })],
    want: ["finish owner foregroundDeletion"],
  },
  WaitsInVain: { reason: "no dependent is left", of: waiting, among: [], want: ["finish owner foregroundDeletion"] },
  Orphans: {
    reason: "dependents are released first",
    of: orphaning,
    among: [object("a", { owners: ["owner"] }), object("b", { owners: ["owner", "other"] })],
    want: ["drop owner from a", "drop owner from b"],
  },
  OrphansNobody: { reason: "the finalizer goes last", of: orphaning, among: [], want: ["finish owner orphan"] },
  WaitsAndIsOwned: {
    reason: "one in the middle of a foreground deletion keeps waiting, whatever happened to its owner",
    of: object("a", { owners: ["gone"], deleting: true, finalizers: ["foregroundDeletion"] }),
    among: [object("b", { owners: ["a"], blocks: ["a"] })],
    want: ["visit b"],
  },
};

for (const [name, { reason, of, among, want }] of Object.entries(cases)) {
  test(`the action for an object: ${name}`, () => {
    assert.deepEqual(actions(decide(of, world(of, ...among))).map(show), want, reason);
  });
}

test("an object is read from its metadata; without a uid it is ignored", () => {
  const owners = [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }];
  const metadata = {
    name: "a",
    namespace: "ns",
    uid: "1",
    resourceVersion: "7",
    ownerReferences: owners,
    finalizers: ["x"],
  };
  assert.deepEqual(
    ownedObject({ apiVersion: "v1", kind: "ConfigMap", metadata: { ...metadata, deletionTimestamp: "2026" } }),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace: "ns",
      name: "a",
      uid: "1",
      resourceVersion: "7",
      owners,
      finalizers: ["x"],
      isDeleting: true,
    },
  );
  assert.equal(ownedObject({ metadata: { name: "a" } }), undefined);
  assert.equal(ownedObject({}), undefined);
});

test("a decision about thousands of owners is made in parts", () => {
  const owners = Array.from({ length: 2000 }, (_, i) => `owner-${i}`);
  const parts = [...decide(object("a", { owners }), world(object("owner-1999")))];
  assert.ok(parts.length > 5, `${parts.length} parts`);
  assert.deepEqual(actions(parts.values()).map(show), [`drop ${owners.slice(0, -1).join("+")} from a`]);
});
