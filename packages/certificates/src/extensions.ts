// SPDX-License-Identifier: Apache-2.0
import { createHash, type KeyObject } from "node:crypto";
import { ipAddressOf } from "@purlin/base";
import * as der from "./der-writer.ts";
import { objectIds } from "./der-writer.ts";

/** What a certificate may be used for: to serve TLS, to call over TLS, or both. */
export type CertificateUsage = "server" | "client";

const keyUsageBits = {
  digitalSignature: 0,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyCertSign: 5,
  crlSign: 6,
} as const;

/** The first 160 bits of the SHA-256 of the public key info: method 4 of RFC 7093. */
export function keyIdentifierOf(key: KeyObject): Buffer {
  const info = key.export({ type: "spki", format: "der" });
  return createHash("sha256").update(info).digest().subarray(0, 20);
}

export function subjectKeyIdentifier(key: KeyObject): Buffer {
  return extension(objectIds.subjectKeyIdentifier, der.octetString(keyIdentifierOf(key)));
}

export function authorityKeyIdentifier(identifier: Uint8Array): Buffer {
  return extension(objectIds.authorityKeyIdentifier, der.sequence(der.contextPrimitive(0, identifier)));
}

/** Marks an authority that signs end certificates only, never other authorities. */
export function authorityConstraints(): Buffer {
  return critical(objectIds.basicConstraints, der.sequence(der.booleanTrue(), der.smallInteger(0)));
}

/** Marks an authority that may sign other authorities too. */
export function unlimitedAuthorityConstraints(): Buffer {
  return critical(objectIds.basicConstraints, der.sequence(der.booleanTrue()));
}

export function endEntityConstraints(): Buffer {
  return critical(objectIds.basicConstraints, der.sequence());
}

export function authorityKeyUsage(): Buffer {
  return keyUsage(["digitalSignature", "keyCertSign", "crlSign"]);
}

export function endEntityKeyUsage(key: KeyObject): Buffer {
  return keyUsage(key.asymmetricKeyType === "rsa" ? ["digitalSignature", "keyEncipherment"] : ["digitalSignature"]);
}

/** What a key may do, by name. */
export function keyUsage(names: readonly (keyof typeof keyUsageBits)[]): Buffer {
  return critical(objectIds.keyUsage, der.namedBits(names.map((name) => keyUsageBits[name])));
}

export function extendedKeyUsage(usages: readonly CertificateUsage[]): Buffer {
  const oids = [...new Set(usages)].map((usage) => (usage === "server" ? objectIds.serverAuth : objectIds.clientAuth));
  return extension(objectIds.extKeyUsage, der.sequence(...oids));
}

/** Undefined when there is no name: an empty list of names is not allowed. */
export function subjectAltName(dnsNames: readonly string[], ipAddresses: readonly string[]): Buffer | undefined {
  const names = [
    ...dnsNames.map((name) => der.contextPrimitive(2, dnsNameBytes(name))),
    ...ipAddresses.map((address) => der.contextPrimitive(7, ipAddressBytes(address))),
  ];
  return names.length === 0 ? undefined : extension(objectIds.subjectAltName, der.sequence(...names));
}

function dnsNameBytes(name: string): Buffer {
  if (
    name.length > 253 ||
    !/^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*$/.test(name)
  ) {
    throw new Error(`cannot add "${name}" to a certificate: not a DNS name`);
  }
  return Buffer.from(name, "latin1");
}

function extension(oid: Uint8Array, value: Uint8Array): Buffer {
  return der.sequence(oid, der.octetString(value));
}

function critical(oid: Uint8Array, value: Uint8Array): Buffer {
  return der.sequence(oid, der.booleanTrue(), der.octetString(value));
}

/** The 4 or 16 bytes of an address, as a subject alternative name holds them. */
export function ipAddressBytes(text: string): Buffer {
  const address = ipAddressOf(text);
  // A zone ("%eth0") names an interface of one machine and has no place in a certificate.
  if (address === undefined || address.zone !== "") {
    throw new Error(`cannot add "${text}" to a certificate: not an IPv4 or IPv6 address`);
  }
  return Buffer.from(address.value.toString(16).padStart(address.bits / 4, "0"), "hex");
}
