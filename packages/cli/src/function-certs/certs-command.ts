// SPDX-License-Identifier: Apache-2.0
import { commandName } from "../command-name.ts";
import type { CommandInput } from "../commands/command-spec.ts";
import { writeFolder } from "../files/write-folder.ts";
import type { Io } from "../io.ts";
import { writeDevelopmentCertificates } from "./development-certificates.ts";

/** `purlin function certs DIR` */
export async function run({ args }: CommandInput, io: Io): Promise<undefined> {
  const [folder = ""] = args;
  await writeFolder(folder, io, writeDevelopmentCertificates);
  const name = commandName(io.env);
  io.stdout.write(`Made ${folder} with ca.crt, tls.crt and tls.key for localhost, good for a year. Use it for both ends:

  ${name} function run FILE.ts --tls-certs-dir ${folder}
  ${name} function call --target localhost:9443 --tls-certs-dir ${folder} --request REQUEST.yaml
`);
}
