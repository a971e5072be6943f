// SPDX-License-Identifier: Apache-2.0
import { readFile, stat } from "node:fs/promises";
import type { CredentialSource } from "./cluster-access.ts";

/** A bearer token in a file that somebody else renews, read again when the file has changed. */
export function tokenFile(path: string): CredentialSource {
  let known: { readonly modified: number; readonly token: string } | undefined;
  return {
    async current() {
      const { mtimeMs } = await stat(path);
      if (known?.modified !== mtimeMs) {
        known = { modified: mtimeMs, token: (await readFile(path, "utf8")).trim() };
      }
      return { bearerToken: known.token };
    },
    refused() {
      known = undefined;
    },
  };
}
