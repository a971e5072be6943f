// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Note, openNotes, put, show, tempDirectory } from "../../test/store/temp-store.ts";
import type { Decision } from "./store.ts";
import { isStoreError } from "./store-error.ts";

const boom = new Error("boom");

test("a new store is at revision 1 and empty", async () => {
  await using store = openNotes();
  assert.deepEqual([store.revision, store.compactedRevision], [1, 1]);
  assert.deepEqual(store.list({ prefix: "/" }), { entries: [], revision: 1, remaining: 0 });
  assert.equal(store.get("/a/b"), undefined);
});

test("each change gets the next revision; the create revision stays until the key is deleted", async () => {
  await using store = openNotes();
  await put(store, "/a", "1");
  await put(store, "/b", "1");
  const updated = await put(store, "/a", "2");
  assert.deepEqual([updated?.revision, updated?.createRevision], [4, 2]);
  await put(store, "/a", undefined);
  assert.equal(store.revision, 5, "a deletion is a change");
  const again = await put(store, "/a", "3");
  assert.deepEqual([again?.revision, again?.createRevision], [6, 6]);
});

test("a writer receives the revision it will get, and the state before", async () => {
  await using store = openNotes();
  const written = await store.write("/a", ({ current, revision }) => {
    assert.equal(current, undefined);
    return { action: "put", value: { text: `revision ${revision}` } };
  });
  assert.deepEqual([written.entry?.value.text, written.revision, written.previous], ["revision 2", 2, undefined]);
  const deleted = await store.write("/a", () => ({ action: "delete" }));
  assert.deepEqual([deleted.entry, deleted.revision, deleted.previous], [undefined, 3, written.entry]);
});

test("no reader sees a write before it is durable, every writer behind it does", async () => {
  await using store = openNotes();
  const first = put(store, "/a", "1");
  const second = store.write("/a", ({ current }) => ({ action: "put", value: { text: `${current?.value.text}2` } }));
  const third = store.write("/b", ({ peek }) => ({ action: "put", value: { text: `saw ${peek("/a")?.value.text}` } }));
  assert.equal(store.get("/a"), undefined);
  assert.equal(store.revision, 1);
  assert.deepEqual(store.list({ prefix: "/" }).entries, []);
  await Promise.all([first, second, third]);
  assert.deepEqual(show(store.list({ prefix: "/" }).entries), ["/a=12@3", "/b=saw 12@4"]);
});

test("writes of one turn are committed in the order they were made", async () => {
  await using store = openNotes();
  const keys = Array.from({ length: 1500 }, (_, i) => `/k/${i}`);
  const entries = await Promise.all(keys.map((key) => put(store, key, key)));
  assert.deepEqual(
    entries.map((entry) => entry?.revision),
    keys.map((_, i) => i + 2),
  );
});

const noChange: Record<string, { reason: string; decision: Decision<Note> }> = {
  Keep: { reason: "the writer wants none", decision: { action: "keep" } },
  DeleteMissing: { reason: "nothing to delete", decision: { action: "delete" } },
};

for (const [name, { reason, decision }] of Object.entries(noChange)) {
  test(`nothing changes: ${name}`, async () => {
    await using store = openNotes();
    const written = await store.write("/a", () => decision);
    assert.deepEqual(written, { entry: undefined, previous: undefined, revision: undefined }, reason);
    assert.equal(store.revision, 1, reason);
  });
}

test("a writer that throws changes nothing and uses up no revision", async () => {
  await using store = openNotes();
  const failing = store.write("/a", () => {
    throw boom;
  });
  const next = put(store, "/b", "1");
  await assert.rejects(failing, boom);
  assert.equal((await next)?.revision, 2);
});

test("a value that cannot be encoded changes nothing", async () => {
  const encode = (): never => {
    throw boom;
  };
  await using store = openNotes({ codec: { encode, decode: () => ({ text: "" }) } });
  await assert.rejects(put(store, "/a", "1"), boom);
  assert.deepEqual([store.revision, store.get("/a")], [1, undefined]);
});

test("an answer that rests on a write not yet durable waits for it", async () => {
  await using store = openNotes();
  const settled: string[] = [];
  const first = put(store, "/a", "1").then(() => settled.push("write"));
  const kept = store
    .write("/a", () => ({ action: "keep" }))
    .then(({ entry }) => settled.push(`kept ${entry?.value.text}`));
  const failed = store
    .write("/b", ({ peek }) => {
      assert.equal(peek("/a")?.value.text, "1");
      throw boom;
    })
    .catch(() => settled.push("refused"));
  const other = store.write("/c", () => ({ action: "keep" })).then(() => settled.push("unrelated"));
  await other;
  assert.deepEqual(settled, ["unrelated"]);
  await Promise.all([first, kept, failed]);
  assert.deepEqual(settled.slice(1).sort(), ["kept 1", "refused", "write"]);
});

for (const key of ["", "a", "/", "/a/", "a/b", "/\ud800"]) {
  test(`the key ${JSON.stringify(key)} is refused`, async () => {
    await using store = openNotes();
    await assert.rejects(put(store, key, "1"), TypeError);
  });
}

test("waiting for a revision ends when it is reached, when the caller gives up, and when the store is closed", async () => {
  await using store = openNotes();
  await store.waitFor(1, AbortSignal.abort());
  const reached = store.waitFor(3, new AbortController().signal);
  await put(store, "/a", "1");
  await put(store, "/a", "2");
  await reached;
  const impatient = new AbortController();
  const abandoned = assert.rejects(store.waitFor(99, impatient.signal), boom);
  impatient.abort(boom);
  await abandoned;
  await assert.rejects(store.waitFor(99, AbortSignal.abort(boom)), boom);
  const closed = assert.rejects(store.waitFor(99, new AbortController().signal), (error) =>
    isStoreError(error, "closed"),
  );
  await store.close();
  await closed;
});

test("closing commits what is pending, refuses what comes after, and may be repeated", async () => {
  const directory = tempDirectory();
  const store = openNotes({ directory });
  const pending = put(store, "/a", "1");
  await store.close();
  await store.close();
  assert.equal((await pending)?.revision, 2);
  await assert.rejects(put(store, "/a", "2"), (error) => isStoreError(error, "closed"));
  assert.throws(
    () => store.watch({ scope: "/", after: 1, onReady: () => {} }),
    (error) => isStoreError(error, "closed"),
  );
  assert.equal(store.get("/a")?.value.text, "1", "reading does no harm");
  await using reopened = openNotes({ directory });
  assert.equal(reopened.get("/a")?.value.text, "1");
});

test("values are handed out as they were written, without decoding them", async () => {
  let decoded = 0;
  const codec = {
    encode: (note: Note): Uint8Array => Buffer.from(note.text),
    decode: (bytes: Uint8Array): Note => {
      decoded += 1;
      return { text: Buffer.from(bytes).toString() };
    },
  };
  const directory = tempDirectory();
  const value = { text: "same object" };
  {
    await using store = openNotes({ directory, codec });
    const { entry } = await store.write("/a", () => ({ action: "put", value }));
    assert.equal(entry?.value, value);
    assert.equal(Buffer.from(entry?.bytes ?? []).toString(), "same object");
  }
  await using store = openNotes({ directory, codec });
  assert.equal(store.list({ prefix: "/" }).entries.length, 1);
  assert.equal(decoded, 0, "opening and listing decode nothing");
  assert.deepEqual([store.get("/a")?.value, decoded], [value, 1]);
});
