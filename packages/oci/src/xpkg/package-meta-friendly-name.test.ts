// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { dnsLabel, friendlyName } from "./package-meta.ts";

const digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const withGeneration = (generation: number): string =>
  createHash("sha256").update(`${digest}|${generation}`).digest("hex");

const revisions: { name: string; id: string; expected: string; why: string }[] = [
  { name: "function-bucket", id: digest, expected: "function-bucket-2cf24dba5fb0", why: "by digest" },
  { name: "function-bucket", id: withGeneration(1), expected: "function-bucket-5d16ee38ddf6", why: "generation 1" },
  { name: "function-bucket", id: withGeneration(2), expected: "function-bucket-70c0d022c734", why: "generation 2" },
  { name: "n".repeat(60), id: digest, expected: `${"n".repeat(50)}-2cf24dba5fb0`, why: "at most 63 characters" },
  { name: "acme.function.bucket", id: digest, expected: "acme-function-bucket-2cf24dba5fb0", why: "dots" },
];

for (const { name, id, expected, why } of revisions) {
  test(`revision name, ${why}`, () => assert.equal(friendlyName(name, id), expected));
}

test("labels", () => {
  const rows: [text: string, label: string][] = [
    ["acme/function-bucket", "acme-function-bucket"],
    ["registry.example.org/acme/f:v1", "registry-example-org-acme-f-v1"],
    ["UPPER_case", "case"],
    ["-leading", "leading"],
    ["trailing-", "trailing"],
    ["", ""],
    [`${"a".repeat(62)}/b`, "a".repeat(62)],
  ];
  for (const [text, label] of rows) assert.equal(dnsLabel(text), label, text);
});
