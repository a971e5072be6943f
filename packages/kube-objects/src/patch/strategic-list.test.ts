// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import fc from "fast-check";
import type { JsonValue } from "../json/json-value.ts";
import { PatchDocument } from "./patch-document.ts";
import { findingPlaces, identityOf, ordering } from "./strategic-list.ts";

const order = (merged: string, patch: string, server: string): string =>
  finish(ordering([...merged], { patch: [...patch], server: [...server], mergeKey: "" })).join("");

test("the patch decides about its items, the server about its own, and between them the server's order counts", () => {
  const rows: ReadonlyArray<readonly [string, string, string, string, string]> = [
    ["server items keep their places around patched ones", "abc", "b", "abc", "abc"],
    ["patched items come in the order of the patch", "abc", "ca", "abc", "bca"],
    ["a new item comes before server items behind the next patched one", "abn", "n", "ab", "nab"],
    ["a new item after a patched one", "abn", "an", "ab", "anb"],
    ["all in the patch", "abc", "cba", "abc", "cba"],
    ["none in the patch", "abc", "", "cab", "cab"],
    ["nothing", "", "ab", "ab", ""],
  ];
  for (const [reason, merged, patch, server, want] of rows) assert.equal(order(merged, patch, server), want, reason);
});

test("items are distinguished by their merge key, or by their value, and never across types", () => {
  assert.equal(identityOf({ name: "a", x: 1 }, "name"), identityOf({ name: "a" }, "name"));
  assert.notEqual(identityOf({ k: 1 }, "k"), identityOf({ k: "1" }, "k"));
  assert.notEqual(identityOf(1, ""), identityOf("1", ""));
  assert.throws(
    () => identityOf({ x: 1 }, "name"),
    /^Error: map: map\[x:1\] does not contain declared merge key: name$/,
  );
  assert.throws(
    () => identityOf("x", "name"),
    /^Error: expected a map\[string\]interface \{\}, but received a string$/,
  );
  assert.deepEqual([...finish(findingPlaces(["a", "b", "a"], "")).values()], [0, 1]);
});

test("property: ordering loses and invents nothing, and keeps the order of each side", () => {
  const letters = fc.uniqueArray(fc.constantFrom(..."abcdefgh"), { maxLength: 8 });
  fc.assert(
    fc.property(letters, letters, letters, (merged, patch, server) => {
      const out = finish(ordering(merged, { patch, server, mergeKey: "" })) as string[];
      assert.deepEqual([...out].sort(), [...merged].sort());
      const kept = (side: readonly string[]): string[] => out.filter((item) => side.includes(item));
      assert.deepEqual(
        kept(patch),
        patch.filter((item) => merged.includes(item)),
      );
      const serverOnly = server.filter((item) => merged.includes(item) && !patch.includes(item));
      assert.deepEqual(
        kept(server).filter((item) => !patch.includes(item)),
        serverOnly,
      );
    }),
  );
});

test("a document is copied where it changes, once, and shared where it does not", () => {
  const start = Object.freeze({ a: Object.freeze({ b: 1 }), c: Object.freeze([Object.freeze({ d: 1 })]) });
  const document = new PatchDocument(start as JsonValue);
  const place = finish(document.find("/a/b"));
  assert.ok(place);
  document.set(place, 2);
  const changed = document.value as { a: object; c: object };
  assert.equal(changed.c, start.c, "untouched parts are the very same");
  assert.notEqual(changed.a, start.a);
  const again = finish(document.find("/a/x"));
  assert.ok(again);
  document.set(again, 3);
  assert.equal((document.value as { a: object }).a, changed.a, "ours already, so changed in place");
  assert.deepEqual(start, { a: { b: 1 }, c: [{ d: 1 }] });
});

test("places: lists by position, objects by key, nothing through scalars", () => {
  const document = new PatchDocument({ l: [{ x: 1 }, 5], s: "text", n: null, "": { "": 1 } });
  const get = (path: string): JsonValue | undefined => {
    const place = finish(document.find(path));
    return place && document.get(place);
  };
  assert.equal(get("/l/0/x"), 1);
  assert.equal(get("/l/-2/x"), 1);
  assert.equal(get("/l/+1"), 5);
  assert.equal(get("//"), 1);
  assert.equal(get("ignored/s"), "text");
  for (const path of ["/s/0", "/n/x", "/l/9/x", "/l/x/y", "/zzz/y", "none", ""]) {
    assert.equal(finish(document.find(path)), undefined, path);
  }
  for (const path of ["/l/2", "/l/-3", "/l/x", "/l/1.5", "/l/99999999999"]) assert.throws(() => get(path), path);
});
