// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import {
  deepFreeze,
  equalGvk,
  formatApiVersion,
  formatGvk,
  groupOf,
  gvkOf,
  memberAt,
  numberAt,
  objectAt,
  parseApiVersion,
  textAt,
  textMapAt,
  textsAt,
  withMember,
} from "./kube-object.ts";

const parsing: Record<string, { reason: string; text: string; group: string; version: string }> = {
  Core: { reason: "no slash is the core group", text: "v1", group: "", version: "v1" },
  Named: { reason: "one slash splits", text: "apps/v1", group: "apps", version: "v1" },
  Dotted: { reason: "groups have dots", text: "example.org/v1alpha1", group: "example.org", version: "v1alpha1" },
  Empty: { reason: "empty is the core group without a version", text: "", group: "", version: "" },
  Slash: { reason: "a lone slash counts as empty", text: "/", group: "", version: "" },
  NoVersion: { reason: "a missing version is kept missing", text: "apps/", group: "apps", version: "" },
  NoGroup: { reason: "a missing group is the core group", text: "/v1", group: "", version: "v1" },
};

for (const [name, { reason, text, group, version }] of Object.entries(parsing)) {
  test(`parseApiVersion ${name}: ${reason}`, () => {
    assert.deepEqual(parseApiVersion(text), { group, version });
  });
}

for (const text of ["a/b/c", "//", "a/b/", "a/b/c/d"]) {
  test(`parseApiVersion refuses ${text} and names it`, () => {
    assert.throws(() => parseApiVersion(text), { message: `unexpected GroupVersion string: ${text}` });
  });
}

test("parse and format are opposites", () => {
  const part = fc.string({ minLength: 1 }).filter((text) => !text.includes("/"));
  fc.assert(
    fc.property(fc.oneof(fc.constant(""), part), part, (group, version) => {
      assert.deepEqual(parseApiVersion(formatApiVersion({ group, version })), { group, version });
    }),
  );
});

test("gvkOf reads an object", () => {
  const gvk = gvkOf({ apiVersion: "apps/v1", kind: "Deployment" });
  assert.deepEqual(gvk, { group: "apps", version: "v1", kind: "Deployment" });
  assert.equal(formatGvk(gvk), "apps/v1, Kind=Deployment");
  assert.equal(formatGvk(gvkOf({ apiVersion: "v1", kind: "Pod" })), "v1, Kind=Pod");
});

test("gvkOf names what an object lacks", () => {
  for (const apiVersion of [undefined, "", 5, null]) {
    assert.throws(() => gvkOf({ apiVersion, kind: "Pod" }), /object has no apiVersion/);
  }
  for (const kind of [undefined, "", {}]) assert.throws(() => gvkOf({ apiVersion: "v1", kind }), /object has no kind/);
  assert.throws(() => gvkOf({ apiVersion: "a/b/c", kind: "X" }), /a\/b\/c/);
});

test("equalGvk compares all three", () => {
  const gvk = { group: "apps", version: "v1", kind: "Deployment" };
  assert.ok(equalGvk(gvk, { ...gvk }));
  for (const change of [{ group: "" }, { version: "v2" }, { kind: "Pod" }]) {
    assert.ok(!equalGvk(gvk, { ...gvk, ...change }));
  }
});

test("the group of an apiVersion is what stands before the slash", () => {
  assert.equal(groupOf("apps/v1"), "apps");
  assert.equal(groupOf("v1"), "");
  assert.equal(groupOf(""), "");
  assert.equal(groupOf("a/b/c"), "a");
});

const sample = deepFreeze({
  spec: { name: "a", empty: "", count: 0, none: null, list: ["x", 1, "y"], map: { k: "v" } },
});

const reads: Readonly<Record<string, { path: readonly string[]; want: unknown; reason: string }>> = {
  Deep: { path: ["spec", "map", "k"], want: "v", reason: "a value far inside" },
  Whole: { path: [], want: sample, reason: "no path is the object itself" },
  Missing: { path: ["spec", "other", "k"], want: undefined, reason: "a missing member on the path" },
  ThroughText: { path: ["spec", "name", "length"], want: undefined, reason: "a text has no members" },
  ThroughList: { path: ["spec", "list", "0"], want: undefined, reason: "a list has no members" },
  Null: { path: ["spec", "none"], want: null, reason: "null is a value" },
  ThroughNull: { path: ["spec", "none", "k"], want: undefined, reason: "but has no members" },
  Inherited: { path: ["spec", "constructor"], want: undefined, reason: "what every object inherits is not in it" },
};

