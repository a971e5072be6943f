// SPDX-License-Identifier: Apache-2.0
import { type ObjectHolder, structsOf } from "../request/structs-of.ts";

/**
 * Objects of a run that is recorded have at most so many bytes. A record is made, redacted and sent in one go, and a recorder takes 4 MiB,
 * which is what gRPC accepts by default.
 */
export const maxRecordBytes: number = 4 * 2 ** 20;

/** Throws when a run is too large to be recorded. */
export function requireRecordable(message: ObjectHolder): void {
  let bytes = 0;
  for (const struct of structsOf(message)) {
    bytes += struct?.bytes.length ?? 0;
    if (bytes > maxRecordBytes) throw new Error(`its objects have more than ${maxRecordBytes} bytes`);
  }
}
