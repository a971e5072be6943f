// SPDX-License-Identifier: Apache-2.0

import { resolve } from "node:path";
import type { Log } from "@purlin/base";
import { type TlsSource, tlsFromDirectory } from "@purlin/function-runner";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";

/** Our side of mutual TLS with functions, from a folder. */
export interface ClientCertificates {
  /** As it was named, for messages. */
  readonly directory: string;
  readonly security: TlsSource;
}

/**
 * Reads what `--tls-client-certs-dir`, or else `$TLS_CLIENT_CERTS_DIR`, names; undefined where nothing is named. Throws a
 * UserError when the folder is of no use.
 */
export function readClientCertificates(input: CommandInput, io: Io, log?: Log): ClientCertificates | undefined {
  const directory = textOption(input, "tlsClientCertsDir") ?? io.env["TLS_CLIENT_CERTS_DIR"];
  if (!directory) return undefined;
  try {
    return { directory, security: tlsFromDirectory(resolve(io.cwd, directory), log) };
  } catch (error) {
    throw new UserError(`--tls-client-certs-dir ${directory}: ${textOf(error)}`, { cause: error });
  }
}
