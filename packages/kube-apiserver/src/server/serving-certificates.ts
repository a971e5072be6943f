// SPDX-License-Identifier: Apache-2.0

import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import {
  createAuthority,
  issueCertificate,
  type KeyPair,
  remainingLifetimeMs,
  renewAuthority,
  shouldRenew,
} from "@purlin/certificates";
import { mastersGroup } from "../auth/user.ts";
import { StoreError } from "../store/store-error.ts";

/** The server's authority and what it has issued, kept in the data directory. */
export interface ServingCertificates {
  readonly authority: KeyPair;
  readonly server: KeyPair;
  /** For the operator: a member of system:masters. */
  readonly admin: KeyPair;
  /** The key that signs the tokens of ServiceAccounts; its certificate is of no use. */
  readonly tokens: KeyPair;
  /** The authority of the certificate by which the servers of APIServices recognize this one. */
  readonly frontProxy: KeyPair;
}

/** How certificates are loaded. */
interface LoadOptions {
  readonly now?: Date;
  /** What is issued is not kept. */
  readonly isReadOnly?: boolean;
  /** Replace what is damaged. Default: throw a StoreError that says what is damaged and how. */
  readonly repair?: boolean;
  /** What a running server serves with: files that are missing are written again. */
  readonly current?: ServingCertificates;
  /** Called with what was replaced because it was missing or damaged. */
  readonly onWarning?: (message: string) => void;
}

type Name = keyof ServingCertificates;
const files: Readonly<Record<Name, string>> = {
  authority: "ca.pem",
  server: "server.pem",
  admin: "admin.pem",
  tokens: "tokens.pem",
  frontProxy: "front-proxy-ca.pem",
};

/** What stops working with a new one. */
const consequence: Readonly<Record<Name, string>> = {
  authority: "every kubeconfig that was handed out stops working",
  server: "nothing else changes",
  admin: "kubeconfigs that were handed out continue to work",
  tokens: "tokens of ServiceAccounts that were handed out stop working",
  frontProxy: "the servers of APIServices read the new one from extension-apiserver-authentication",
};

/**
 * Loads the certificates, and issues all of them where there are none, and those that are about to expire or not valid yet. The authority
 * keeps its key when it is renewed: a kubeconfig with its old certificate stays valid. Damaged files are an error, and
 * replaced on request only.
 */
