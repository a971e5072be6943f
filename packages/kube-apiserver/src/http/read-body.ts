// SPDX-License-Identifier: Apache-2.0
import type { Readable } from "node:stream";
import { badRequest, requestEntityTooLarge, timeout } from "@purlin/kube-objects/errors";

/** A body that takes longer to send is refused. */
const readWithinMs = 60_000;

/** Reads a stream to its end, but no further than the limit. `declared` is its Content-Length, if it has one. */
export function readLimited(stream: Readable, limit: number, declared: string | undefined): Promise<Uint8Array> {
  if (Number(declared ?? 0) > limit) return Promise.reject(tooLarge(limit));
  // A stream that has closed says nothing more.
  if (stream.destroyed) return Promise.reject(badRequest("the request body was cut off"));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isComplete = false;
    const late = setTimeout(() => reject(timeout("the request body did not arrive in time")), readWithinMs).unref();
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        // The rest is read and dropped, so that the client gets the answer instead of a reset.
        stream.removeAllListeners("data").resume();
        reject(tooLarge(limit));
        return;
      }
      chunks.push(chunk);
    });
    stream.once("end", () => {
      isComplete = true;
      clearTimeout(late);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    });
    stream.once("error", (error) => reject(badRequest(`the request body could not be read: ${error.message}`, error)));
    stream.once("close", () => {
      clearTimeout(late);
      // Every stream closes in the end; an error that is never read costs too much to create for each.
      if (!isComplete) reject(badRequest("the request body was cut off"));
    });
  });
}

const tooLarge = (limit: number): Error => requestEntityTooLarge(`limit is ${limit}`);
