// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { parseCertificates } from "@purlin/certificates/peer";
import { errorText } from "../errors/error-text.ts";
import { FunctionError } from "../errors/function-error.ts";

/** The three files of a certificate directory. */
export interface Certificates {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Signs the certificates callers must show. */
  readonly ca: Buffer;
}

/** Reads tls.crt, tls.key and ca.crt. Throws INVALID_CERTIFICATES when one is missing or they do not fit together. */
export async function readCertificates(directory: string): Promise<Certificates> {
  // One after the other, so that the same file is named each time when several are missing.
  const cert = await readOne(directory, "tls.crt");
  const key = await readOne(directory, "tls.key");
  const ca = await readOne(directory, "ca.crt");
  // A context accepts a ca.crt without certificates, and then refuses every caller.
  check(() => parseCertificates(ca), `${join(directory, "ca.crt")} holds no PEM certificate`);
  check(() => createSecureContext({ cert, key }), `tls.crt and tls.key in ${directory} do not work together`);
  return { cert, key, ca };
}

function check(use: () => unknown, problem: string): void {
  try {
    use();
  } catch (error) {
    throw new FunctionError("INVALID_CERTIFICATES", `${problem}: ${errorText(error)}`, { cause: error });
  }
}

async function readOne(directory: string, name: string): Promise<Buffer> {
  const path = join(directory, name);
  try {
    return await readFile(path);
  } catch (error) {
    throw new FunctionError("INVALID_CERTIFICATES", `cannot read ${path}: ${errorText(error)}`, { cause: error });
  }
}

/** True when both have the same content. */
export function sameCertificates(a: Certificates, b: Certificates): boolean {
  return a.cert.equals(b.cert) && a.key.equals(b.key) && a.ca.equals(b.ca);
}
