// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { storeOf } from "../../test/test-server.ts";
import { systemUser, type User } from "../auth/user.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { Store, Transaction } from "../store/store.ts";
import { type DeleteGuard, followGuarded, guardRefusal, recordRefusal, requireUnguarded } from "./delete-guard.ts";
import type { RestRequest } from "./rest-context.ts";
import { type DeleteOptions, deleteOptionsOf } from "./write-options.ts";

type Deletion = Parameters<DeleteGuard["refusalOf"]>[0];

const jane: User = { name: "jane", groups: [] };
const refusal = {
  status: forbidden({ group: "", resource: "things" }, "a", "in use").status,
  annotations: { "x.org/refused": "2" },
  because: ["/x.org/uses/1"],
};
const none = await deleteOptionsOf({});

interface Guarded {
  readonly rest: RestRequest;
  readonly asked: Deletion[];
}

function guarded(store: Store<JsonObject>, user: User = jane): Guarded {
  const asked: Deletion[] = [];
  const guardDelete: DeleteGuard = {
    resources: [],
    written: () => {},
    onRelease: () => {},
    refusalOf: (deletion) => {
      asked.push(deletion);
      return refusal;
    },
  };
  const type = { group: "x.org", kind: "Thing" } as ResourceType;
  return { rest: { guardDelete, type, request: { user }, store } as unknown as RestRequest, asked };
}

test("a guard follows the kinds that it decides by, and no others", async () => {
  await using store = await storeOf({ "/x.org/uses/a": { n: 1 } });
  const written: (readonly [string, JsonObject | undefined])[] = [];
  const guard = {
    ...guarded(store).rest.guardDelete,
    resources: [{ group: "x.org", resource: "uses" }],
  } as DeleteGuard;
  followGuarded({ ...guard, written: (key, object) => written.push([key, object]) }, store);
  await store.write("/x.org/uses/b", () => ({ action: "put", value: { n: 2 } }));
  await store.write("/x.org/usesless/b", () => ({ action: "put", value: { n: 3 } }));
  await store.write("/x.org/uses/a", () => ({ action: "delete" }));
  assert.deepEqual(written.slice(-2), [
    ["/x.org/uses/b", { n: 2 }],
    ["/x.org/uses/a", undefined],
  ]);
  assert.ok(written.every(([key]) => key.startsWith("/x.org/uses/")));
});

test("a guard is called with the object, the user and the policy", async () => {
  await using store = await storeOf({});
  const policies: readonly (readonly [Partial<DeleteOptions>, string])[] = [
    [{}, "Background"],
    [{ propagation: "Foreground" }, "Foreground"],
    [{ propagation: "Background", orphanDependents: true }, "Background"],
    [{ orphanDependents: true }, "Orphan"],
    [{ orphanDependents: false }, "Background"],
  ];
  for (const [options, policy] of policies) {
    const { rest, asked } = guarded(store);
    assert.equal(guardRefusal(rest, { n: 1 }, { ...none, ...options }), refusal);
    const [{ stored: _, ...deletion } = assert.fail()] = asked;
    assert.deepEqual(deletion, { group: "x.org", kind: "Thing", object: { n: 1 }, user: jane, policy });
  }
});

test("a guard can read and count what is stored", async () => {
  await using store = await storeOf({
    "/x.org/uses/a": { n: 1 },
    "/x.org/uses/b": {},
    "/x.org/uses/c": {},
    "/x.org/others/a": {},
  });
  const { rest, asked } = guarded(store);
  guardRefusal(rest, {}, none);
  const { stored } = asked[0] ?? assert.fail();
  assert.deepEqual(stored.get({ group: "x.org", resource: "uses" }, "a"), { n: 1 });
  assert.equal(stored.get({ group: "x.org", resource: "uses" }, "z"), undefined);
  assert.equal(stored.count({ group: "x.org", resource: "uses" }), 3);
  assert.equal(stored.count({ group: "x.org", resource: "none" }), 0);
});

test("the server itself is not refused, a user of its name is", async () => {
  await using store = await storeOf({});
  const own = guarded(store, systemUser);
  assert.equal(guardRefusal(own.rest, {}, none), undefined);
  assert.equal(own.asked.length, 0);
  assert.equal(guardRefusal(guarded(store, { ...systemUser }).rest, {}, none), refusal);
});

test("without a guard every deletion is allowed; with one a dry run throws its refusal", async () => {
  await using store = await storeOf({});
  const { rest } = guarded(store);
  requireUnguarded({ ...rest, guardDelete: undefined }, {}, none);
  assert.throws(() => requireUnguarded(rest, {}, none), { message: 'things "a" is forbidden: in use' });
});

test("the annotations of a refusal are stored once, after what it depends on was read", () => {
  const peeked: string[] = [];
  const record = (annotations: JsonObject): ReturnType<typeof recordRefusal> => {
    const current = { value: { metadata: { name: "a", annotations, resourceVersion: "1" } }, expiresAt: 7 };
    const transaction = { current, revision: 9, peek: (key: string) => peeked.push(key) };
    return recordRefusal(
      { type: { custom: true } } as RestRequest,
      refusal,
      transaction as unknown as Transaction<JsonObject>,
    );
  };
  assert.deepEqual(record({ "x.org/refused": "1", b: "2" }), {
    action: "put",
    value: { metadata: { name: "a", annotations: { "x.org/refused": "2", b: "2" }, resourceVersion: "9" } },
    expiresAt: 7,
  });
  assert.deepEqual(record({ "x.org/refused": "2" }), { action: "keep" });
  assert.deepEqual(peeked, ["/x.org/uses/1", "/x.org/uses/1"]);
});
