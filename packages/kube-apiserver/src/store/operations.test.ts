// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createKey, deleteKey, guaranteedWrite, updateKey } from "./operations.ts";
import { isStoreError, type StoreErrorCode } from "./store-error.ts";
import { openNotes, put, tempDirectory } from "./testing/temp-store.ts";

const never = new AbortController().signal;
const refused = (code: StoreErrorCode) => (error: unknown) => isStoreError(error, code);

test("create makes a key once, with the revision it gets", async () => {
  await using store = openNotes();
  const { entry } = await createKey(store, "/a", (revision) => ({ text: `${revision}` }));
  assert.deepEqual([entry.value.text, entry.revision], ["2", 2]);
  await assert.rejects(
    createKey(store, "/a", () => ({ text: "" })),
    refused("exists"),
  );
  assert.equal(store.revision, 2);
});

test("of many creators of one key exactly one wins", async () => {
  await using store = openNotes();
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => createKey(store, "/a", () => ({ text: `${i}` }))),
  );
  assert.deepEqual(
    results.map((result) => result.status),
    ["fulfilled", ...Array.from({ length: 19 }, () => "rejected")],
  );
  assert.equal(store.get("/a")?.value.text, "0");
});

test("update replaces what is there, at the revision asked for", async () => {
  await using store = openNotes();
  await assert.rejects(
    updateKey(store, "/a", () => ({ text: "" })),
    refused("missing"),
  );
  await put(store, "/a", "1");
  const { entry } = await updateKey(
    store,
    "/a",
    (current, revision) => ({ text: `${current.value.text}${revision}` }),
    { revision: 2 },
  );
  assert.equal(entry.value.text, "13");
  await assert.rejects(
    updateKey(store, "/a", () => ({ text: "" }), { revision: 2 }),
    refused("conflict"),
  );
});

test("delete returns what was there, at the revision asked for", async () => {
  await using store = openNotes();
  await assert.rejects(deleteKey(store, "/a"), refused("missing"));
  await put(store, "/a", "1");
  await assert.rejects(deleteKey(store, "/a", { revision: 99 }), refused("conflict"));
  const { previous, revision, entry } = await deleteKey(store, "/a", { revision: 2 });
  assert.deepEqual([previous.value.text, revision, entry], ["1", 3, undefined]);
});

test("a guaranteed write works on the state it ends up replacing", async () => {
  await using store = openNotes();
  const append = (letter: string): Promise<unknown> =>
    guaranteedWrite(
      store,
      "/a",
      async (current) => {
        await new Promise((resolve) => setImmediate(resolve));
        return () => ({ action: "put", value: { text: `${current?.value.text ?? ""}${letter}` } });
      },
      never,
    );
  await Promise.all([..."abcdefgh"].map(append));
  assert.equal([...(store.get("/a")?.value.text ?? "")].sort().join(""), "abcdefgh");
  assert.equal(store.revision, 9, "every letter took one write");
});

test("a guaranteed write notices that the key was deleted and made again", async () => {
  await using store = openNotes();
  await put(store, "/a", "old");
  let rounds = 0;
  const written = await guaranteedWrite(
    store,
    "/a",
    async (current) => {
      rounds += 1;
      if (rounds === 1) {
        await put(store, "/a", undefined);
        await put(store, "/a", "new");
      }
      return () => ({ action: "put", value: { text: `${current?.value.text}!` } });
    },
    never,
  );
  assert.deepEqual([written.entry?.value.text, rounds], ["new!", 2]);
});

test("a guaranteed write stops when its signal is aborted", async () => {
  await using store = openNotes({ directory: tempDirectory() });
  const stop = new AbortController();
  const contended = guaranteedWrite(
    store,
    "/a",
    async () => {
      await put(store, "/a", `${store.revision}`);
      if (store.revision > 5) stop.abort();
      return () => ({ action: "delete" });
    },
    stop.signal,
  );
  await assert.rejects(contended, { name: "AbortError" });
  assert.notEqual(store.get("/a"), undefined);
});
