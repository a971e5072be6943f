// SPDX-License-Identifier: Apache-2.0
import { stripVTControlCharacters } from "node:util";
import type { TextSink } from "../io.ts";

/** Prints what several programs wrote. */
export interface LogPrinter {
  print(source: string, text: string): void;
}

/**
 * Prints texts as they are; where there are several sources, or a second one turns up, a line before each says whose it is. What could
 * do something to a terminal is left out there: functions are other people's code.
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

/** Everything that moves the cursor, sets titles or rings bells goes; lines and tabs stay. */
function harmless(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  return stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
