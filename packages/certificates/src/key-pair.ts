// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync, type KeyObject } from "node:crypto";

/** A certificate and its private key (PKCS #8), both PEM. */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** Key kinds this package makes. RSA takes up to a second to generate and is there for peers that know nothing newer. */
export type KeyAlgorithm = "ecdsa-p256" | "rsa-2048";

interface Keys {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function generateKeys(algorithm: KeyAlgorithm): Keys {
  return algorithm === "rsa-2048"
    ? generateKeyPairSync("rsa", { modulusLength: 2048 })
    : generateKeyPairSync("ec", { namedCurve: "P-256" });
}

export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}
