// SPDX-License-Identifier: Apache-2.0
import { oid } from "./der-writer.ts";

type Name =
  | "commonName"
  | "country"
  | "locality"
  | "province"
  | "organization"
  | "subjectKeyIdentifier"
  | "keyUsage"
  | "subjectAltName"
  | "basicConstraints"
  | "authorityKeyIdentifier"
  | "extKeyUsage"
  | "serverAuth"
  | "clientAuth"
  | "ecdsaWithSha256"
  | "rsaWithSha256";

/** Object identifiers, already encoded. */
export const OID: Readonly<Record<Name, Uint8Array>> = {
  commonName: oid("2.5.4.3"),
  country: oid("2.5.4.6"),
  locality: oid("2.5.4.7"),
  province: oid("2.5.4.8"),
  organization: oid("2.5.4.10"),
  subjectKeyIdentifier: oid("2.5.29.14"),
  keyUsage: oid("2.5.29.15"),
  subjectAltName: oid("2.5.29.17"),
  basicConstraints: oid("2.5.29.19"),
  authorityKeyIdentifier: oid("2.5.29.35"),
  extKeyUsage: oid("2.5.29.37"),
  serverAuth: oid("1.3.6.1.5.5.7.3.1"),
  clientAuth: oid("1.3.6.1.5.5.7.3.2"),
  ecdsaWithSha256: oid("1.2.840.10045.4.3.2"),
  rsaWithSha256: oid("1.2.840.113549.1.1.11"),
};
