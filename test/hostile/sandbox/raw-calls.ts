// SPDX-License-Identifier: Apache-2.0
// A program that makes system calls by number, as a list of bytes: Node offers none of those that are of interest here.

/** A system call: its number and up to six arguments. */
export interface RawCall {
  readonly number: number;
  readonly args: readonly number[];
}

const loadedAt = 0x40_0000;
const headerBytes = 64 + 56;
const memoryBytes = 0x3000;
const buffer = loadedAt + 0x2000;
const recordBytes = 56;

const number32 = (value: number): number[] => [
  value & 0xff,
  (value >> 8) & 0xff,
  (value >> 16) & 0xff,
  (value >> 24) & 0xff,
];

/** How a program enters the kernel: as 64-bit programs do, or as 32-bit ones, whose calls have other numbers. */
export const entries = { own: [0x0f, 0x05], foreign: [0xcd, 0x80] } as const;

/** x86-64 code that reads records of seven numbers from standard input, makes the call, and writes what it returned. */
function code(entry: readonly number[]): Buffer {
  const start = [
    ...[0x31, 0xc0, 0x31, 0xff, 0xbe, ...number32(buffer), 0xba, ...number32(recordBytes)], // read(0, buffer, 56)
    ...entries.own,
    ...[0x83, 0xf8, recordBytes, 0x75], // anything but a whole record is the end
  ];
  const body = [
    ...[0x48, 0x8b, 0x04, 0x25, ...number32(buffer)], // rax
    ...[0x48, 0x8b, 0x3c, 0x25, ...number32(buffer + 8)], // rdi
    ...[0x48, 0x8b, 0x34, 0x25, ...number32(buffer + 16)], // rsi
    ...[0x48, 0x8b, 0x14, 0x25, ...number32(buffer + 24)], // rdx
    ...[0x4c, 0x8b, 0x14, 0x25, ...number32(buffer + 32)], // r10
    ...[0x4c, 0x8b, 0x04, 0x25, ...number32(buffer + 40)], // r8
    ...[0x4c, 0x8b, 0x0c, 0x25, ...number32(buffer + 48)], // r9
    ...entry,
    ...[0x48, 0x89, 0x04, 0x25, ...number32(buffer)],
    ...[0xb8, 1, 0, 0, 0, 0xbf, 1, 0, 0, 0, 0xbe, ...number32(buffer), 0xba, 8, 0, 0, 0], // write(1, buffer, 8)
    ...entries.own,
  ];
  const back = -(start.length + 1 + body.length + 5);
  const end = [0xb8, 60, 0, 0, 0, 0x31, 0xff, ...entries.own]; // exit(0)
  return Buffer.from([...start, body.length + 5, ...body, 0xe9, ...number32(back), ...end]);
}

/** The program as an executable file for x86-64. */
export function rawCallProgram(entry: readonly number[] = entries.own): Buffer {
  const text = code(entry);
  const head = Buffer.alloc(headerBytes);
  head.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  head.writeUInt16LE(2, 16);
  head.writeUInt16LE(62, 18);
  head.writeUInt32LE(1, 20);
  head.writeBigUInt64LE(BigInt(loadedAt + headerBytes), 24);
  head.writeBigUInt64LE(64n, 32);
  for (const [at, value] of [
    [52, 64],
    [54, 56],
    [56, 1],
  ] as const)
    head.writeUInt16LE(value, at);
  // One segment that may be read, written and executed.
  head.writeUInt32LE(1, 64);
  head.writeUInt32LE(7, 68);
  for (const at of [80, 88]) head.writeBigUInt64LE(BigInt(loadedAt), at);
  head.writeBigUInt64LE(BigInt(headerBytes + text.length), 96);
  head.writeBigUInt64LE(BigInt(memoryBytes), 104);
  head.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([head, text]);
}

/** Calls as the program reads them. */
export function encodeCalls(calls: readonly RawCall[]): Buffer {
  const bytes = Buffer.alloc(calls.length * recordBytes);
  for (const [index, { number, args }] of calls.entries()) {
    for (const [at, value] of [number, ...args].entries()) {
      bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), index * recordBytes + at * 8);
    }
  }
  return bytes;
}