for (const [name, { path, want, reason }] of Object.entries(reads)) {
  test(`reading, ${name}: ${reason}`, () => assert.deepEqual(memberAt(sample, path), want));
}

test("a number beyond 2^53 is a number", () => {
  assert.equal(numberAt({ n: 2n ** 60n }, ["n"]), 2 ** 60);
  assert.equal(numberAt({ n: "1" }, ["n"]), 0);
});

test("readers of one shape take anything else for nothing", () => {
  assert.deepEqual(objectAt(sample, ["spec", "map"]), { k: "v" });
  assert.deepEqual(objectAt(sample, ["spec", "list"]), {});
  assert.equal(textAt(sample, ["spec", "name"]), "a");
  assert.equal(textAt(sample, ["spec", "empty"]), undefined, "an empty text counts as absent");
  assert.equal(textAt(sample, ["spec", "count"]), undefined);
  assert.deepEqual(textsAt(sample, ["spec", "list"]), ["x", "y"]);
  assert.deepEqual(textsAt(sample, ["spec", "map"]), []);
  assert.deepEqual(textMapAt(sample, ["spec", "map"]), { k: "v" });
  assert.equal(textMapAt(sample, ["spec", "none"]), undefined);
});

const writes: Readonly<Record<string, { path: readonly string[]; value: JsonValue | undefined; want: unknown }>> = {
  Sets: { path: ["a", "b"], value: 2, want: { a: { b: 2, c: 1 } } },
  Makes: { path: ["x", "y", "z"], value: 1, want: { a: { b: 1, c: 1 }, x: { y: { z: 1 } } } },
  Removes: { path: ["a", "b"], value: undefined, want: { a: { c: 1 } } },
  RemovesNothing: { path: ["x", "y"], value: undefined, want: { a: { b: 1, c: 1 } } },
  Replaces: { path: ["a"], value: "text", want: { a: "text" } },
  ReplacesOnTheWay: { path: ["a", "b", "c"], value: 3, want: { a: { b: { c: 3 }, c: 1 } } },
};

for (const [name, { path, value, want }] of Object.entries(writes)) {
  test(`writing, ${name}: the original stays as it was`, () => {
    const original = deepFreeze({ a: { b: 1, c: 1 } });
    assert.deepEqual(withMember(original, path, value), want);
    assert.deepEqual(original, { a: { b: 1, c: 1 } });
  });
}

test("what changes nothing is the same object, and what is off the path is shared", () => {
  const original = deepFreeze({ a: { b: 1 }, other: { deep: [1] } });
  assert.equal(withMember(original, ["a", "b"], 1), original);
  assert.equal(withMember(original, ["a", "x"], undefined), original);
  assert.equal(withMember(original, [], 1), original);
  const changed = withMember(original, ["a", "b"], 2);
  assert.equal(changed.other, original.other);
});

test("a name that means something to JavaScript is a name like any other", () => {
  const changed = withMember({} as JsonObject, ["__proto__", "polluted"], true);
  assert.equal(memberAt(changed, ["__proto__", "polluted"]), true);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});

const name = fc.constantFrom("a", "b", "c", "__proto__", "constructor", "x.y/z");
const path = fc.array(name, { minLength: 1, maxLength: 4 });
const value = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null));

test("what was written is read, elsewhere nothing changes, and taking it away takes it away", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(path, value), { maxLength: 5 }), path, value, (before, at, written) => {
      const original = before.reduce((object, [where, what]) => withMember(object, where, what), {} as JsonObject);
      const copy = structuredClone(original);
      const changed = withMember(original, at, written);
      assert.deepEqual(memberAt(changed, at), written);
      assert.deepEqual(original, copy);
      assert.equal(memberAt(withMember(changed, at, undefined), at), undefined);
      for (const key of Object.keys(original)) {
        if (key !== at[0]) assert.equal(memberAt(changed, [key]), memberAt(original, [key]));
      }
    }),
  );
});
