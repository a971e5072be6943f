// SPDX-License-Identifier: Apache-2.0
import { stat } from "node:fs/promises";
import { readRegularFile } from "@purlin/kube-objects/files";
import type { CredentialSource } from "./cluster-access.ts";

/** Requests with larger headers are refused by every server. */
const maxTokenBytes = 1024 * 1024;

/** A bearer token in a file that another program renews, read again when the file has changed. The other token counts without a file. */
export function tokenFile(path: string, otherwise = ""): CredentialSource {
  let known: { readonly modified: number; readonly token: string } | undefined;
  const read = async (): Promise<string> => {
    const { mtimeMs } = await stat(path);
    if (known?.modified !== mtimeMs) {
      const bytes = await readRegularFile(path, { maxBytes: maxTokenBytes });
      known = { modified: mtimeMs, token: bytes.toString("utf8").trim() };
    }
    return known.token;
  };
  return {
    async current() {
      const bearerToken = await read().catch((error: unknown) => {
        if (otherwise === "") throw error;
        return otherwise;
      });
      return { bearerToken };
    },
    refused() {
      known = undefined;
    },
  };
}
