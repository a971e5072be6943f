// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseElf } from "./read-elf.ts";

/** The beginning of a 64-bit program with one header, of a kind, that points at a text. */
function elf(kind: number, text: string): Buffer {
  const head = Buffer.alloc(256);
  head.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  head.writeBigUInt64LE(64n, 32);
  head.writeUInt16LE(56, 54);
  head.writeUInt16LE(1, 56);
  head.writeUInt32LE(kind, 64);
  head.writeBigUInt64LE(128n, 72);
  head.writeBigUInt64LE(BigInt(text.length + 1), 96);
  head.write(`${text}\0`, 128);
  return head;
}

function interpreterOf(file: Buffer): string | undefined {
  return parseElf((offset, length) => file.subarray(offset, offset + length))?.interpreter;
}

const without = (change: (head: Buffer) => unknown): Buffer => {
  const head = elf(3, "/lib/ld.so");
  change(head);
  return head;
};

const rows: Record<string, { readonly head: Buffer; readonly want: string | undefined; readonly reason: string }> = {
  Linked: { head: elf(3, "/lib64/ld.so.2"), want: "/lib64/ld.so.2", reason: "it names its loader" },
  Static: { head: elf(1, "/lib64/ld.so.2"), want: undefined, reason: "no header names a loader" },
  Script: { head: Buffer.from(`#!/bin/sh\n${"x".repeat(99)}`), want: undefined, reason: "it is not an ELF file" },
  Short: { head: elf(3, "/lib/ld.so").subarray(0, 40), want: undefined, reason: "it ends within its header" },
  Narrow: { head: without((head) => head.writeUInt8(1, 4)), want: undefined, reason: "32-bit programs are not read" },
  Far: {
    head: without((head) => head.writeBigUInt64LE(9_999n, 72)),
    want: undefined,
    reason: "the name lies beyond the end",
  },
  Endless: {
    head: without((head) => head.writeUInt16LE(0, 54)),
    want: undefined,
    reason: "program headers of size 0 are ignored",
  },
};

for (const [name, { head, want, reason }] of Object.entries(rows)) {
  test(`the loader of a program: ${name}`, () => assert.equal(interpreterOf(head), want, reason));
}

test("arbitrary bytes never throw", () => {
  const bytes = fc.uint8Array({ minLength: 58, maxLength: 300 });
  fc.assert(
    fc.property(bytes, (tail) => {
      const found = interpreterOf(Buffer.concat([Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]), tail]));
      assert.ok(found === undefined || typeof found === "string");
    }),
  );
});
