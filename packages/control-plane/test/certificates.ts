// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, issueCertificate } from "@purlin/certificates";

/** A folder with a certificate for localhost, for servers and clients; it is removed in the end. */
interface TestCertificates extends Disposable {
  readonly directory: string;
}

/** Issues the certificate. */
export function testCertificates(): TestCertificates {
  const directory = mkdtempSync(join(tmpdir(), "purlin-certs-"));
  const authority = createAuthority({ commonName: "test" });
  const { certPem, keyPem } = issueCertificate(authority, {
    commonName: "localhost",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
    usages: ["server", "client"],
  });
  for (const [name, text] of Object.entries({ "ca.crt": authority.certPem, "tls.crt": certPem, "tls.key": keyPem })) {
    writeFileSync(join(directory, name), text);
  }
  return { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}
