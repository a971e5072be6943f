// SPDX-License-Identifier: Apache-2.0
import { stat } from "node:fs/promises";
import { readRegularFile } from "@purlin/kube-objects/files";
import type { CredentialSource } from "./cluster-access.ts";

/** Requests with larger headers are refused by every server. */
const maxTokenBytes = 1024 * 1024;

/** A bearer token in a file that another program renews, read again when the file has changed. */
export function tokenFile(path: string): CredentialSource {
  let known: { readonly modified: number; readonly token: string } | undefined;
  return {
    async current() {
      const { mtimeMs } = await stat(path);
      if (known?.modified !== mtimeMs) {
        const bytes = await readRegularFile(path, { maxBytes: maxTokenBytes });
        known = { modified: mtimeMs, token: bytes.toString("utf8").trim() };
      }
      return { bearerToken: known.token };
    },
    refused() {
      known = undefined;
    },
  };
}
