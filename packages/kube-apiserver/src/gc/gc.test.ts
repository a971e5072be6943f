// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { OwnerReference } from "@purlin/kube-objects/object";
import fc from "fast-check";
import { type Action, decide, type OwnedObject, ownedObject, type World } from "./decide.ts";
import { OwnershipIndex } from "./ownership-index.ts";

const reference = (name: string, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name,
  uid: name,
  ...more,
});

function object(name: string, change: Partial<OwnedObject> = {}): OwnedObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: "ns",
    name,
    uid: name,
    resourceVersion: "1",
    owners: [],
    finalizers: [],
    isDeleting: false,
    ...change,
  };
}

/** A world of these objects; names that start with `crd-` are of kinds that are not served. */
function world(...objects: OwnedObject[]): World {
  return {
    ownerOf: ({ name, uid }) => {
      if (name.startsWith("crd-")) return "unknown";
      const found = objects.find((one) => one.name === name);
      return found?.uid === uid ? found : "absent";
    },
    dependentsOf: (uid) =>
      objects
        .filter((one) => one.owners.some((owner) => owner.uid === uid))
        .map((one) => ({ uid: one.uid, read: () => one })),
  };
}

const short = (action: Action): string => {
  switch (action.action) {
    case "delete":
      return `delete ${action.object.name} ${action.policy}`;
    case "dropOwners":
      return `drop ${action.uids.join(",")} from ${action.object.name}`;
    case "dropFinalizer":
      return `drop ${action.finalizer} from ${action.object.name}`;
    case "visit":
      return `visit ${action.uid}`;
  }
};

const actions = (decisions: Iterable<Action | undefined>): Action[] =>
  [...decisions].filter((one) => one !== undefined);

const owner = object("owner");
const waiting = object("owner", { isDeleting: true, finalizers: ["foregroundDeletion"] });
const orphaning = object("owner", { isDeleting: true, finalizers: ["orphan"] });
const dependent = (change: Partial<OwnedObject> = {}): OwnedObject =>
  object("dep", { owners: [reference("owner")], ...change });
const blocked = (change: Partial<OwnedObject> = {}): OwnedObject =>
  object("dep", { owners: [reference("owner", { blockOwnerDeletion: true })], ...change });

const rows: Record<string, { about: OwnedObject; others: OwnedObject[]; does: string[]; reason: string }> = {
  OwnerThere: { about: dependent(), others: [owner], does: [], reason: "nothing is wrong" },
  OwnerGone: { about: dependent(), others: [], does: ["delete dep Background"], reason: "the owner is gone" },
  OwnerReplaced: {
    about: dependent(),
    others: [object("owner", { uid: "another" })],
    does: ["delete dep Background"],
    reason: "an owner of the same name is not the same owner",
  },
  OwnOrphanPolicy: {
    about: dependent({ finalizers: ["orphan"] }),
    others: [],
    does: ["delete dep Orphan"],
    reason: "its finalizers say how it goes",
  },
  OwnForegroundPolicy: {
    about: dependent({ finalizers: ["foregroundDeletion"] }),
    others: [],
    does: ["delete dep Foreground"],
    reason: "its finalizers say how it goes",
  },
  OneOfTwoOwnersGone: {
    about: object("dep", { owners: [reference("owner"), reference("gone")] }),
    others: [owner],
    does: ["drop gone from dep"],
    reason: "one owner is enough to stay",
  },
  UnknownKind: {
    about: object("dep", { owners: [reference("crd-thing"), reference("gone")] }),
    others: [],
    does: [],
    reason: "it is unknown whether the owner exists",
  },
  AlreadyDeleting: { about: dependent({ isDeleting: true }), others: [], does: [], reason: "it goes by itself" },
  ForegroundOwnerWithBlockingDependent: {
    about: waiting,
    others: [blocked()],
    does: ["visit dep"],
    reason: "the dependent has to go first",
  },
  ForegroundDependent: {
    about: blocked(),
    others: [waiting],
    does: ["delete dep Background"],
    reason: "its owner waits for it",
  },
  ForegroundDependentWithDependents: {
    about: blocked(),
    others: [waiting, blocked(), object("grandchild", { owners: [reference("dep")] })],
    does: ["delete dep Foreground"],
    reason: "an object that waits makes its dependents wait too",
  },
  ForegroundOwnerNothingBlocks: {
    about: waiting,
    others: [dependent()],
    does: ["drop foregroundDeletion from owner"],
    reason: "a dependent that does not block is collected afterwards",
  },
  ForegroundDependentWithAnotherOwner: {
    about: object("dep", { owners: [reference("owner", { blockOwnerDeletion: true }), reference("other")] }),
    others: [waiting, object("other")],
    does: ["drop owner from dep"],
    reason: "another owner keeps it, so it drops the owner that waits",
  },
  OrphaningOwner: { about: orphaning, others: [dependent()], does: ["drop owner from dep"], reason: "dependents stay" },
  OrphaningOwnerDone: {
    about: orphaning,
    others: [],
    does: ["drop orphan from owner"],
    reason: "the finalizer is removed when no object refers to it",
  },
};
for (const [name, { about, others, does, reason }] of Object.entries(rows)) {
  test(`garbage collection: ${name}`, () =>
    assert.deepEqual(actions(decide(about, world(...others))).map(short), does, reason));
}

test("an object is read with what matters here", () => {
  const read = ownedObject({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "p",
      uid: "u",
      deletionTimestamp: "2026-01-01T00:00:00Z",
      finalizers: ["x"],
      ownerReferences: [reference("o")],
    },
  } as never);
  assert.deepEqual(
    [read?.name, read?.isDeleting, read?.finalizers, read?.owners.length, read?.namespace],
    ["p", true, ["x"], 1, ""],
  );
  assert.equal(ownedObject({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }), undefined);
});

test("the index follows any sequence of changes", () => {
  const uids = fc.constantFrom("a", "b", "c", "d");
  const change = fc.tuple(uids, fc.uniqueArray(uids, { maxLength: 3 }), fc.boolean());
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const index = new OwnershipIndex();
      const model = new Map<string, readonly string[]>();
      for (const [uid, owners, isGone] of changes) {
        if (isGone) {
          finish(index.removing(uid));
          model.delete(uid);
          continue;
        }
        finish(index.putting(stored(uid, owners)));
        model.set(uid, owners);
      }
      for (const uid of ["a", "b", "c", "d"]) {
        const expected = [...model].filter(([, owners]) => owners.includes(uid)).map(([name]) => name);
        assert.deepEqual(
          index
            .dependentsOf(uid)
            .map((one) => one.uid)
            .sort(),
          expected.sort(),
        );
      }
      const owned = [...model].filter(([, owners]) => owners.length > 0).map(([name]) => name);
      assert.deepEqual([...index.uids()].sort(), owned.sort());
      for (const uid of ["a", "b", "c", "d"]) {
        const owners = index.get(uid)?.owners.map((one) => one.uid);
        assert.deepEqual(owners, owned.includes(uid) ? model.get(uid) : undefined);
      }
    }),
  );
});

function stored(uid: string, owners: readonly string[]): { readonly value: JsonObject } {
  const ownerReferences = owners.map((name) => ({ ...reference(name) }) as JsonObject);
  return { value: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: uid, uid, ownerReferences } } };
}
