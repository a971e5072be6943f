// SPDX-License-Identifier: Apache-2.0
// Ends the connection of a function that sends too many HTTP/2 frames. HTTP/2 and gRPC limit bytes only: gRPC keeps an object for each DATA
// frame of an unfinished message, and Node keeps native memory for each server push.

import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { type Clock, systemClock } from "@purlin/base";

/** What is read of a frame; its payload is skipped. */
export interface FrameHeader {
  /** Bytes of its payload. */
  readonly length: number;
  readonly type: number;
  readonly flags: number;
}

const headerBytes = 9;

/**
 * Reads HTTP/2 frames from chunks of any size, and calls `onFrame` with the header of each and where in the chunk the header ends.
 * `prefaceBytes` come before the first frame. No payload is copied.
 */
export function createFrameReader(
  onFrame: (frame: FrameHeader, end: number) => void,
  prefaceBytes = 0,
): (chunk: Uint8Array) => void {
  let toSkip = prefaceBytes;
  let have = 0;
  let [length, type, flags] = [0, 0, 0];
  return (chunk) => {
    let at = 0;
    while (toSkip < chunk.length - at) {
      at += toSkip;
      toSkip = 0;
      const byte = chunk[at++] ?? 0;
      if (have < 3) length = (length << 8) | byte;
      else if (have === 3) type = byte;
      else if (have === 4) flags = byte;
      if (++have < headerBytes) continue;
      onFrame({ length, type, flags }, at);
      toSkip = length;
      have = 0;
      length = 0;
    }
    toSkip -= chunk.length - at;
  };
}

const dataFrame = 0;
const headersFrame = 1;
const pushFrame = 5;
const paddedFlag = 8;
/** What a client sends before its first frame. */
const clientPrefaceBytes = 24;

/**
 * How many frames a function may send: a stock, which its DATA frames of ordinary size, calls and time refill. A server sends four to six
 * frames for a call with a small answer, whatever the rate of calls, and DATA frames of 1 to 16 KiB for a large one.
 *
 * A function that sends one byte a frame gets through 110,000 frames in a call of a minute. They take 11 MiB of heap.
 */
const mostFrames = 50_000;
const framesPerCall = 32;
const framesPerSecond = 1_000;
/** Bytes of DATA, in either direction, for which a function may send a frame: window updates follow what it gets. */
const bytesPerFrame = 256;

/** Counts the frames on one connection. */
export interface FrameLimit {
  /** Takes bytes that the function sent. Throws when it sends too many frames, or one that gRPC does not allow. */
  received(chunk: Uint8Array): void;
  /** Takes bytes that were sent to the function. */
  sent(chunk: Uint8Array): void;
}

/** Counts the frames on a connection from its first byte. */
export function createFrameLimit(clock: Clock): FrameLimit {
  let left = mostFrames;
  let filledAt = clock.now();
  const refill = (frames: number): void => {
    left = Math.min(mostFrames, left + frames);
  };
  const readReceived = createFrameReader((frame) => {
    if (frame.type === pushFrame) throw new Error("the function sends HTTP/2 server pushes, which gRPC does not allow");
    left--;
    refill(dataBytes(frame) / bytesPerFrame);
    if (left < 0) throw new Error(tooMany);
  });
  const readSent = createFrameReader((frame) => {
    if (frame.type === headersFrame) refill(framesPerCall);
    else refill(dataBytes(frame) / bytesPerFrame);
  }, clientPrefaceBytes);
  return {
    received(chunk) {
      const now = clock.now();
      // The clock of the machine may be set back.
      refill((Math.max(0, now - filledAt) / 1_000) * framesPerSecond);
      filledAt = now;
      readReceived(chunk);
    },
    sent: readSent,
  };
}

const tooMany = `the function sends too many HTTP/2 frames: its DATA frames must have ${bytesPerFrame} bytes or more on average`;

/** Padding is not data: with it, frames of one byte would look large. */
function dataBytes({ type, flags, length }: FrameHeader): number {
  return type === dataFrame && (flags & paddedFlag) === 0 ? length : 0;
}

/**
 * The connection to a function, for HTTP/2 to use in place of its socket, which must have no reader yet. It is destroyed with an error
 * when the function sends too many frames.
 */
export function guardFrames(socket: Socket, clock: Clock = systemClock): Duplex {
  return new GuardedConnection(socket, createFrameLimit(clock));
}

/**
 * Node has no way to see the frames of a socket that HTTP/2 reads natively, so the bytes go through JavaScript. Node then emits the headers
 * of a response in the next tick but its data at once, so that data which came with the headers has to wait for a tick.
 */
class GuardedConnection extends Duplex {
  readonly #socket: Socket;
  readonly #limit: FrameLimit;
  readonly #cut = createCutter();
  readonly #pieces: Buffer[] = [];
  /** Whether the reader waits for the next piece. */
  #isWaiting = false;

  constructor(socket: Socket, limit: FrameLimit) {
    // No second piece is buffered: all that is buffered is emitted in one tick.
    super({ readableHighWaterMark: 1 });
    this.#socket = socket;
    this.#limit = limit;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", (error) => this.destroy(error));
    // Not only when the socket is closed: HTTP/2 notices a turn of the event loop later, and no call may begin until then.
    const ended = (): void => {
      if (this.#isWaiting) this.destroy();
    };
    socket.once("end", ended).once("close", ended);
  }

  #receive(chunk: Buffer): void {
    if (this.destroyed) return;
    try {
      this.#limit.received(chunk);
    } catch (error) {
      this.destroy(error as Error);
      return;
    }
    this.#pieces.push(...this.#cut(chunk));
    if (this.#isWaiting) this.#passOn();
    else this.#socket.pause();
  }

  #passOn(): void {
    const piece = this.#pieces.shift();
    this.#isWaiting = piece === undefined;
    if (piece !== undefined) this.push(piece);
    else if (this.#socket.readableEnded || this.#socket.closed) this.destroy();
    else this.#socket.resume();
  }

  override _read(): void {
    process.nextTick(() => this.#passOn());
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#limit.sent(chunk);
    if (this.#isEnded(done)) return;
    this.#socket.write(chunk, done);
  }

  /** A function that stops ends its side first. What is written until the socket closes is lost, which is not an error of its own. */
  #isEnded(done: () => void): boolean {
    if (this.#socket.writable) return false;
    done();
    return true;
  }

  override _writev(parts: readonly { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    if (this.#isEnded(done)) return;
    const last = parts.length - 1;
    this.#socket.cork();
    for (const [i, { chunk }] of parts.entries()) {
      this.#limit.sent(chunk);
      this.#socket.write(chunk, i === last ? done : undefined);
    }
    this.#socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

/** Cuts chunks before the data of each DATA frame that follows a HEADERS frame. */
function createCutter(): (chunk: Buffer) => Buffer[] {
  let hasHeaders = false;
  let cuts: number[] = [];
  const read = createFrameReader(({ type }, end) => {
    if (type === dataFrame && hasHeaders) cuts.push(end);
    hasHeaders = type === headersFrame || (hasHeaders && type !== dataFrame);
  });
  return (chunk) => {
    cuts = [];
    read(chunk);
    if (cuts.length === 0) return [chunk];
    return [0, ...cuts].map((start, i) => chunk.subarray(start, cuts[i]));
  };
}
