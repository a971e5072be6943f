// SPDX-License-Identifier: Apache-2.0

import { statSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { type Log, silentLog } from "@purlin/base";
import { createTlsIdentity, parseCertificates, type TlsIdentity } from "@purlin/certificates/peer";
import { readRegularFileSync } from "@purlin/kube-objects/files";
import type { FunctionTarget } from "../function-runner.ts";
import { RunnerError, textOf } from "../runner-error.ts";

/** Where new connections get their certificates from. */
export interface TlsSource {
  /** What to use for a connection that is about to be made. */
  current(): TlsIdentity;
  /** The common name that the certificate of a function must carry, where each one has a certificate of its own; any unless given. */
  commonName?(target: Pick<FunctionTarget, "revisionName">): string | undefined;
  /** A socket to the process behind a Unix socket, connected more directly than through it; undefined where there is none. */
  open?(path: string): Promise<Socket> | undefined;
}

const files = ["ca.crt", "tls.crt", "tls.key"] as const;

/**
 * The client's side of mutual TLS from a directory: `ca.crt` is whom to trust, `tls.crt` and `tls.key` who we are.
 * Throws when a file is missing or unusable. The files are looked at again for every new connection, so rotated ones are
 * picked up; while new ones are half written, the last good ones stay in use.
 */
export function tlsFromDirectory(directory: string, log: Log = silentLog): TlsSource {
  let stamp = stampOf(directory);
  let identity = load(directory);
  return {
    current() {
      try {
        const seen = stampOf(directory);
        if (seen === stamp) return identity;
        identity = load(directory);
        stamp = seen;
      } catch (error) {
        log.info("cannot reload TLS certificates, using the last good ones", { directory, error: textOf(error) });
      }
      return identity;
    },
  };
}

/** Changes whenever a file is replaced or rewritten, also through the symbolic links of a mounted Secret. */
function stampOf(directory: string): string {
  const marks = files.map((file) => {
    const { ino, mtimeMs, size } = inspect({ directory, file }, (path) => statSync(path));
    return `${ino}:${mtimeMs}:${size}`;
  });
  return marks.join();
}

/** Bundles of every public certificate authority have less than 1 MiB. */
const maxPemBytes = 4 * 1024 * 1024;

function load(directory: string): TlsIdentity {
  const read = (file: (typeof files)[number]): Buffer =>
    inspect({ directory, file }, (path) => readRegularFileSync(path, { maxBytes: maxPemBytes }));
  const [ca, cert, key] = [read("ca.crt"), read("tls.crt"), read("tls.key")];
  for (const [file, pem] of [
    ["ca.crt", ca],
    ["tls.crt", cert],
  ] as const) {
    inspect({ directory, file, problem: "is not a PEM certificate" }, () => parseCertificates(pem));
  }
  const keyFile = { directory, file: "tls.key" };
  inspect({ ...keyFile, problem: "is not a PEM private key" }, () => createSecureContext({ key }));
  return inspect({ ...keyFile, problem: "does not belong to tls.crt" }, () => createTlsIdentity({ ca, cert, key }));
}

interface TlsFile {
  readonly directory: string;
  readonly file: string;
  /** What is wrong with the file when `read` throws. Default: it cannot be read. */
  readonly problem?: string;
}

function inspect<T>({ directory, file, problem }: TlsFile, read: (path: string) => T): T {
  const path = join(directory, file);
  try {
    return read(path);
  } catch (error) {
    const what = problem === undefined ? `cannot read TLS file "${path}"` : `TLS file "${path}" ${problem}`;
    const advice = `expected ${files.join(", ")} in PEM form in "${directory}"`;
    throw new RunnerError("TLS", `${what}: ${textOf(error)} (${advice})`, { cause: error });
  }
}
