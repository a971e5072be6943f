// SPDX-License-Identifier: Apache-2.0
import type { TextSink } from "../io.ts";
import { harmless } from "../terminal/harmless.ts";

/** Prints what several programs wrote. */
export interface LogPrinter {
  print(source: string, text: string): void;
}

/**
 * Prints texts; where there are several sources, or a second one turns up, a line before each says whose it is. On a terminal, control
 * characters are shown as escapes: functions are other people's code. Files and pipes get the bytes as they are, as from kubectl.
 */
export function createLogPrinter(sink: TextSink, options: { readonly several: boolean }): LogPrinter {
  let last: string | undefined;
  let atLineStart = true;
  return {
    print(source, text) {
      if (text === "") return;
      const isNamed = last === undefined ? options.several : source !== last;
      if (isNamed) sink.write(`${atLineStart ? "" : "\n"}${last === undefined ? "" : "\n"}==> ${source} <==\n`);
      last = source;
      sink.write(sink.isTTY ? harmless(text) : text);
      atLineStart = text.endsWith("\n");
    },
  };
}
