// SPDX-License-Identifier: Apache-2.0
import { isUtf8 } from "node:buffer";
import { UnreadableFileError } from "./unreadable-file.ts";

/** The text of a file, without a byte order mark. Throws an UnreadableFileError with the line of the first byte that is not UTF-8. */
export function decodeUtf8(bytes: Buffer): string {
  if (isUtf8(bytes)) return withoutMark(bytes.toString("utf8"));
  if (hasMark(bytes, 0xff, 0xfe) || hasMark(bytes, 0xfe, 0xff)) {
    throw new UnreadableFileError("encoding", "it is encoded as UTF-16: save it as UTF-8");
  }
  const text = `line ${firstBadLine(bytes)} is not valid UTF-8: save the file as UTF-8`;
  throw new UnreadableFileError("encoding", text);
}

function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

function hasMark(bytes: Buffer, first: number, second: number): boolean {
  return bytes[0] === first && bytes[1] === second;
}

/** No character of more than one byte contains a line feed, so lines can be checked one by one. */
function firstBadLine(bytes: Buffer): number {
  let from = 0;
  for (let line = 1; ; line++) {
    const end = bytes.indexOf(0x0a, from);
    if (end < 0 || !isUtf8(bytes.subarray(from, end))) return line;
    from = end + 1;
  }
}
