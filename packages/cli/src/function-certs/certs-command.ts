// SPDX-License-Identifier: Apache-2.0

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { commandName } from "../command-name.ts";
import { writeFolder } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";

/**
 * Writes ca.crt, tls.crt and tls.key for functions on this machine. One certificate is good for both ends of a call; the
 * authority's key is discarded, so no more certificates can be issued.
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

/** `purlin function certs DIR` */
export async function run({ args }: CommandInput, io: Io): Promise<undefined> {
  const [folder = ""] = args;
  await writeFolder(folder, io, writeDevelopmentCertificates);
  const name = commandName(io.env);
  io.stdout.write(`Created ${folder} with ca.crt, tls.crt and tls.key for localhost, valid for one year. Use it for both ends:

  ${name} function run FILE.ts --tls-certs-dir ${folder}
  ${name} function call --target localhost:9443 --tls-certs-dir ${folder} --request REQUEST.yaml
`);
}
