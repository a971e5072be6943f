// SPDX-License-Identifier: Apache-2.0
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSecureContext, type SecureContext } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";

/** The certificates of functions that run on this machine. */
export interface FunctionCertificates {
  /** Our side of every call. */
  readonly client: { current(): SecureContext };
  /** The folder with `ca.crt`, `tls.crt` and `tls.key` that a function is served with; one and the same for each name. */
  serverFolder(functionName: string): Promise<string>;
}

/**
 * An authority for as long as this process runs. Its key is never written down, and a function's certificate is good for
 * serving only, so no function can call another one. As they end with this process, none of them has to be renewed.
 */
export function createFunctionCertificates(directory: string): FunctionCertificates {
  const authority = createAuthority({ commonName: "purlin functions" });
  const own = issueCertificate(authority, { commonName: "purlin", usages: ["client"], days: 3650 });
  const context = createSecureContext({
    ca: authority.certPem,
    cert: own.certPem,
    key: own.keyPem,
    minVersion: "TLSv1.3",
  });
  const folders = new Map<string, Promise<string>>();

  async function issue(functionName: string): Promise<string> {
    const folder = join(directory, functionName);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { certPem, keyPem } = issueCertificate(authority, {
      commonName: functionName,
      dnsNames: ["localhost"],
      ipAddresses: ["127.0.0.1"],
      usages: ["server"],
      days: 3650,
    });
    await writeFile(join(folder, "ca.crt"), authority.certPem);
    await writeFile(join(folder, "tls.crt"), certPem);
    await writeFile(join(folder, "tls.key"), keyPem, { mode: 0o600 });
    return folder;
  }

  return {
    client: { current: () => context },
    serverFolder(functionName) {
      const issued = folders.get(functionName) ?? issue(functionName);
      folders.set(functionName, issued);
      issued.catch(() => folders.delete(functionName));
      return issued;
    },
  };
}
