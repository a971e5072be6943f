// SPDX-License-Identifier: Apache-2.0

import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Clock } from "@purlin/base";
import { createAuthority, type KeyPair, renewAuthority, shouldRenew } from "@purlin/certificates";
import type { ControllerClient } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { packageFieldManagers } from "../../package-deps.ts";
import { otherKinds } from "../../package-kinds.ts";

/** The Secret with the authority that signs every certificate of packages on a cluster. */
export const authoritySecretName = "crossplane-root-ca";

/** The dependencies of certificates. */
export interface CertificateDeps {
  readonly client: ControllerClient;
  readonly namespace: string;
  readonly clock: Clock;
  /** How long a certificate is good for; it is renewed when a third of that is left. A year unless given. */
  readonly days?: number | undefined;
}

/**
 * The authority of a cluster. It is made when its Secret is missing or lacks a part, in the form Crossplane reads: a
 * cluster may change hands in either direction. In the last third of its life its certificate is renewed.
 */
export async function ensureAuthority(deps: CertificateDeps, signal: AbortSignal): Promise<KeyPair> {
  const { client, namespace, clock } = deps;
  const key = { namespace, name: authoritySecretName };
  return during(`cannot get the certificate authority of Secret "${namespace}/${authoritySecretName}"`, async () => {
    const existing = await client.get(otherKinds.secret, key, { signal });
    const known = existing && authorityIn(existing);
    const now = new Date(clock.now());
    if (known !== undefined && !isToBeRenewed(known, now)) return known;
    const authority = known === undefined ? newAuthority(now) : renewAuthority(known, { now });
    const data = secretData({ "tls.crt": authority.certPem, "tls.key": authority.keyPem });
    const options = { fieldManager: packageFieldManagers.update, signal };
    // A concurrent creation is detected: neither write overwrites anything.
    if (existing !== undefined) await client.update({ ...existing, data } as KubeObject, options);
    else await client.create({ ...otherKinds.secret, metadata: key, type: "Opaque", data }, options);
    return authority;
  });
}

function authorityIn(secret: KubeObject): KeyPair | undefined {
  const [certPem, keyPem] = [secretText(secret, "tls.crt"), secretText(secret, "tls.key")];
  return certPem === undefined || keyPem === undefined ? undefined : { certPem, keyPem };
}

/**
 * Only an authority that we or Crossplane made is renewed: others have an owner who renews them. It keeps its key, so peers that
 * trust the old certificate continue to work, and have years to get the new one.
 */
function isToBeRenewed({ certPem }: KeyPair, now: Date): boolean {
  try {
    const certificate = new X509Certificate(certPem);
    const isOurs = renewedSubjects.has(sortedSubject(certificate)) && certificate.checkIssued(certificate);
    return isOurs && certificate.validToDate > now && shouldRenew(certPem, now);
  } catch {
    // A malformed certificate is reported when something is to be signed with it.
    return false;
  }
}

/** Our own name for the authority; no leaf has it. */
const authorityName = "purlin packages";

/** The attributes of subjects, sorted: encoders differ in their order. */
const renewedSubjects: ReadonlySet<string> = new Set([
  `CN=${authorityName},O=Purlin`,
  // Crossplane's.
  "C=Earth,CN=Crossplane,L=Earth,O=Crossplane,ST=Earth",
  // Ours, made by earlier versions.
  "CN=Crossplane,O=Crossplane",
]);

function sortedSubject({ subject }: X509Certificate): string {
  return subject.split("\n").sort().join();
}

function newAuthority(now: Date): KeyPair {
  const { certPem, keyPem } = createAuthority({
    commonName: authorityName,
    organizations: ["Purlin"],
    dnsNames: [authoritySecretName],
    algorithm: "rsa-2048",
    now,
  });
  return { certPem, keyPem: createPrivateKey(keyPem).export({ type: "pkcs1", format: "pem" }).toString() };
}

/** The files of a certificate's Secret. */
export const certificateKeys = ["ca.crt", "tls.crt", "tls.key"] as const;

/** A file of a Secret as text; undefined when it is missing or empty. */
export function secretText(secret: KubeObject, key: (typeof certificateKeys)[number]): string | undefined {
  const encoded = textAt(secret, ["data", key]);
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
}

/** Texts as the data of a Secret. */
export function secretData(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
}
