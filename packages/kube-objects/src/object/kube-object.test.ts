// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { equalGvk, formatApiVersion, formatGvk, groupOf, gvkOf, parseApiVersion } from "./kube-object.ts";

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
