// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Decoder, Version } from "./version.ts";

interface Box {
  readonly text: string;
}

function setUp(budget: number): { decoded: () => number; make: (text: string) => Version<Box> } {
  let count = 0;
  const codec = {
    encode: (box: Box): Uint8Array => Buffer.from(box.text),
    decode: (bytes: Uint8Array): Box => {
      count += 1;
      return { text: Buffer.from(bytes).toString() };
    },
  };
  const decoder = new Decoder<Box>(codec, budget);
  const make = (text: string): Version<Box> =>
    new Version({
      key: "/k",
      revision: 1,
      createRevision: 1,
      bytes: codec.encode({ text }),
      expiresAt: undefined,
      decoder,
    });
  return { decoded: () => count, make };
}

test("a value is decoded when first asked for, and once", () => {
  const { decoded, make } = setUp(1000);
  const version = make("a");
  assert.equal(decoded(), 0);
  assert.equal(version.value, version.value);
  assert.deepEqual([version.value, decoded()], [{ text: "a" }, 1]);
});

test("a value that is still referenced is the same one, however many others were read since", () => {
  const { make } = setUp(10);
  const version = make("held");
  const held = version.value;
  for (let i = 0; i < 1000; i += 1) {
    assert.equal(make(`other ${i}`).value.text, `other ${i}`);
  }
  assert.equal(version.value, held);
});

test("a value without references may be dropped and is decoded again", async () => {
  const { make } = setUp(10);
  const versions = Array.from({ length: 2000 }, (_, i) => make(`value ${i}`));
  for (let round = 0; round < 3; round += 1) {
    for (const [i, version] of versions.entries()) {
      assert.equal(version.value.text, `value ${i}`);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
});
