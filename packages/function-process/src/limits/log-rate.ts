// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/function-runner";

/** Lets through what a program writes up to a rate, and discards the rest. */
export interface LogRate {
  /** The part of a text to keep. */
  keep(text: string): string;
}

/** A burst may be as large as so many seconds at the rate. */
const burstSeconds = 4;

/** Makes a rate. `exceeded` is called when something is discarded for the first time. */
export function createLogRate(bytesPerSecond: number, clock: Clock, exceeded: () => void): LogRate {
  const most = bytesPerSecond * burstSeconds;
  let left = most;
  let last = clock.now();
  let discarded = 0;
  let isTold = false;
  return {
    keep(text) {
      const now = clock.now();
      left = Math.min(most, left + (Math.max(0, now - last) / 1000) * bytesPerSecond);
      last = now;
      if (text.length > left) {
        discarded += text.length;
        if (!isTold) exceeded();
        isTold = true;
        return "";
      }
      left -= text.length;
      const note = discarded === 0 ? "" : `\n[${discarded} characters were discarded: more than the log limit]\n`;
      discarded = 0;
      return note + text;
    },
  };
}
