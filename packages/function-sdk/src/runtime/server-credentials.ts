// SPDX-License-Identifier: Apache-2.0
import type { SecureContextOptions } from "node:tls";
import { ServerCredentials } from "@grpc/grpc-js";
import type { Certificates } from "./certificates.ts";

/**
 * Mutual TLS whose certificates can be replaced. The stock credentials of grpc-js either cannot change or poll files;
 * this uses the hook both are built on, which sets the context of new handshakes and leaves connections alone.
 */
export class MutualTlsCredentials extends ServerCredentials {
  constructor(certificates: Certificates) {
    super({ requestCert: true, rejectUnauthorized: true }, contextOptions(certificates));
  }

  /** New connections use these. */
  replace(certificates: Certificates): void {
    this.updateSecureContextOptions(contextOptions(certificates));
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}

/** Everything a context needs: a new one inherits nothing from the one it replaces. */
function contextOptions({ cert, key, ca }: Certificates): SecureContextOptions {
  return { cert, key, ca, minVersion: "TLSv1.2" };
}
