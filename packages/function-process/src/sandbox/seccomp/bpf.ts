// SPDX-License-Identifier: Apache-2.0
// Programs of the classic BPF machine, as the kernel takes them for seccomp.

/** One instruction: what it does, how far it jumps when it compares, and its constant. */
export interface Instruction {
  readonly code: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly value: number;
}

/** What the kernel tells a filter about a call, by where it lies in that record. Numbers are little endian on both architectures. */
export const callRecord = {
  number: 0,
  architecture: 4,
  /** The low half of an argument; the kernel looks only at that half of the arguments that are compared here. */
  argument: (index: number): number => 16 + 8 * index,
} as const;

export const opcodes = {
  load: 0x20,
  and: 0x54,
  ifEqual: 0x15,
  ifAtLeast: 0x35,
  ifAnyBit: 0x45,
  answer: 0x06,
} as const;

/** What becomes of a call. */
export const answers = {
  allow: 0x7fff_0000,
  kill: 0x8000_0000,
  /** Fails with an error number; 0 looks like success without doing anything. */
  fail: (errno: number): number => 0x0005_0000 | errno,
} as const;

export const load = (offset: number): Instruction => ({ code: opcodes.load, ifTrue: 0, ifFalse: 0, value: offset });
export const and = (mask: number): Instruction => ({ code: opcodes.and, ifTrue: 0, ifFalse: 0, value: mask });
export const answer = (value: number): Instruction => ({ code: opcodes.answer, ifTrue: 0, ifFalse: 0, value });

type Comparison = "ifEqual" | "ifAtLeast" | "ifAnyBit";
const farthest = 255;

/** Goes through a block of instructions when the loaded number compares as wanted, and past it otherwise. */
export function when(comparison: Comparison, value: number, block: readonly Instruction[]): Instruction[] {
  if (block.length > farthest) throw new Error("the block is too long to jump over");
  return [{ code: opcodes[comparison], ifTrue: 0, ifFalse: block.length, value }, ...block];
}

/** Goes past a block when the loaded number compares as wanted. */
export function unless(comparison: Comparison, value: number, block: readonly Instruction[]): Instruction[] {
  if (block.length > farthest) throw new Error("the block is too long to jump over");
  return [{ code: opcodes[comparison], ifTrue: block.length, ifFalse: 0, value }, ...block];
}

const instructionBytes = 8;

/** A program as the kernel reads it. */
export function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * instructionBytes);
  for (const [index, { code, ifTrue, ifFalse, value }] of program.entries()) {
    const at = index * instructionBytes;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value >>> 0, at + 4);
  }
  return bytes;
}
