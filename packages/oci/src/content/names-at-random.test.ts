// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseChallenges } from "../client/registry-auth.ts";
import { dnsLabel, friendlyName } from "../xpkg/package-meta.ts";
import { formatReference, identifierOf, isImageReferenceError, parseReference, sourceOf } from "./image-reference.ts";

const hex = fc
  .array(fc.constantFrom(..."0123456789abcdef"), { minLength: 64, maxLength: 64 })
  .map((digits) => digits.join(""));
const host = fc.constantFrom(
  "registry.example.org",
  "127.0.0.1:5000",
  "localhost:5000",
  "[::1]:80",
  "r",
  "R.Example.ORG:443",
);
const part = fc.constantFrom("acme", "f", "a-b", "a__b", "a.b", "x1", "a--b");
const repository = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const tag = fc.option(fc.constantFrom("v1", "latest", "1.0_x", "_", "V-1"), { nil: undefined });
const digest = fc.option(
  hex.map((digits) => `sha256:${digits}`),
  { nil: undefined },
);

test("parsing and formatting a reference round-trip", () => {
  fc.assert(
    fc.property(host, repository, tag, digest, (registry, path, named, pinned) => {
      fc.pre(named !== undefined || pinned !== undefined);
      const text = `${registry}/${path}${named === undefined ? "" : `:${named}`}${pinned === undefined ? "" : `@${pinned}`}`;
      const read = parseReference(text);
      assert.deepEqual([read.registry, read.repository, read.tag, read.digest], [registry, path, named, pinned]);
      assert.equal(formatReference(read), text);
      assert.equal(sourceOf(read), `${registry}/${path}`);
      assert.equal(identifierOf(read), pinned ?? named);
    }),
  );
});

test("any other text is rejected with an error of ours", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 300, unit: "binary" }), (text) => {
      try {
        assert.equal(formatReference(parseReference(text)), text);
      } catch (error) {
        assert.ok(isImageReferenceError(error), String(error));
      }
    }),
  );
});

test("a name crafted for slow matching is rejected quickly", () => {
  const rows = [
    `r.io/${"a-".repeat(5000)}!`,
    `r.io/${"a/".repeat(5000)}`,
    `${"a.".repeat(5000)}/f:v1`,
    `r.io/f:${"v".repeat(50_000)}`,
    `r.io/f@${"sha256:".repeat(9000)}`,
  ];
  for (const text of rows) assert.throws(() => parseReference(text), isImageReferenceError);
});

test("names of revisions are labels of at most 63 characters that start with their package's", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 300 }), hex, (name, id) => {
      const label = friendlyName(name, id);
      assert.match(label, /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
      assert.ok(label.length <= 63);
      assert.ok(label.endsWith(id.slice(0, 12)));
    }),
  );
});

test("a label made from a label is that label", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 100 }), (text) => assert.equal(dnsLabel(dnsLabel(text)), dnsLabel(text))),
  );
});

const token = fc.constantFrom("Bearer", "Basic", "Negotiate", "X-Own_1");
const parameters = fc.dictionary(
  fc.constantFrom("realm", "service", "scope", "error"),
  fc.string({ maxLength: 30, unit: "grapheme-ascii" }),
);

test("challenges are read as they were meant, however they are quoted", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(token, parameters), { maxLength: 3 }), (challenges) => {
      const quote = (value: string): string => `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
      const header = challenges
        .map(([scheme, values]) =>
          `${scheme} ${Object.entries(values)
            .map(([key, value]) => `${key}=${quote(value)}`)
            .join(", ")}`.trim(),
        )
        .join(", ");
      const expected = challenges.map(([scheme, values]) => ({
        scheme: scheme.toLowerCase(),
        parameters: { ...values },
      }));
      assert.deepEqual(parseChallenges(header), expected);
    }),
  );
});

test("arbitrary headers are parsed quickly", () => {
  fc.assert(fc.property(fc.string({ maxLength: 500 }), (header) => void parseChallenges(header)));
  for (const header of [
    'Bearer a="'.repeat(5000),
    "Bearer ".repeat(20_000),
    `Bearer realm="${"\\".repeat(100_001)}`,
    "=".repeat(50_000),
  ]) {
    assert.ok(Array.isArray(parseChallenges(header)));
  }
});
