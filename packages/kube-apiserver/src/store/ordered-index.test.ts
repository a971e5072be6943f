// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { byteOrdered, OrderedIndex } from "./ordered-index.ts";

const keysFrom = (index: OrderedIndex<{ key: string }>, key: string): string[] =>
  [...index.from(key)].map((i) => i.key);

test("random additions and removals give the same order as sorting a set", () => {
  const key = fc.nat({ max: 3000 }).map((n) => `/${n}`);
  const operation = fc.record({ add: fc.boolean(), key });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 4000, size: "max" }), key, (operations, from) => {
      const index = new OrderedIndex<{ key: string }>();
      const model = new Set<string>();
      for (const { add, key } of operations) {
        if (!add) {
          index.remove(key);
          model.delete(key);
        } else if (!model.has(key)) {
          index.add({ key });
          model.add(key);
        }
      }
      const sorted = [...model].sort();
      assert.equal(index.size, model.size);
      assert.deepEqual(keysFrom(index, ""), sorted);
      assert.deepEqual(
        keysFrom(index, from),
        sorted.filter((key) => key >= from),
      );
    }),
    { numRuns: 30 },
  );
});

const orders: Record<string, (n: number, i: number) => number> = {
  Ascending: (_n, i) => i,
  Descending: (n, i) => n - i,
  Scattered: (n, i) => (i * 7919) % n,
};

for (const [name, position] of Object.entries(orders)) {
  test(`20,000 keys added and removed: ${name}`, () => {
    const count = 20_000;
    const index = new OrderedIndex<{ key: string }>();
    const keys = Array.from({ length: count }, (_, i) => `/${String(position(count, i)).padStart(6, "0")}`);
    for (const key of keys) {
      index.add({ key });
    }
    assert.deepEqual(keysFrom(index, ""), [...keys].sort());
    for (const key of keys.slice(5)) {
      index.remove(key);
    }
    assert.deepEqual(keysFrom(index, ""), keys.slice(0, 5).sort());
    for (const key of keys) {
      index.remove(key);
    }
    assert.deepEqual([index.size, keysFrom(index, "")], [0, []]);
  });
}

test("removing what is not there changes nothing", () => {
  const index = new OrderedIndex<{ key: string }>();
  index.remove("/a");
  index.add({ key: "/b" });
  index.remove("/a");
  index.remove("/c");
  assert.deepEqual(keysFrom(index, ""), ["/b"]);
});

const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme-ascii" }));

test("byte-ordered text sorts as its UTF-8 bytes do", () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      const [x, y] = [byteOrdered(a), byteOrdered(b)];
      const order = x < y ? -1 : x > y ? 1 : 0;
      assert.equal(order, Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

test("the case JavaScript gets wrong: beyond U+FFFF sorts behind U+FFFD", () => {
  assert.ok("\u{1F600}" < "\uFFFD", "JavaScript's own order");
  assert.ok(byteOrdered("\u{1F600}") > byteOrdered("\uFFFD"));
});

test("prefixes stay prefixes", () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.ok(byteOrdered(a + b).startsWith(byteOrdered(a)));
    }),
  );
});
