// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { sandboxOf } from "../../test/local-processes.ts";
import { linkedFiles, parseElf, parseLibraryCache, readElf } from "./linked-files.ts";

/** Runs a program that sees the given files and nothing else. */
function runAlone(bwrap: string, program: string, args: readonly string[]): string {
  const files = { ...linkedFiles(program), "/program": program };
  const binds = Object.entries(files).flatMap(([inside, outside]) => ["--ro-bind", outside, inside]);
  const words = ["--unshare-all", ...binds, "--clearenv", "--", "/program", ...args];
  const { stdout, stderr } = spawnSync(bwrap, words, { encoding: "utf8" });
  return `${stdout}${stderr}`;
}

test("a program runs with the files that it is linked with, and nothing else in sight", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  const list = "console.log(require('node:fs').readdirSync('/').sort().join())";
  const roots = new Set([...Object.keys(linkedFiles(process.execPath)).map((path) => path.split("/")[1]), "program"]);
  assert.equal(runAlone(support.program, process.execPath, ["-e", list]), `${[...roots].sort().join()}\n`);
  assert.match(runAlone(support.program, support.program, ["--version"]), /^bubblewrap /);
});

test("libraries are files for the same processor, and their number is small", () => {
  const files = Object.values(linkedFiles(process.execPath));
  const machine = readElf(process.execPath)?.machine;
  for (const file of files) assert.equal(readElf(file)?.machine, machine, file);
  assert.ok(files.length < 40, files.join());
});

test("a static program needs no linked files", () => {
  assert.deepEqual(linkedFiles(new URL(import.meta.url).pathname), {});
});

/** A cache as glibc writes it: entries of name, path and required processor. */
function cacheOf(entries: readonly (readonly [name: string, path: string, hwcap?: bigint])[], before = ""): Buffer {
  const head = Buffer.alloc(48 + 24 * entries.length);
  head.write("glibc-ld.so.cache1.1");
  head.writeUInt32LE(entries.length, 20);
  let texts = "";
  for (const [index, [name, path, hwcap = 0n]] of entries.entries()) {
    const at = 48 + 24 * index;
    head.writeUInt32LE(head.length + texts.length, at + 4);
    head.writeUInt32LE(head.length + texts.length + name.length + 1, at + 8);
    head.writeBigUInt64LE(hwcap, at + 16);
    texts += `${name}\0${path}\0`;
  }
  return Buffer.concat([Buffer.from(before), head, Buffer.from(texts)]);
}

test("the cache of glibc is read, also behind an older one, without entries for newer processors", () => {
  const entries = [
    ["liba.so.1", "/lib/x/liba.so.1"],
    ["liba.so.1", "/lib32/liba.so.1"],
    ["libb.so", "/fast/libb.so", 1n],
  ] as const;
  const want = new Map([["liba.so.1", ["/lib/x/liba.so.1", "/lib32/liba.so.1"]]]);
  assert.deepEqual(parseLibraryCache(cacheOf(entries)), want);
  assert.deepEqual(parseLibraryCache(cacheOf(entries, "ld.so-1.7.0, and what follows it")), want);
});

test("a cache that is cut or made of other bytes has no libraries", () => {
  const whole = cacheOf([["liba.so.1", "/lib/liba.so.1"]]);
  for (let end = 0; end < whole.length; end++) {
    for (const paths of parseLibraryCache(whole.subarray(0, end)).values()) assert.ok(Array.isArray(paths));
  }
  assert.equal(parseLibraryCache(Buffer.from("something else")).size, 0);
});

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
