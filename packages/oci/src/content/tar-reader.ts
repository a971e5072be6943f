// SPDX-License-Identifier: Apache-2.0
import { type Extract, extract } from "tar-stream";

/**
 * A stream that reads a tar archive entry by entry. tar-stream waits forever at an entry whose size is neither octal nor a base-256
 * number; here such an archive ends with an error.
 */
export function createTarReader(): Extract {
  const tar = extract();
  // Added before those of the iterator, so that no reader sees the entry.
  tar.on("entry", ({ name, size }) => {
    if (!Number.isSafeInteger(size)) tar.destroy(new Error(`the entry ${JSON.stringify(name)} has no valid size`));
  });
  return tar;
}
