// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Note, openNotes, put, show } from "../../test/store/temp-store.ts";
import type { ListOptions } from "./store.ts";
import { isStoreError } from "./store-error.ts";

const keys = ["/cm/a/x", "/cm/a-b/x", "/cm/a.b/x", "/cm/a/y", "/cm/b/z", "/cm/b/10", "/cm/b/9", "/cms/a/x", "/cl"];

const cases: Record<string, { reason: string; options: ListOptions<Note>; want: string[]; remaining?: number }> = {
  Prefix: {
    reason: "byte order: '-' and '.' come before '/', digits by character",
    options: { prefix: "/cm/" },
    want: ["/cm/a-b/x", "/cm/a.b/x", "/cm/a/x", "/cm/a/y", "/cm/b/10", "/cm/b/9", "/cm/b/z"],
  },
  Narrow: { reason: "one namespace only", options: { prefix: "/cm/a/" }, want: ["/cm/a/x", "/cm/a/y"] },
  Nothing: { reason: "no key has the prefix", options: { prefix: "/zz/" }, want: [] },
  Limit: {
    reason: "the first two of seven",
    options: { prefix: "/cm/", limit: 2 },
    want: ["/cm/a-b/x", "/cm/a.b/x"],
    remaining: 5,
  },
  After: {
    reason: "the next page",
    options: { prefix: "/cm/", limit: 2, after: "/cm/a.b/x" },
    want: ["/cm/a/x", "/cm/a/y"],
    remaining: 3,
  },
  AfterGone: {
    reason: "a key that is not there marks a place too",
    options: { prefix: "/cm/", limit: 1, after: "/cm/a/xx" },
    want: ["/cm/a/y"],
    remaining: 3,
  },
  AfterBefore: {
    reason: "a place before the prefix",
    options: { prefix: "/cm/a/", after: "/aa" },
    want: ["/cm/a/x", "/cm/a/y"],
  },
  AfterBehind: { reason: "a place behind the prefix", options: { prefix: "/cm/a/", after: "/zz" }, want: [] },
  LastPage: {
    reason: "exactly the rest",
    options: { prefix: "/cm/", limit: 2, after: "/cm/b/10" },
    want: ["/cm/b/9", "/cm/b/z"],
  },
  Filter: {
    reason: "what is refused does not count",
    options: { prefix: "/cm/", limit: 2, filter: (e) => e.key.endsWith("/x") },
    want: ["/cm/a-b/x", "/cm/a.b/x"],
    remaining: 5,
  },
};

for (const [name, { reason, options, want, remaining = 0 }] of Object.entries(cases)) {
  test(`list: ${name}`, async () => {
    await using store = openNotes();
    await Promise.all(keys.map((key) => put(store, key, "1")));
    const page = store.list(options);
    assert.deepEqual(
      page.entries.map((entry) => entry.key),
      want,
      reason,
    );
    assert.deepEqual([page.remaining, page.revision], [remaining, store.revision], reason);
  });
}

test("keys beyond ASCII come in the order of their bytes and as they were written", async () => {
  await using store = openNotes();
  for (const key of ["/r/\u{1F600}", "/r/\uFFFD", "/r/é", "/r/z"]) {
    await put(store, key, "1");
  }
  assert.deepEqual(show(store.list({ prefix: "/r/" }).entries), [
    "/r/z=1@5",
    "/r/é=1@4",
    "/r/\uFFFD=1@3",
    "/r/\u{1F600}=1@2",
  ]);
  assert.equal(store.get("/r/\u{1F600}")?.key, "/r/\u{1F600}");
});

test("a prefix must end with a slash", async () => {
  await using store = openNotes();
  assert.throws(() => store.list({ prefix: "/cm" }), TypeError);
});

test("a list at a revision is the state of that revision, whatever happened since", async () => {
  await using store = openNotes();
  await put(store, "/a", "1");
  await put(store, "/b", "1");
  await put(store, "/a", "2");
  await put(store, "/b", undefined);
  await put(store, "/c", "1");
  await put(store, "/b", "2");
  const at = (revision: number): string[] => show(store.list({ prefix: "/", revision }).entries);
  assert.deepEqual(at(1), []);
  assert.deepEqual(at(3), ["/a=1@2", "/b=1@3"]);
  assert.deepEqual(at(4), ["/a=2@4", "/b=1@3"]);
  assert.deepEqual(at(5), ["/a=2@4"]);
  assert.deepEqual(at(7), ["/a=2@4", "/b=2@7", "/c=1@6"]);
  const page = store.list({ prefix: "/", revision: 3, limit: 1 });
  assert.deepEqual([page.remaining, page.revision], [1, 3]);
});

test("the past can be compacted, the present and the future cannot be listed away", async () => {
  await using store = openNotes();
  for (const text of ["1", "2", "3"]) {
    await put(store, "/a", text);
  }
  store.compact(3);
  assert.equal(store.compactedRevision, 3);
  assert.deepEqual(
    show(store.list({ prefix: "/", revision: 3 }).entries),
    ["/a=2@3"],
    "the revision itself is still there",
  );
  assert.throws(
    () => store.list({ prefix: "/", revision: 2 }),
    (error) => isStoreError(error, "expired"),
  );
  assert.throws(
    () => store.list({ prefix: "/", revision: 5 }),
    (error) => isStoreError(error, "future"),
  );
  store.compact(99);
  assert.equal(store.compactedRevision, 4, "never beyond the newest");
  assert.deepEqual(show(store.list({ prefix: "/" }).entries), ["/a=3@4"]);
});

test("compaction forgets deleted keys, and a key created again is new", async () => {
  await using store = openNotes();
  await put(store, "/a", "1");
  await put(store, "/a", undefined);
  const pending = put(store, "/a", "2");
  store.compact(3);
  assert.equal((await pending)?.createRevision, 4);
  await put(store, "/a", undefined);
  store.compact(5);
  assert.deepEqual(store.list({ prefix: "/", revision: 5 }).entries, []);
});
