// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AuthChallenge, parseChallenges } from "./registry-auth.ts";

const rows: { header: string; expected: AuthChallenge[] }[] = [
  { header: "", expected: [] },
  { header: "Basic", expected: [{ scheme: "basic", parameters: {} }] },
  { header: 'Basic realm="a, b"', expected: [{ scheme: "basic", parameters: { realm: "a, b" } }] },
  {
    header: 'Bearer realm="https://auth.example.org/token",service="registry",scope="repository:a/b:pull,push"',
    expected: [
      {
        scheme: "bearer",
        parameters: {
          realm: "https://auth.example.org/token",
          service: "registry",
          scope: "repository:a/b:pull,push",
        },
      },
    ],
  },
  {
    header: 'Negotiate, Basic realm=simple, Bearer Realm = "q\\"uoted"',
    expected: [
      { scheme: "negotiate", parameters: {} },
      { scheme: "basic", parameters: { realm: "simple" } },
      { scheme: "bearer", parameters: { realm: 'q"uoted' } },
    ],
  },
  { header: 'realm="without a scheme"', expected: [] },
  { header: "???", expected: [] },
];

for (const { header, expected } of rows) {
  test(`WWW-Authenticate: ${header}`, () => assert.deepEqual(parseChallenges(header), expected));
}
