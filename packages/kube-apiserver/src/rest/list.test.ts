// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isBadRequest } from "@purlin/kube-objects/errors";
import fc from "fast-check";
import { continueExpired, decodeContinue, encodeContinue } from "./list.ts";

const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const withRevision = (rv: string): string =>
  Buffer.from(`{"v":"meta.k8s.io/v1","rv":${rv},"start":"/a"}`).toString("base64url");

test("a token comes back as what it was made of", () => {
  const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/).filter((text) => !text.includes(".."));
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fc.array(name, { minLength: 1, maxLength: 2 }), (revision, parts) => {
      const made = { revision, after: parts.join("/") };
      assert.deepEqual(decodeContinue(encodeContinue(made)), made);
    }),
  );
});

test("the form is the reference's", () => {
  const encoded = encodeContinue({ revision: 7, after: "ns/name" });
  assert.deepEqual(JSON.parse(Buffer.from(encoded, "base64url").toString()), {
    v: "meta.k8s.io/v1",
    rv: 7,
    start: "/ns/name\u0000",
  });
  assert.doesNotMatch(encoded, /[=+/]/);
});

const refusals: Record<string, { token: string; want: RegExp }> = {
  Base64: { token: "a!b", want: /illegal base64 data at input byte 1$/ },
  Json: { token: Buffer.from("nope").toString("base64url"), want: /invalid character/ },
  Version: { token: token({ v: "v9", rv: 1, start: "a" }), want: /does not recognize this encoded version v9$/ },
  NoRevision: { token: token({ v: "meta.k8s.io/v1", start: "a" }), want: /incorrect encoded start resourceVersion/ },
  NoStart: { token: token({ v: "meta.k8s.io/v1", rv: 1 }), want: /encoded start key empty/ },
  Climbing: {
    token: token({ v: "meta.k8s.io/v1", rv: 1, start: "../secrets/a" }),
    want: /continue key is not valid: \.\.\/secrets\/a$/,
  },
  List: { token: token([1]), want: /: json: cannot unmarshal array into Go value of type storage.continueToken$/ },
  Nothing: { token: token(null), want: /does not recognize this encoded version $/ },
  Text: {
    token: token({ v: "meta.k8s.io/v1", rv: "5", start: 5 }),
    want: /cannot unmarshal string into Go struct field continueToken.rv of type int64$/,
  },
  Fraction: { token: withRevision("1.0"), want: /cannot unmarshal number 1\.0 into Go struct field continueToken.rv/ },
  TooLarge: { token: withRevision("9223372036854775808"), want: /number 9223372036854775808 into .* type int64$/ },
  Start: {
    token: token({ v: "meta.k8s.io/v1", rv: 1, start: {} }),
    want: /cannot unmarshal object into Go struct field continueToken.start of type string$/,
  },
};

for (const [name, { token: bad, want }] of Object.entries(refusals)) {
  test(`no token: ${name}`, () => {
    assert.throws(
      () => decodeContinue(bad),
      (error) => isBadRequest(error) && want.test(String(error)),
    );
  });
}

test("an expired token carries one that continues without the promise of one state", () => {
  const { status } = continueExpired("ns/name");
  assert.deepEqual([status.code, status.reason], [410, "Expired"]);
  assert.deepEqual(decodeContinue(status.metadata.continue ?? ""), { revision: -1, after: "ns/name" });
});
