// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { FunctionOptions } from "@purlin/control-plane";
import { type RunnerLog, type TlsSource, tlsFromDirectory } from "@purlin/function-runner";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";
import { durationOption } from "./start-settings.ts";

/** How functions are called: with the certificates of a folder where one is named, with those of the cluster otherwise. */
export interface StartFunctions extends Pick<FunctionOptions, "responseCache"> {
  readonly security: TlsSource | undefined;
}

/** Reads how functions are called. Throws a UserError when the folder with certificates is of no use. */
export function readFunctions(input: CommandInput, io: Io, log: RunnerLog): StartFunctions {
  const directory = textOption(input, "tlsClientCertsDir") ?? io.env["TLS_CLIENT_CERTS_DIR"];
  return {
    security: directory ? readCertificates(directory, io, log) : undefined,
    responseCache: readCache(input, io),
  };
}

function readCertificates(directory: string, io: Io, log: RunnerLog): TlsSource {
  try {
    return tlsFromDirectory(resolve(io.cwd, directory), log);
  } catch (error) {
    throw new UserError(`--tls-client-certs-dir ${directory}: ${textOf(error)}`, { cause: error });
  }
}

function readCache(input: CommandInput, io: Io): FunctionOptions["responseCache"] {
  if (!isSet(input, "enableFunctionResponseCache")) return undefined;
  const directory = textOption(input, "xfnCacheDir") ?? io.env["XFN_CACHE_DIR"] ?? "/cache/xfn";
  return { directory: resolve(io.cwd, directory), maxTtlMs: durationOption(input, "xfnCacheMaxTtl") };
}
