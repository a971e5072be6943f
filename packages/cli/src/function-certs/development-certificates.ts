// SPDX-License-Identifier: Apache-2.0
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAuthority, issueCertificate } from "@purlin/certificates";

/**
 * Writes ca.crt, tls.crt and tls.key for functions on this machine. One certificate is good for both ends of a call; the
 * authority's key is thrown away, so nobody can issue more.
 */
export async function writeDevelopmentCertificates(folder: string): Promise<void> {
  const authority = createAuthority({ commonName: "purlin development", days: 365 });
  const { certPem, keyPem } = issueCertificate(authority, {
    commonName: "localhost",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1", "::1"],
    usages: ["server", "client"],
  });
  await writeFile(join(folder, "ca.crt"), authority.certPem);
  await writeFile(join(folder, "tls.crt"), certPem);
  await writeFile(join(folder, "tls.key"), keyPem, { mode: 0o600 });
}
