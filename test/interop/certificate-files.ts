// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, issueCertificate, type KeyPair } from "@purlin/certificates";

/** Folders as Crossplane mounts them, each with tls.crt, tls.key and ca.crt. Removed when disposed of. */
export interface CertificateFiles extends Disposable {
  /** What a function serves with. */
  readonly server: string;
  /** What a runner calls with. */
  readonly client: string;
  /** A client whose certificate another authority signed, though it trusts the right one. */
  readonly stranger: string;
  /** A client with a certificate of the right authority that is only good for servers. */
  readonly wrongUsage: string;
}

export function createCertificateFiles(): CertificateFiles {
  const root = mkdtempSync(join(tmpdir(), "interop-certs-"));
  const authority = createAuthority({ commonName: "interop authority" });
  const other = createAuthority({ commonName: "another authority" });
  const write = (name: string, { certPem, keyPem }: KeyPair): string => {
    const directory = join(root, name);
    mkdirSync(directory);
    writeFileSync(join(directory, "tls.crt"), certPem);
    writeFileSync(join(directory, "tls.key"), keyPem, { mode: 0o600 });
    writeFileSync(join(directory, "ca.crt"), authority.certPem);
    return directory;
  };
  const local = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };
  return {
    server: write("server", issueCertificate(authority, { commonName: "function", usages: ["server"], ...local })),
    client: write("client", issueCertificate(authority, { commonName: "runner", usages: ["client"] })),
    stranger: write("stranger", issueCertificate(other, { commonName: "stranger", usages: ["client"] })),
    wrongUsage: write(
      "wrong-usage",
      issueCertificate(authority, { commonName: "server", usages: ["server"], ...local }),
    ),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}
