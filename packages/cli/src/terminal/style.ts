// SPDX-License-Identifier: Apache-2.0
import { styleText } from "node:util";
import type { Io, TextSink } from "../io.ts";

/** Gives text a meaning that a terminal can show. Without a terminal, text stays as it is. */
export interface Style {
  /** What stands out: headings. */
  strong(text: string): string;
  /** What can be skipped. */
  faint(text: string): string;
  good(text: string): string;
  doubtful(text: string): string;
  bad(text: string): string;
  /** What can be typed. */
  code(text: string): string;
}

type Format = Parameters<typeof styleText>[0];

/** The style for one sink: colors only where a person looks, and not against https://no-color.org. */
export function createStyle(sink: TextSink, env: Io["env"]): Style {
  const colors = sink.isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  const as =
    (format: Format) =>
    (text: string): string =>
      colors ? styleText(format, text, { validateStream: false }) : text;
  return {
    strong: as("bold"),
    faint: as("dim"),
    good: as("green"),
    doubtful: as("yellow"),
    bad: as("red"),
    code: as("cyan"),
  };
}
