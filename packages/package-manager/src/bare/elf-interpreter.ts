// SPDX-License-Identifier: Apache-2.0

const magic = Buffer.from([0x7f, 0x45, 0x4c, 0x46]);
const is64Bit = 2;
const isLittleEndian = 1;
/** The kind of program header that names the loader. */
const interpreterHeader = 3;

/** The loader that the beginning of an ELF file asks for; undefined for a static program and for anything that is none. */
export function interpreterOf(head: Buffer): string | undefined {
  if (head.length < 64 || !head.subarray(0, 4).equals(magic)) return undefined;
  if (head[4] !== is64Bit || head[5] !== isLittleEndian) return undefined;
  const table = Number(head.readBigUInt64LE(32));
  const size = head.readUInt16LE(54);
  const count = head.readUInt16LE(56);
  for (let at = table; at < table + size * count; at += size) {
    if (size < 56 || at + size > head.length) return undefined;
    if (head.readUInt32LE(at) !== interpreterHeader) continue;
    const start = Number(head.readBigUInt64LE(at + 8));
    const length = Number(head.readBigUInt64LE(at + 32));
    // It ends with a NUL.
    return start + length > head.length ? undefined : head.toString("utf8", start, start + length - 1);
  }
  return undefined;
}
