// SPDX-License-Identifier: Apache-2.0
// Derives an input from others: bytes, ranges, tokens of the format, numbers at limits, repetition and nesting.
import type { Random } from "./random.ts";

/** What inputs are derived from. */
export interface MutationSources {
  readonly pool: readonly Buffer[];
  readonly dictionary: readonly string[];
  readonly maxBytes: number;
}

type Mutation = (input: Buffer, random: Random, sources: MutationSources) => Buffer;

const bytes = [0x00, 0x01, 0x0a, 0x20, 0x22, 0x2e, 0x7f, 0x80, 0xc0, 0xed, 0xff];
const numbers = [
  ...["0", "-1", "1", "255", "65536", "2147483647", "-2147483648", "4294967296", "9007199254740993"],
  ...["9223372036854775807", "-9223372036854775809", "1e400", "-0", "0.1", "1e-400", "00", "0x10", "1_000", "٣"],
];
const words = ["__proto__", "constructor", "prototype", "toString", "\u0000", "\ud800", "💥", "\u2028", "ﬀ", "null"];
const pairs = ["{}", "[]", "()", '""', "''"];

const joined = (...parts: readonly Uint8Array[]): Buffer => Buffer.concat(parts);

function range(input: Buffer, random: Random): readonly [number, number] {
  const from = random.below(input.length + 1);
  return [from, Math.min(input.length, from + 1 + random.below(random.pick([4, 16, 64, 512])))];
}

function insert(input: Buffer, random: Random, added: Uint8Array): Buffer {
  const at = random.below(input.length + 1);
  return joined(input.subarray(0, at), added, input.subarray(at));
}

const flipBit: Mutation = (input, random) => {
  if (input.length === 0) return Buffer.of(random.below(256));
  const copy = Buffer.from(input);
  const at = random.below(copy.length);
  copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
  return copy;
};

const setByte: Mutation = (input, random) => {
  const copy = Buffer.from(input);
  if (copy.length > 0) copy[random.below(copy.length)] = random.below(2) === 0 ? random.pick(bytes) : random.below(256);
  return copy;
};

const remove: Mutation = (input, random) => {
  const [from, to] = range(input, random);
  return joined(input.subarray(0, from), input.subarray(to));
};

const truncate: Mutation = (input, random) => input.subarray(0, random.below(input.length + 1));

const repeat: Mutation = (input, random) => {
  const [from, to] = range(input, random);
  const part = input.subarray(from, to);
  return joined(input.subarray(0, to), ...Array<Buffer>(random.pick([1, 2, 8, 64])).fill(part), input.subarray(to));
};

const insertWord: Mutation = (input, random, { dictionary }) =>
  insert(input, random, Buffer.from(random.pick(random.below(8) === 0 ? words : dictionary)));

const replaceWithWord: Mutation = (input, random, { dictionary }) => {
  const [from, to] = range(input, random);
  return joined(input.subarray(0, from), Buffer.from(random.pick(dictionary)), input.subarray(to));
};

/** Replaces a name by another: `__proto__` where a key was. */
const replaceName: Mutation = (input, random) => {
  const text = input.toString("latin1");
  const names = [...text.matchAll(/[A-Za-z_$][\w$]*/g)];
  if (names.length === 0) return insert(input, random, Buffer.from(random.pick(words)));
  const { index, 0: name } = random.pick(names);
  const other = random.below(2) === 0 ? Buffer.from(random.pick(words)) : Buffer.from(random.pick(names)[0]);
  return joined(input.subarray(0, index), other, input.subarray(index + name.length));
};

const replaceNumber: Mutation = (input, random) => {
  const found = [...input.toString("latin1").matchAll(/\d+/g)];
  if (found.length === 0) return insert(input, random, Buffer.from(random.pick(numbers)));
  const { index, 0: digits } = random.pick(found);
  return joined(input.subarray(0, index), Buffer.from(random.pick(numbers)), input.subarray(index + digits.length));
};

const splice: Mutation = (input, random, { pool }) => {
  const other = random.pick(pool);
  const [from, to] = range(other, random);
  return random.below(2) === 0
    ? joined(input.subarray(0, random.below(input.length + 1)), other.subarray(random.below(other.length + 1)))
    : insert(input, random, other.subarray(from, to));
};

/** Puts a range in brackets, many times. */
const nest: Mutation = (input, random) => {
  const [from, to] = range(input, random);
  const pair = random.pick(pairs);
  const depth = random.pick([1, 1, 2, 16, 200]);
  const [open = "", close = ""] = pair;
  return joined(
    input.subarray(0, from),
    Buffer.from(open.repeat(depth)),
    input.subarray(from, to),
    Buffer.from(close.repeat(depth)),
    input.subarray(to),
  );
};

/** Writes a number of one to eight bytes, as lengths and sizes in binary formats are. */
const writeInteger: Mutation = (input, random) => {
  if (input.length < 8) return insert(input, random, Buffer.of(0xff, 0xff, 0xff, 0xff, 0x0f));
  const copy = Buffer.from(input);
  const size = random.pick([1, 2, 4]);
  const value = random.pick([0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), copy.length, copy.length + 1]);
  const at = random.below(copy.length - size);
  const masked = value % 2 ** (8 * size);
  if (random.below(2) === 0) copy.writeUIntBE(masked, at, size);
  else copy.writeUIntLE(masked, at, size);
  return copy;
};

const mutations: readonly Mutation[] = [
  ...[flipBit, setByte, remove, remove, truncate, repeat, insertWord, insertWord, replaceWithWord],
  ...[replaceName, replaceNumber, splice, splice, nest, writeInteger],
];

/** A new input from one of the pool. */
export function mutate(random: Random, sources: MutationSources): Buffer {
  // The newest inputs reached what others did not: they are tried most.
  const { pool, maxBytes } = sources;
  const newest = Math.max(0, pool.length - 16);
  const index = random.below(2) === 0 ? newest + random.below(pool.length - newest) : random.below(pool.length);
  let input: Buffer = pool[index] ?? Buffer.alloc(0);
  for (let left = 1 + random.below(random.pick([1, 3, 8])); left > 0; left--) {
    input = random.pick(mutations)(input, random, sources);
    if (input.length > maxBytes) input = input.subarray(0, maxBytes);
  }
  return input;
}
