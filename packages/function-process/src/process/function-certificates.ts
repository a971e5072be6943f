// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@purlin/base";
import { createAuthority, issueCertificate, type KeyPair, readValidity, shouldRenew } from "@purlin/certificates";
import { createTlsIdentity, type TlsIdentity } from "@purlin/certificates/peer";

/** The certificates of functions that run on this machine. */
export interface FunctionCertificates {
  /** The client side of every call. */
  readonly client: { current(): TlsIdentity };
  /**
   * The folder with `ca.crt`, `tls.crt` and `tls.key` that a function is to be served with from now on: the same until its
   * certificate is renewed, another one afterwards. What is served with the old one should be replaced then. `dnsNames` are further names
   * of the server, remembered for later calls.
   */
  serverFolder(functionName: string, dnsNames?: readonly string[]): Promise<string>;
  /** How long until the certificate is renewed. */
  renewInMs(functionName: string): number;
  /** Removes the files of a function that is gone; errors are ignored. */
  forget(functionName: string): Promise<void>;
}

/** When certificates are made, and for how long. */
interface CertificateTimes {
  readonly now: () => number;
  /** Renewed when a third of this is left. */
  readonly days: number;
  /** Where to write the client certificate, for other programs of the same user that call functions; not written unless given. */
  readonly clientFolder?: string | undefined;
}

const lastThird = 1 / 3;
const authorityYears = 10;
const yearMs = 365 * 86_400_000;

/**
 * An authority for the lifetime of this process. Its key is never written to disk, and a function's certificate is valid for serving only, so
 * no function can call another one.
 */
export function createFunctionCertificates(directory: string, times: CertificateTimes): FunctionCertificates {
  const { days, clientFolder } = times;
  const now = (): Date => new Date(times.now());
  const authority = createAuthority({
    commonName: "purlin functions",
    // Whatever the clock of the machine is set to while this process runs, within these years the authority is valid.
    now: new Date(times.now() - authorityYears * yearMs),
    days: 2 * authorityYears * 365,
  });
  const client = keepClientContext(authority, { now, days, clientFolder });
  // Another program may read the files before this process makes its first call.
  if (clientFolder !== undefined) client.current();
  const issued = new Map<string, Issued>();
  const namesOf = new Map<string, readonly string[]>();
  const leaving = new Map<string, Promise<unknown>>();
  // Files of an earlier process were signed by an authority that no longer exists.
  const emptied = rm(directory, { recursive: true, force: true });
  emptied.catch(() => {});

  function folderOf(name: string, number: number): string {
    return join(directory, number === 1 ? name : `${name}~${number}`);
  }

  function issue(name: string, number: number): Issued {
    const pair = issueCertificate(authority, {
      commonName: name,
      dnsNames: ["localhost", ...(namesOf.get(name) ?? [])],
      ipAddresses: ["127.0.0.1"],
      usages: ["server"],
      days,
      now: now(),
    });
    const folder = folderOf(name, number);
    // A function may come back while its folder is still being removed.
    const isFree = Promise.all([emptied, leaving.get(name)]);
    const written = isFree.then(() => writeFiles(folder, pair, authority.certPem));
    // The certificate before the previous one is no longer in use.
    if (number > 2) void rm(folderOf(name, number - 2), { recursive: true, force: true }).catch(() => {});
    written.catch(() => issued.delete(name));
    return { number, certPem: pair.certPem, written };
  }

  return {
    client,
    async serverFolder(name, dnsNames) {
      if (dnsNames !== undefined) namesOf.set(name, dnsNames);
      const known = issued.get(name);
      const isGood = known !== undefined && !shouldRenew(known.certPem, now(), lastThird);
      const current = isGood ? known : issue(name, (known?.number ?? 0) + 1);
      issued.set(name, current);
      return current.written;
    },
    renewInMs(name) {
      const known = issued.get(name);
      return known === undefined ? 0 : renewInMs(known.certPem, times.now());
    },
    async forget(name) {
      const known = issued.get(name);
      if (known === undefined) return;
      issued.delete(name);
      namesOf.delete(name);
      const folders = [known.number, known.number - 1].map((number) => folderOf(name, number));
      const written = known.written.catch(() => {});
      const removed = written.then(() => Promise.all(folders.map((one) => rm(one, { recursive: true, force: true }))));
      // Files that cannot be removed now are removed when the next control plane starts; their certificates are not trusted by then.
      const left = removed.catch(() => {});
      leaving.set(name, left);
      await left;
      if (leaving.get(name) === left) leaving.delete(name);
    },
  };
}

