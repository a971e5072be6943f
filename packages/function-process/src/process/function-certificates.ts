// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAuthority, issueCertificate, type KeyPair, readValidity, shouldRenew } from "@purlin/certificates";
import { createTlsIdentity, type TlsIdentity } from "@purlin/certificates/peer";

/** The certificates of functions that run on this machine. */
export interface FunctionCertificates {
  /** Our side of every call. */
  readonly client: { current(): TlsIdentity };
  /**
   * The folder with `ca.crt`, `tls.crt` and `tls.key` that a function is to be served with from now on: the same until its
   * certificate is renewed, another one afterwards. What is served with the old one should be replaced then.
   */
  serverFolder(functionName: string): Promise<string>;
  /** How long until that is another one. */
  renewInMs(functionName: string): number;
  /** Removes what was made for a function that is gone, as far as the disk allows. */
  forget(functionName: string): Promise<void>;
}

/** When certificates are made, and for how long. */
interface CertificateTimes {
  readonly now: () => number;
  /** Renewed when a third of this is left. */
  readonly days: number;
  /** Where our side of calls is written down, for programs of the same user that shall call functions too; nowhere unless given. */
  readonly clientFolder?: string | undefined;
}

const lastThird = 1 / 3;
const authorityYears = 10;
const yearMs = 365 * 86_400_000;

/**
 * An authority for as long as this process runs. Its key is never written down, and a function's certificate is good for
 * serving only, so no function can call another one.
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
  // Whoever reads it may come before the first call of ours.
  if (clientFolder !== undefined) client.current();
  const issued = new Map<string, Issued>();
  const leaving = new Map<string, Promise<unknown>>();
  // What an earlier process left was signed by an authority that is no more.
  const emptied = rm(directory, { recursive: true, force: true });
  emptied.catch(() => {});

  function folderOf(name: string, number: number): string {
    return join(directory, number === 1 ? name : `${name}~${number}`);
  }

  function issue(name: string, number: number): Issued {
    const pair = issueCertificate(authority, {
      commonName: name,
      dnsNames: ["localhost"],
      ipAddresses: ["127.0.0.1"],
      usages: ["server"],
      days,
      now: now(),
    });
    const folder = folderOf(name, number);
    // A function may come back while its folder is still being removed.
    const isFree = Promise.all([emptied, leaving.get(name)]);
    const written = isFree.then(() => writeFiles(folder, pair, authority.certPem));
    // The last but one is of no use to anybody any more.
    if (number > 2) void rm(folderOf(name, number - 2), { recursive: true, force: true }).catch(() => {});
    written.catch(() => issued.delete(name));
    return { number, certPem: pair.certPem, written };
  }

  return {
    client,
    async serverFolder(name) {
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
      const folders = [known.number, known.number - 1].map((number) => folderOf(name, number));
      const written = known.written.catch(() => {});
      const removed = written.then(() => Promise.all(folders.map((one) => rm(one, { recursive: true, force: true }))));
      // What cannot be removed now goes when the next control plane starts, and is of no use to anybody until then.
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

/** Connections made after a renewal use the new certificate; those that are there go on. */
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
