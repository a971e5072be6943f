// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { TextMask } from "./masked-text.ts";

const token = (claims: object): string =>
  `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;

const cases: Readonly<Record<string, { readonly reason: string; readonly text: string; readonly want: string }>> = {
  Address: { reason: "each server has its own", text: "at https://127.0.0.1:4 now", want: "at <server> now" },
  Version: {
    reason: "versions count the writes of all clients",
    text: 'resourceVersion: "417"\nResource Version:  9',
    want: 'resourceVersion: "<version>"\nResource Version:  <version>',
  },
  NoVersion: {
    reason: "no version and version 0 are answers",
    text: 'resourceVersion: "0"',
    want: 'resourceVersion: "0"',
  },
  Generation: { reason: "generations must agree", text: "generation: 3", want: "generation: 3" },
  Times: {
    reason: "both precisions and the form of describe",
    text: "2026-01-02T03:04:05Z 2026-01-02T03:04:05.123456Z Sun, 15 Nov 2026 06:00:00 +0000",
    want: "<time> <micro-time> <time>",
  },
  Ages: {
    reason: "an age is the last cell or is followed by another",
    text: "a   1   5s\nb   1m3s   x",
    want: "a  1  <age>\nb  <age>  x",
  },
  Durations: { reason: "a duration inside a sentence was asked for", text: "within 5s of it", want: "within 5s of it" },
  Indentation: { reason: "depth means something, padding does not", text: "a:\n    b:   c", want: "a:\n    b:  c" },
  Token: {
    reason: "what a token says must agree, in whichever order",
    text: token({ sub: "me", aud: ["x"], exp: 12 }),
    want: '<token {"aud":["x"],"exp":"<seconds>","sub":"me"}>',
  },
};

for (const [name, { reason, text, want }] of Object.entries(cases)) {
  test(`mask: ${name}`, () => {
    assert.equal(new TextMask([["https://127.0.0.1:4", "<server>"]]).mask(text), want, reason);
  });
}

test("mask: one identity keeps its number, another gets the next", () => {
  const mask = new TextMask([]);
  const [one, two] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
  assert.equal(mask.mask(`${one} ${two}`), "<uid 1> <uid 2>");
  assert.equal(mask.mask(`${two} ${one}`), "<uid 2> <uid 1>");
});