interface Issued {
  readonly number: number;
  readonly certPem: string;
  /** The folder, once its files are there. */
  readonly written: Promise<string>;
}

async function writeFiles(folder: string, { certPem, keyPem }: KeyPair, authorityPem: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await Promise.all([
    writeFile(join(folder, "ca.crt"), authorityPem),
    writeFile(join(folder, "tls.crt"), certPem),
    writeFile(join(folder, "tls.key"), keyPem, { mode: 0o600 }),
  ]);
  return folder;
}

function writeClientFiles(folder: string, { certPem, keyPem }: KeyPair, authorityPem: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, "ca.crt"), authorityPem);
  writeFileSync(join(folder, "tls.crt"), certPem);
  writeFileSync(join(folder, "tls.key"), keyPem, { mode: 0o600 });
}

function renewInMs(certPem: string, now: number): number {
  const { notBefore, notAfter } = readValidity(certPem);
  const lifeMs = notAfter.getTime() - notBefore.getTime();
  return Math.max(0, notAfter.getTime() - lifeMs * lastThird - now);
}

/** Connections made after a renewal use the new certificate; those that are there continue. */
function keepClientContext(
  authority: KeyPair,
  { now, days, clientFolder }: Omit<CertificateTimes, "now"> & { readonly now: () => Date },
): { current(): TlsIdentity } {
  let own: { readonly certPem: string; readonly identity: TlsIdentity } | undefined;
  return {
    current() {
      if (own !== undefined && !shouldRenew(own.certPem, now(), lastThird)) return own.identity;
      const { certPem, keyPem } = issueCertificate(authority, {
        commonName: "purlin",
        usages: ["client"],
        days,
        now: now(),
      });
      if (clientFolder !== undefined) writeClientFiles(clientFolder, { certPem, keyPem }, authority.certPem);
      const identity = createTlsIdentity({ ca: authority.certPem, cert: certPem, key: keyPem, minVersion: "TLSv1.3" });
      own = { certPem, identity };
      return identity;
    },
  };
}

/** Sees that a function is replaced in time, as few programs notice that their certificate was renewed. */
export interface Renewal {
  /** The folder with the certificate to serve with, for a process that is about to be started. */
  take(): Promise<string>;
  /** Looks now: the clock of the machine was set, say. */
  look(): void;
  stop(): void;
}

/** Whose certificate it is, and what to do when it was renewed. */
interface RenewalOptions {
  readonly name: string;
  readonly certificates: FunctionCertificates;
  readonly clock: Clock;
  /** Starts a process with the new one beside the old one. */
  readonly renew: () => void;
}

/** Timers cannot wait for months. */
const longestWaitMs = 86_400_000;
const retryMs = 60_000;

/** Watches over the certificate of one function. */
export function createRenewal({ name, certificates, clock, renew }: RenewalOptions): Renewal {
  let used: string | undefined;
  let cancel = (): void => {};
  let stopped = false;

  function later(delayMs: number): void {
    cancel();
    if (!stopped) cancel = clock.schedule(Math.min(delayMs, longestWaitMs), look);
  }

  function look(): void {
    certificates.serverFolder(name).then(
      (folder) => {
        if (stopped) return;
        if (folder === used) later(certificates.renewInMs(name));
        else renew();
      },
      // A disk that is full now may not be later.
      () => later(retryMs),
    );
  }

  return {
    async take() {
      used = await certificates.serverFolder(name);
      later(certificates.renewInMs(name));
      return used;
    },
    look() {
      // Nothing was taken yet: what is about to be started gets a good one.
      if (used !== undefined && !stopped) look();
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}
