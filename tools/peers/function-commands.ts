// SPDX-License-Identifier: Apache-2.0
import { copyFileSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { cacheDirectory } from "./cache-directory.ts";
import { pythonOf, pythonSdk, typescriptSdk } from "./catalog.ts";
import type { FunctionCommand } from "./function-process.ts";
import { installed } from "./peer.ts";

/** Plaintext, or the folder of certificates for mutual TLS. */
export type Security = { readonly insecure: true } | { readonly certsDir: string };

/** A function written with the public Python SDK. */
export function pythonFunction(file: string, security: Security): FunctionCommand {
  const program = pythonOf(installed(pythonSdk, cacheDirectory));
  return { program, args: (address) => [file, "--address", address, ...flags(security, "--tls-certs-dir")] };
}

/** A function written with the public TypeScript SDK. It runs from the SDK's folder, where Node finds its imports. */
export function typescriptFunction(file: string, security: Security): FunctionCommand {
  const folder = join(installed(typescriptSdk, cacheDirectory), "functions");
  mkdirSync(folder, { recursive: true });
  const copy = join(folder, basename(file));
  copyFileSync(file, copy);
  return {
    program: process.execPath,
    args: (address) => [copy, "--address", address, ...flags(security, "--tls-server-certs-dir")],
  };
}

/** A function written with our SDK. */
export function purlinFunction(file: string, security: Security): FunctionCommand {
  const quiet = ["--metrics-address", ""];
  return {
    program: process.execPath,
    args: (address) => [file, "--address", address, ...quiet, ...flags(security, "--tls-certs-dir")],
  };
}

function flags(security: Security, certsFlag: string): string[] {
  return "insecure" in security ? ["--insecure"] : [certsFlag, security.certsDir];
}
