// SPDX-License-Identifier: Apache-2.0
import type { Readable } from "node:stream";
import { type JsonValue, parseJson } from "@purlin/kube-objects";

/** Yields the JSON value of each line. Ends when the stream ends or the signal aborts; a torn last line is dropped. */
export async function* readLines(body: Readable, signal?: AbortSignal): AsyncGenerator<JsonValue, void, undefined> {
  body.setEncoding("utf8");
  let pieces: string[] = [];
  try {
    for await (const chunk of body as AsyncIterable<string>) {
      let start = 0;
      // Pieces of a long line are joined once it is complete: appending chunk by chunk would be quadratic.
      for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
        pieces.push(chunk.slice(start, end));
        const line = pieces.join("");
        pieces = [];
        start = end + 1;
        if (line.trim() !== "") yield parseJson(line);
      }
      if (start < chunk.length) pieces.push(chunk.slice(start));
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    body.destroy();
  }
}
