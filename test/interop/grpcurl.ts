// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { join } from "node:path";
import { cacheDirectory } from "../../tools/peers/cache-directory.ts";
import { grpcurlIn, grpcurl as peer } from "../../tools/peers/catalog.ts";
import { installed } from "../../tools/peers/peer.ts";

/** What grpcurl printed and how it ended. */
export interface GrpcurlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs grpcurl to its end, whether it succeeds or not. */
export function grpcurl(...args: readonly string[]): Promise<GrpcurlResult> {
  const program = grpcurlIn(installed(peer, cacheDirectory));
  return new Promise((resolve, reject) => {
    execFile(program, ["-max-time", "120", "-connect-timeout", "60", ...args], (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** The flags that call with the certificates of a folder. */
export function withCertificates(directory: string): string[] {
  const file = (name: string): string => join(directory, name);
  return ["-cacert", file("ca.crt"), "-cert", file("tls.crt"), "-key", file("tls.key")];
}
