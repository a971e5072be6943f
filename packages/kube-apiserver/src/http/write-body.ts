// SPDX-License-Identifier: Apache-2.0
// Bodies of responses, written no faster than clients take them: what is handed to a connection is copied and encrypted at once.
import type { Writable } from "node:stream";

/** Larger bodies are written piece by piece, and each piece and each connection has about this many bytes at a time. */
export const largeBytes: number = 256 * 1024;

/** How slowly a client may take a large body. */
interface Pace {
  /** A client that takes nothing for this long is disconnected. */
  readonly stalledMs: number;
  /** So is one that takes less than this, after that time: few large bodies of a user are in memory at once, and others wait. */
  readonly leastBytesPerSecond: number;
}

/** A request may take a minute in the reference, whatever its size. */
const defaultPace: Pace = { stalledMs: 60_000, leastBytesPerSecond: 64 * 1024 };

interface Body {
  readonly chunks: readonly Uint8Array[];
  /** Ends the response, with the last bytes of a small body. */
  readonly end: (last?: Uint8Array) => void;
  /** Ends the response so that the client sees that it is not complete. */
  readonly abort: () => void;
}

/** Writes a body. Resolves when the client has taken a large one, or has gone; a small one is handed over at once, with undefined. */
export function writeBody(
  stream: Writable,
  { chunks, end, abort }: Body,
  { stalledMs, leastBytesPerSecond }: Pace = defaultPace,
): Promise<void> | undefined {
  if (byteLength(chunks) <= largeBytes) {
    for (const chunk of chunks.slice(0, -1)) stream.write(chunk);
    end(chunks.at(-1));
    return undefined;
  }
  return new Promise((resolve) => {
    const pieces = piecesOf(chunks);
    const latest = performance.now() + stalledMs + (byteLength(chunks) / leastBytesPerSecond) * 1000;
    let stalled: NodeJS.Timeout | undefined;
    const proceed = (): void => {
      clearTimeout(stalled);
      stalled = setTimeout(abort, Math.min(stalledMs, latest - performance.now())).unref();
      while (stream.writableLength < largeBytes) {
        const piece = pieces.next();
        if (piece.done) {
          stream.off("drain", proceed);
          end();
          return;
        }
        stream.write(piece.value);
      }
    };
    const done = (): void => {
      clearTimeout(stalled);
      resolve();
    };
    stream.on("drain", proceed).once("finish", done).once("close", done);
    if (stream.destroyed) done();
    else proceed();
  });
}

function* piecesOf(chunks: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += largeBytes) yield chunk.subarray(at, at + largeBytes);
  }
}

export function byteLength(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0);
}
