// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueCertificate } from "@purlin/certificates";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { crossplaneCertificates, crossplaneCertificatesIn } from "../../../tools/peers/crossplane-certificates.ts";
import { installed } from "../../../tools/peers/peer.ts";

/** What may be wrong with a certificate. "-foreign" is signed by another authority with the same subject. */
export type Flaw = "-foreign" | "-expired" | "-wrong-usage" | "-of-no-authority" | "-wrong-name";

/** Folders with tls.crt, tls.key and ca.crt, made by Go as Crossplane makes them. Removed when disposed of. */
export interface CrossplaneFiles extends Disposable {
  readonly server: (flaw?: Flaw) => string;
  readonly client: (flaw?: Flaw) => string;
  /** A client whose certificate we issued with Crossplane's authority, as after a take-over. */
  readonly ourClient: string;
  /** A server whose certificate we issued with Crossplane's authority. */
  readonly ourServer: string;
}

export function createCrossplaneFiles(): CrossplaneFiles {
  const root = mkdtempSync(join(tmpdir(), "interop-crossplane-certs-"));
  const program = crossplaneCertificatesIn(installed(crossplaneCertificates, cacheDirectory));
  execFileSync(program, [root, "localhost", "crossplane-system"]);
  const read = (name: string): string => readFileSync(join(root, "authority", name), "utf8");
  const authority = { certPem: read("tls.crt"), keyPem: read("tls.key") };
  const ours = (name: string, usage: "server" | "client"): string => {
    const folder = join(root, name);
    const options = { commonName: name, dnsNames: ["localhost"], usages: [usage] } as const;
    const { certPem, keyPem } = issueCertificate(authority, options);
    mkdirSync(folder);
    writeFileSync(join(folder, "ca.crt"), authority.certPem);
    writeFileSync(join(folder, "tls.crt"), certPem);
    writeFileSync(join(folder, "tls.key"), keyPem, { mode: 0o600 });
    return folder;
  };
  return {
    server: (flaw) => join(root, `server${flaw ?? ""}`),
    client: (flaw) => join(root, `client${flaw ?? ""}`),
    ourClient: ours("our-client", "client"),
    ourServer: ours("our-server", "server"),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}
