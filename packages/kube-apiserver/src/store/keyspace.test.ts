// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Note, noteCodec } from "../../test/store/temp-store.ts";
import { Keyspace, requireKept } from "./keyspace.ts";
import { isStoreError } from "./store-error.ts";
import { Decoder, Version } from "./version.ts";

const decoder = new Decoder(noteCodec, 10_000);

/** A keyspace with a way to write "key=text" and "-key" at the next revision. */
function scene() {
  const keyspace = new Keyspace<Note>();
  let revision = 1;
  const version = (change: string): Version<Note> => {
    revision += 1;
    const [key = "", text] = change.startsWith("-") ? [change.slice(1)] : change.split("=");
    const bytes = text === undefined ? undefined : Buffer.from(JSON.stringify({ text }));
    return new Version<Note>({ key, revision, createRevision: revision, bytes, expiresAt: undefined, decoder });
  };
  return {
    keyspace,
    stage: (change: string): Version<Note> => {
      const made = version(change);
      keyspace.stage(made);
      return made;
    },
    write: (...changes: readonly string[]): void => {
      for (const change of changes) {
        const made = version(change);
        keyspace.stage(made);
        keyspace.commit(made);
      }
    },
    list: (options: Partial<Parameters<Keyspace<Note>["list"]>[0]> = {}): { shown: string[]; remaining: number } => {
      const page = keyspace.list({ prefix: "/", revision, ...options });
      return { shown: page.entries.map(({ key, value }) => `${key}=${value.text}`), remaining: page.remaining };
    },
  };
}

test("a staged version is seen by writers and by no reader, until it is committed", () => {
  const { keyspace, stage, list } = scene();
  const made = stage("/a=1");
  assert.equal(keyspace.get("/a"), undefined);
  assert.deepEqual(list().shown, []);
  assert.deepEqual([keyspace.newest("/a").version?.value.text, keyspace.newest("/a").pending], ["1", true]);
  assert.deepEqual(keyspace.commit(made).previous, undefined);
  assert.deepEqual([keyspace.get("/a")?.value.text, keyspace.newest("/a").pending], ["1", false]);
});

test("versions staged one on the other become visible one by one", () => {
  const { keyspace, stage } = scene();
  const [one, two] = [stage("/a=1"), stage("/a=2")];
  keyspace.commit(one);
  assert.deepEqual([keyspace.get("/a")?.value.text, keyspace.newest("/a").version?.value.text], ["1", "2"]);
  assert.equal(keyspace.commit(two).previous?.value.text, "1");
});

test("what was staged in vain leaves nothing behind", () => {
  const { keyspace, stage, write, list } = scene();
  stage("/new=1");
  keyspace.unstage("/new");
  assert.equal(keyspace.newest("/new").version, undefined);
  write("/old=1");
  stage("/old=2");
  keyspace.unstage("/old");
  assert.deepEqual([list().shown, keyspace.newest("/old").version?.value.text], [["/old=1"], "1"]);
});

const lists: Record<string, { reason: string; options: object; want: readonly string[]; remaining?: number }> = {
  All: { reason: "in the order of their bytes", options: {}, want: ["/a/1=x", "/a/2=y", "/a/é=z", "/b/1=w"] },
  Prefix: { reason: "of one kind", options: { prefix: "/a/" }, want: ["/a/1=x", "/a/2=y", "/a/é=z"] },
  NoSuchPrefix: { reason: "none", options: { prefix: "/c/" }, want: [] },
  After: {
    reason: "behind a key, whether or not it is there",
    options: { after: "/a/15" },
    want: ["/a/2=y", "/a/é=z", "/b/1=w"],
  },
  AfterIt: { reason: "and not the key itself", options: { after: "/a/2" }, want: ["/a/é=z", "/b/1=w"] },
  AfterBefore: { reason: "a key before the prefix", options: { prefix: "/b/", after: "/a/1" }, want: ["/b/1=w"] },
  Limit: { reason: "some, and how many are left", options: { limit: 2 }, want: ["/a/1=x", "/a/2=y"], remaining: 2 },
  Filter: {
    reason: "those that fit",
    options: { filter: ({ value }: { value: Note }) => value.text > "x" },
    want: ["/a/2=y", "/a/é=z"],
  },
  Past: { reason: "as it was then", options: { revision: 3 }, want: ["/a/1=x", "/a/2=old"] },
};

for (const [name, { reason, options, want, remaining = 0 }] of Object.entries(lists)) {
  test(`a list: ${name}`, () => {
    const { write, list } = scene();
    write("/a/1=x", "/a/2=old", "/b/1=w", "/a/é=z", "/a/2=y", "/a/3=gone", "-/a/3");
    assert.deepEqual(list(options), { shown: want, remaining }, reason);
  });
}

test("history forgets a version and those before it; a deletion nothing has followed goes too", () => {
  const { keyspace, write, list } = scene();
  write("/a=1", "/a=2", "/a=3", "/b=1", "-/b");
  assert.deepEqual(keyspace.forget("/a", 3), [2], "the one before is needed no more");
  assert.deepEqual(keyspace.forget("/a", 4), [3]);
  assert.deepEqual(keyspace.forget("/b", 6), [5, 6], "the deletion and what it deleted");
  assert.deepEqual(keyspace.forget("/b", 6), [], "once");
  assert.deepEqual(keyspace.forget("/never", 1), []);
  assert.deepEqual(list().shown, ["/a=3"]);
});

test("a prefix that would cut a name in two is a mistake", () => {
  assert.throws(() => scene().list({ prefix: "/a" }), /a prefix ends with/);
});

test("revisions outside what is kept are refused by name", () => {
  requireKept(5, 5, 9);
  requireKept(9, 5, 9);
  assert.throws(
    () => requireKept(4, 5, 9),
    (error) => isStoreError(error, "expired"),
  );
  assert.throws(
    () => requireKept(10, 5, 9),
    (error) => isStoreError(error, "future"),
  );
});
