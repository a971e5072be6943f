// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createAuthority, issueCertificate, type KeyPair, shouldRenew } from "@purlin/certificates";
import { MASTERS_GROUP } from "../auth/user.ts";

/** The server's authority and what it has issued, kept in the data directory. */
export interface ServingCertificates {
  readonly authority: KeyPair;
  readonly server: KeyPair;
  /** For the operator: a member of system:masters. */
  readonly admin: KeyPair;
  /** The key that signs the tokens of ServiceAccounts; its certificate is of no use. */
  readonly tokens: KeyPair;
}

export interface LoadOptions {
  readonly now?: Date;
  /** What is issued is not kept. */
  readonly isReadOnly?: boolean;
}

/**
 * Loads the certificates, issuing what is missing, about to expire, or of an authority that is no longer ours. The authority is made
 * once in ten years: whoever has its certificate in a kubeconfig can go on using it.
 */
export function loadCertificates(
  directory: string,
  { now = new Date(), isReadOnly = false }: LoadOptions = {},
): ServingCertificates {
  const folder = join(directory, "pki");
  if (!isReadOnly) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }
  const load = (name: string, isUsable: (pair: KeyPair) => boolean, issue: () => KeyPair): KeyPair =>
    loaded(join(folder, name), isUsable) ?? kept(join(folder, name), issue(), isReadOnly);
  const authority = load("ca.pem", isFresh(now), () => createAuthority({ commonName: "purlin-kube-apiserver", now }));
  const isUsable = (pair: KeyPair): boolean => isFresh(now)(pair) && isIssuedBy(authority, pair);
  const server = load("server.pem", isUsable, () => issueCertificate(authority, { ...serverSubject(), now }));
  const admin = load("admin.pem", isUsable, () =>
    issueCertificate(authority, { commonName: "admin", organizations: [MASTERS_GROUP], usages: ["client"], now }),
  );
  // Never renewed while it is there: tokens out there were signed with it.
  const tokens = load(
    "tokens.pem",
    () => true,
    () => createAuthority({ commonName: "tokens", now }),
  );
  return { authority, server, admin, tokens };
}

const isFresh =
  (now: Date) =>
  ({ certPem }: KeyPair): boolean =>
    !shouldRenew(certPem, now);

function isIssuedBy(authority: KeyPair, { certPem }: KeyPair): boolean {
  const issuer = new X509Certificate(authority.certPem);
  const certificate = new X509Certificate(certPem);
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function serverSubject(): Parameters<typeof issueCertificate>[1] {
  const service = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ];
  return {
    commonName: "kube-apiserver",
    dnsNames: [...new Set(["localhost", ...hostNames(), ...service])],
    ipAddresses: ["127.0.0.1", "::1"],
    usages: ["server"],
  };
}

// A machine may call itself something that is no DNS name.
function hostNames(): string[] {
  const name = hostname().toLowerCase();
  return /^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?$/.test(name) && !name.includes("..") ? [name] : [];
}

function loaded(path: string, isUsable: (pair: KeyPair) => boolean): KeyPair | undefined {
  const known = existsSync(path) ? split(readFileSync(path, "utf8")) : undefined;
  return known !== undefined && isUsable(known) ? known : undefined;
}

function kept(path: string, issued: KeyPair, isReadOnly: boolean): KeyPair {
  if (isReadOnly) {
    return issued;
  }
  // Key and certificate in one file that appears complete: a crash cannot leave one without the other.
  writeFileSync(`${path}.new`, issued.keyPem + issued.certPem, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return issued;
}

function split(pem: string): KeyPair | undefined {
  const match = /^(-----BEGIN PRIVATE KEY-----.*-----END PRIVATE KEY-----\n)(-----BEGIN CERTIFICATE-----.*\n)$/s.exec(
    pem,
  );
  const [, keyPem, certPem] = match ?? [];
  return keyPem === undefined || certPem === undefined ? undefined : { keyPem, certPem };
}
