// SPDX-License-Identifier: Apache-2.0
import type { Readable } from "node:stream";

/** How much is read in one go, and how long nothing is then: some megabytes a second, more than any log keeps. */
const turnCharacters = 128 * 1024;
const pauseMs = 50;

/**
 * Hands on what a program writes, as text. One that writes without end is made to wait: it would keep this process from everything else,
 * and nobody could read it all.
 */
export function readPaced(
  output: Readable,
  take: (text: string) => void,
  later: (task: () => void) => void = (task) => void setTimeout(task, pauseMs),
): void {
  let left = turnCharacters;
  output.setEncoding("utf8").on("data", (text: string) => {
    take(text);
    left -= text.length;
    if (left > 0) return;
    left = turnCharacters;
    output.pause();
    later(() => output.resume());
  });
}
