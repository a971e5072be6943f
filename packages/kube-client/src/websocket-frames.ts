// SPDX-License-Identifier: Apache-2.0
// The frames of a WebSocket (RFC 6455), as a client sends and receives them.
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";

/** Kinds of frames. */
export const opcodes = { continuation: 0, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A server that sends more in one frame is not believed. Kubelets send 32 KiB. */
export const maxFrameBytes: number = 2 ** 20;

/** A frame of a server. */
export interface Frame {
  readonly opcode: number;
  /** The last frame of its message. */
  readonly isLast: boolean;
  readonly payload: Buffer;
}

/** Takes frames out of what a server sends. Throws at the first that no server may send to this client. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #length = 0;
  /** The number of bytes that are needed to continue. */
  #needed = 2;

  /** Whether a part of a frame was read, and the rest is missing. */
  get isInFrame(): boolean {
    return this.#length > 0;
  }

  *read(chunk: Buffer): Generator<Frame, void, undefined> {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    while (this.#length >= this.#needed) {
      // Pieces of a large frame are joined once it is complete.
      const [only = chunk, ...more] = this.#pieces;
      const bytes = more.length === 0 ? only : Buffer.concat(this.#pieces);
      const { start, end } = boundsOf(bytes);
      const isComplete = end <= bytes.length && bytes.length >= start;
      const rest = isComplete ? bytes.subarray(end) : bytes;
      this.#pieces = [rest];
      this.#length = rest.length;
      this.#needed = isComplete ? 2 : end;
      if (isComplete) yield frameIn(bytes.subarray(0, end), start);
    }
  }
}

function frameIn(bytes: Buffer, start: number): Frame {
  const first = bytes.readUInt8(0);
  return { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, payload: bytes.subarray(start) };
}

/** Where the payload of a frame begins and ends. While the header is not complete, the end is the first byte after it. */
function boundsOf(bytes: Buffer): { readonly start: number; readonly end: number } {
  if ((bytes.readUInt8(0) & 0x70) !== 0) throw new Error("a frame uses an extension");
  const code = bytes.readUInt8(1);
  if (code > 127) throw new Error("a frame is masked");
  const start = code === 127 ? 10 : code === 126 ? 4 : 2;
  if (bytes.length < start) return { start, end: start };
  const length = code === 127 ? Number(bytes.readBigUInt64BE(2)) : code === 126 ? bytes.readUInt16BE(2) : code;
  if (length > maxFrameBytes) throw new Error(`a frame has ${length} bytes, more than ${maxFrameBytes}`);
  return { start, end: start + length };
}

/** A frame of a client: masked, and a whole message of at most 65,535 bytes. */
export function frameOf(opcode: number, payload: Buffer): Buffer {
  const mask = randomBytes(4);
  const { length } = payload;
  const header = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  const masked = payload.map((byte, at) => byte ^ mask.readUInt8(at & 3));
  return Buffer.concat([Buffer.of(0x80 | opcode, ...header), mask, masked]);
}