export function loadCertificates(directory: string, options: LoadOptions = {}): ServingCertificates {
  const folder = join(directory, "pki");
  if (hasFiles(folder) || options.isReadOnly) return loadFrom(folder, options);
  // All of them appear at once: a crash leaves the whole folder or none.
  const unfinished = `${folder}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  const made = loadFrom(unfinished, options);
  rmSync(folder, { recursive: true, force: true });
  renameSync(unfinished, folder);
  return made;
}

function hasFiles(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).length > 0;
}

function loadFrom(folder: string, options: LoadOptions): ServingCertificates {
  const { now = new Date() } = options;
  const isNew = !Object.values(files).some((file) => existsSync(join(folder, file)));
  const load = createLoader(folder, { ...options, isNew });
  const authority = load("authority", {
    check: (pair) => (isAuthority(pair) ? undefined : "it is not the certificate of an authority"),
    renew: (pair) => renewedAuthority(pair, now),
    make: () => newAuthority(now),
  });
  const issued = {
    check: (pair: KeyPair) =>
      isIssuedBy(authority.pair, pair) ? undefined : "another authority than ca.pem issued it",
    isStale: authority.isNew,
  };
  const server = load("server", {
    ...issued,
    renew: (pair) => (shouldRenew(pair.certPem, now) ? issueServer(authority.pair, now) : pair),
    make: () => issueServer(authority.pair, now),
  });
  const admin = load("admin", {
    ...issued,
    renew: (pair) => (shouldRenew(pair.certPem, now) ? issueAdmin(authority.pair, now) : pair),
    make: () => issueAdmin(authority.pair, now),
  });
  const tokens = load("tokens", {
    check: () => undefined,
    // Never renewed while it is there: tokens out there were signed with it.
    renew: (pair) => pair,
    make: () => createAuthority({ commonName: "tokens", now }),
  });
  const frontProxy = load("frontProxy", {
    check: (pair) => (isAuthority(pair) ? undefined : "it is not the certificate of an authority"),
    renew: (pair) => (shouldRenew(pair.certPem, now) ? newFrontProxy(now) : pair),
    make: () => newFrontProxy(now),
  });
  return {
    authority: authority.pair,
    server: server.pair,
    admin: admin.pair,
    tokens: tokens.pair,
    frontProxy: frontProxy.pair,
  };
}

interface Recipe {
  /** Why a pair that is whole cannot be used. */
  readonly check: (pair: KeyPair) => string | undefined;
  /** The same pair while it is good, another one when it is due. */
  readonly renew: (pair: KeyPair) => KeyPair;
  readonly make: () => KeyPair;
  /** Whatever is there is of an authority that was replaced just now. */
  readonly isStale?: boolean;
}

interface Loaded {
  readonly pair: KeyPair;
  /** Its key is new. */
  readonly isNew: boolean;
}

function createLoader(
  folder: string,
  options: LoadOptions & { readonly isNew: boolean },
): (name: Name, recipe: Recipe) => Loaded {
  const { isReadOnly = false, isNew, current } = options;
  return (name, recipe) => {
    const path = join(folder, files[name]);
    const stored = storedPair(path, current?.[name], recipe);
    const isMade = stored.state !== "good" || recipe.isStale === true;
    if (stored.state !== "good" && !isNew && recipe.isStale !== true) replaceDamaged({ name, path }, stored, options);
    const pair = isMade ? recipe.make() : recipe.renew(stored.pair);
    const isWritten = stored.state === "good" && pair === stored.pair && existsSync(path);
    const hasNewKey = isMade || (stored.state === "good" && pair.keyPem !== stored.pair.keyPem);
    // After a crash in between, what the old authority issued is missing and not of another one.
    if (!isReadOnly && hasNewKey && name === "authority") removeIssued(folder);
    if (!isReadOnly && !isWritten) writePair(path, pair);
    return { pair, isNew: hasNewKey };
  };
}

function removeIssued(folder: string): void {
  for (const name of ["server", "admin"] as const) rmSync(join(folder, files[name]), { force: true });
}

function storedPair(path: string, current: KeyPair | undefined, { check }: Recipe): StoredPair {
  const found = readPair(path);
  const stored: StoredPair =
    found.state === "missing" && current !== undefined ? { state: "good", pair: current } : found;
  const reason = stored.state === "good" ? check(stored.pair) : undefined;
  return reason === undefined ? stored : damaged(reason);
}

/** Throws unless it may be replaced. A certificate that is only missing is issued again: the authority is the one it was. */
function replaceDamaged(
  { name, path }: { readonly name: Name; readonly path: string },
  stored: StoredPair,
  options: LoadOptions,
): void {
  const { repair = false, onWarning } = options;
  // Data directories of earlier releases do not have it.
  if (name === "frontProxy" && stored.state === "missing") return;
  const isIssued = name === "server" || name === "admin";
  const reason = stored.state === "damaged" ? `is damaged: ${stored.reason}` : "is missing";
  if (!repair && !(isIssued && stored.state === "missing")) {
    throw new StoreError(
      "damaged",
      `${path} ${reason}: restore the file from a backup, or start with --repair-certificates to make a new one; ${consequence[name]} then`,
    );
  }
  onWarning?.(`${path} ${reason.replace("is ", "was ")}; it was replaced, and ${consequence[name]}`);
}

function newAuthority(now: Date): KeyPair {
  return createAuthority({ commonName: "purlin-kube-apiserver", now });
}

function newFrontProxy(now: Date): KeyPair {
  return createAuthority({ commonName: "purlin-front-proxy-ca", now });
}

/** The certificate by which the servers of APIServices recognize this one. */
export function issueFrontProxyClient(authority: KeyPair, now: Date): KeyPair {
  return issueCertificate(authority, { commonName: frontProxyName, usages: ["client"], now });
}

/** The common name of the certificate of {@link issueFrontProxyClient}. */
export const frontProxyName = "front-proxy-client";

/** Another certificate of the same key; one that has expired cannot be renewed by itself. */
function renewedAuthority(authority: KeyPair, now: Date): KeyPair {
  if (!shouldRenew(authority.certPem, now)) return authority;
  return remainingLifetimeMs(authority.certPem, now) > 0 ? renewAuthority(authority, { now }) : newAuthority(now);
}

function issueServer(authority: KeyPair, now: Date): KeyPair {
  return issueCertificate(authority, { ...serverSubject(), now });
}

function issueAdmin(authority: KeyPair, now: Date): KeyPair {
  const subject = { commonName: "admin", organizations: [mastersGroup] };
  return issueCertificate(authority, { ...subject, usages: ["client"], now });
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

// The name of a machine may not be a DNS name.
function hostNames(): string[] {
  const name = hostname().toLowerCase();
  return /^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?$/.test(name) && !name.includes("..") ? [name] : [];
}

/** What is in the file of a key and its certificate. */
type StoredPair =
  | { readonly state: "missing" }
  | { readonly state: "damaged"; readonly reason: string }
  | { readonly state: "good"; readonly pair: KeyPair };

const parts = /^(-----BEGIN PRIVATE KEY-----\n.*-----END PRIVATE KEY-----\n)?(-----BEGIN CERTIFICATE-----\n.*\n)?$/s;

/** Reads the file of a key and its certificate, and sees that they belong together. */
export function readPair(path: string): StoredPair {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { state: "missing" };
    throw error;
  }
  if (text === "") return damaged("it is empty");
  const [whole, keyPem, certPem] = parts.exec(text) ?? [];
  if (whole === undefined) return damaged("it is cut off, or not a private key followed by a certificate");
  if (keyPem === undefined) return damaged("the private key is missing");
  if (certPem === undefined) return damaged("the certificate is missing");
  return checked({ keyPem, certPem });
}

function checked(pair: KeyPair): StoredPair {
  try {
    if (!new X509Certificate(pair.certPem).checkPrivateKey(createPrivateKey(pair.keyPem))) {
      return damaged("the private key belongs to another certificate");
    }
    return { state: "good", pair };
  } catch (error) {
    return damaged(`it cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A pair that cannot be used. */
function damaged(reason: string): StoredPair {
  return { state: "damaged", reason };
}

/** Writes key and certificate into one file that appears complete: a crash cannot leave one without the other. */
function writePair(path: string, { keyPem, certPem }: KeyPair): void {
  rmSync(`${path}.new`, { force: true });
  writeFileSync(`${path}.new`, keyPem + certPem, { mode: 0o600, flag: "wx" });
  renameSync(`${path}.new`, path);
}

/** Whether an authority issued the certificate of a pair. */
function isIssuedBy(authority: KeyPair, { certPem }: KeyPair): boolean {
  const issuer = new X509Certificate(authority.certPem);
  const certificate = new X509Certificate(certPem);
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/** Whether a pair can issue certificates in its own name. */
function isAuthority(pair: KeyPair): boolean {
  return new X509Certificate(pair.certPem).ca && isIssuedBy(pair, pair);
}
