// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { FunctionOptions } from "@purlin/control-plane";
import { type RunnerLog, type TlsSource, tlsFromDirectory } from "@purlin/function-runner";
import { type CommandInput, isSet, textOption } from "../commands/command-spec.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";
import { durationOption } from "./start-settings.ts";

/** How functions are called: over mutual TLS, unless all of them are under development. */
export function readFunctions(input: CommandInput, io: Io, log: RunnerLog): FunctionOptions {
  const directory = textOption(input, "tlsClientCertsDir") ?? io.env["TLS_CLIENT_CERTS_DIR"];
  return { security: securityOf(directory, input, { io, log }), responseCache: readCache(input, io) };
}

function securityOf(
  directory: string | undefined,
  input: CommandInput,
  { io, log }: { readonly io: Io; readonly log: RunnerLog },
): TlsSource {
  if (directory) {
    try {
      return tlsFromDirectory(resolve(io.cwd, directory), log);
    } catch (error) {
      throw new UserError(`--tls-client-certs-dir ${directory}: ${textOf(error)}`, { cause: error });
    }
  }
  if (isSet(input, "allowDevelopmentFunctions")) return noCertificates;
  const advice = "--tls-client-certs-dir DIR with tls.crt, tls.key and ca.crt";
  throw new UserError(`say how to call functions: ${advice}, or --allow-development-functions alone`, { exitCode: 2 });
}

/** Functions under development are called in plaintext each by itself; any other one fails, instead of being called so. */
const noCertificates: TlsSource = {
  current() {
    throw new Error("there is no certificate to call it with: start with --tls-client-certs-dir");
  },
};

function readCache(input: CommandInput, io: Io): FunctionOptions["responseCache"] {
  if (!isSet(input, "enableFunctionResponseCache")) return undefined;
  const directory = textOption(input, "xfnCacheDir") ?? io.env["XFN_CACHE_DIR"] ?? "/cache/xfn";
  return { directory: resolve(io.cwd, directory), maxTtlMs: durationOption(input, "xfnCacheMaxTtl") };
}
