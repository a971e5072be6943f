// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatReference, identifierOf, parseReference, parseRepository, sourceOf } from "./image-reference.ts";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

const readable: { text: string; source: string; identifier: string }[] = [
  { text: "registry.example.org/acme/f:v1", source: "registry.example.org/acme/f", identifier: "v1" },
  { text: "127.0.0.1:5000/x:v1", source: "127.0.0.1:5000/x", identifier: "v1" },
  { text: "[::1]:5000/x:v1", source: "[::1]:5000/x", identifier: "v1" },
  { text: `registry.local:5000/a/b/c@${digest}`, source: "registry.local:5000/a/b/c", identifier: digest },
  // The digest counts: it cannot move. The tag is for readers, and is not part of the source.
  {
    text: `registry.example.org/a__b/c-d.e:v1.0_x@${digest}`,
    source: "registry.example.org/a__b/c-d.e",
    identifier: digest,
  },
];

for (const { text, source, identifier } of readable) {
  test(`${text} is an image`, () => {
    const reference = parseReference(text);
    assert.equal(formatReference(reference), text);
    assert.equal(sourceOf(reference), source);
    assert.equal(identifierOf(reference), identifier);
  });
}

const unreadable: { text: string; problem: RegExp }[] = [
  { text: "", problem: /has no registry/ },
  { text: "function-bucket:v1", problem: /has no registry/ },
  { text: "registry.example.org/acme/f", problem: /neither tag nor digest/ },
  { text: "registry.example.org/acme/f:", problem: /"" is not a valid tag/ },
  { text: "registry.example.org/ACME/f:v1", problem: /"ACME\/f" is not a valid repository/ },
  { text: "registry.example.org/../f:v1", problem: /is not a valid repository/ },
  { text: "registry.example.org//f:v1", problem: /is not a valid repository/ },
  { text: "user@registry.example.org/f:v1", problem: /has no registry/ },
  { text: "regi stry/f:v1", problem: /is not a valid host/ },
  { text: "registry.example.org/f@sha256:1234", problem: /64 hexadecimal digits/ },
  { text: `registry.example.org/f@${digest}@${digest}`, problem: /64 hexadecimal digits/ },
  { text: `registry.example.org/${"a".repeat(256)}:v1`, problem: /is not a valid repository/ },
];

for (const { text, problem } of unreadable) {
  test(`invalid image reference ${JSON.stringify(text.slice(0, 60))}`, () => {
    assert.throws(() => parseReference(text), problem);
  });
}

test("a repository alone is enough where any version will do", () => {
  assert.equal(sourceOf(parseRepository("registry.example.org/acme/f")), "registry.example.org/acme/f");
});
