// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { composedFieldManager } from "../composite/apply/apply-composed.ts";
import { composedName, unusedName } from "./crossplane-fields.ts";

const uid = "2f6c1f0e-9a3b-4f0e-8b1d-0c5d7a9e4b21";

const vectors: Readonly<Record<string, { reason: string; prefix: string; resource: string; want: string }>> = {
  Hyphen: {
    reason: "a prefix that ends in -",
    prefix: "shop-db-",
    resource: "bucket",
    want: "shop-db-3bd6cf62359c",
  },
  NoHyphen: { reason: "- is added once", prefix: "shop-db", resource: "bucket", want: "shop-db-3bd6cf62359c" },
  Other: {
    reason: "another resource name",
    prefix: "shop-db-",
    resource: "vpc",
    want: "shop-db-da48c9be6240",
  },
  Long: {
    reason: "a prefix that is too long is cut",
    prefix: "a".repeat(70),
    resource: "bucket",
    want: `${"a".repeat(50)}-3bd6cf62359c`,
  },
  LongHyphen: {
    reason: "a cut that ends in - gets no second one",
    prefix: `${"a".repeat(50)}-${"b".repeat(20)}`,
    resource: "bucket",
    want: `${"a".repeat(50)}-3bd6cf62359c`,
  },
  Empty: { reason: "no prefix, no -", prefix: "", resource: "bucket", want: "3bd6cf62359c" },
  JustFits: {
    reason: "63 characters are not cut",
    prefix: `${"a".repeat(50)}-`,
    resource: "bucket",
    want: `${"a".repeat(50)}-3bd6cf62359c`,
  },
};

for (const [name, { reason, prefix, resource, want }] of Object.entries(vectors)) {
  test(`name of a composed resource, ${name}: ${reason}`, () => {
    assert.equal(composedName(prefix, uid, resource), want);
  });
}

test("another owner gives another name", () => {
  assert.notEqual(composedName("a-", uid, "bucket"), composedName("a-", "another", "bucket"));
});

test("names never exceed 63 characters and always end in the suffix of owner and resource", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9.-]{0,300}$/), fc.string(), (prefix, resource) => {
      const name = composedName(prefix, uid, resource);
      assert.ok(name.length <= 63, name);
      assert.equal(name.slice(-12), composedName("", uid, resource));
    }),
  );
});

test("a taken name is not used, the next one is", async () => {
  const asked: string[] = [];
  const name = await unusedName("web-", async (candidate) => asked.push(candidate) === 1);
  assert.equal(asked.length, 2);
  assert.equal(name, asked[1]);
  assert.match(name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

test("after ten taken names it gives up", async () => {
  let asked = 0;
  const everything = async (): Promise<boolean> => {
    asked++;
    return true;
  };
  await assert.rejects(unusedName("web-", everything), { message: "cannot generate a name for a resource" });
  assert.equal(asked, 10);
});

test("a lookup that fails is reported", async () => {
  const boom = new Error("boom");
  await assert.rejects(
    unusedName("web-", () => Promise.reject(boom)),
    (error) => error === boom,
  );
});

const managers: Readonly<Record<string, { apiVersion: string; kind: string; name: string; want: string }>> = {
  Group: {
    apiVersion: "example.org/v1",
    kind: "XDatabase",
    name: "shop-db",
    want: "ffa7dbf925a26246725a2b599f1dbf187ce908c96c52ce7a16c6e4df9cf9b145",
  },
  OtherVersion: {
    apiVersion: "example.org/v1alpha1",
    kind: "XDatabase",
    name: "shop-db",
    want: "ffa7dbf925a26246725a2b599f1dbf187ce908c96c52ce7a16c6e4df9cf9b145",
  },
};

for (const [name, { apiVersion, kind, name: xr, want }] of Object.entries(managers)) {
  test(`field manager of composed resources, ${name}: all 64 digits, no version`, () => {
    const object = { apiVersion, kind, metadata: { name: xr, namespace: "anywhere", uid } };
    assert.equal(composedFieldManager(object), `apiextensions.crossplane.io/composed/${want}`);
  });
}
