// SPDX-License-Identifier: Apache-2.0
// Reading files that a user names or that lie in a folder a user names. Apart from the package's root: it needs a file system.
export {
  decodeUtf8,
  isUnreadableFile,
  openRegularFile,
  readRegularFile,
  readRegularFileSync,
  readStreamWithin,
  requireRegularFile,
} from "./regular-file.ts";
