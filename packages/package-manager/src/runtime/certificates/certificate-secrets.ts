// SPDX-License-Identifier: Apache-2.0
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import type { Clock } from "@purlin/base";
import {
  type CertificateUsage,
  createAuthority,
  issueCertificate,
  type KeyPair,
  readValidity,
  renewAuthority,
  shouldRenew,
} from "@purlin/certificates";
import type { ControllerClient } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import { annotationOf, type KubeObject, type OwnerReference, textAt } from "@purlin/kube-objects/object";
import { packageFieldManagers } from "../../package-deps.ts";
import { otherKinds } from "../../package-kinds.ts";
import { applyOwned } from "../owned-objects.ts";

/** A certificate to ensure. */
export interface LeafRequest {
  readonly secretName: string;
  /** The new controller of the Secret; absent leaves the controller as it is. */
  readonly owner?: OwnerReference | undefined;
  readonly commonName: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses?: readonly string[] | undefined;
  readonly usage: CertificateUsage;
}

/** A certificate that exists. */
export interface Leaf {
  readonly secret: KubeObject;
  /** Changes when the certificate is renewed; undefined while it is the first. */
  readonly mark: string | undefined;
  /** How long until it is to be renewed; undefined when another tool renews it. */
  readonly renewInMs: number | undefined;
}

/** On Secrets whose certificate is not their first: a part of its fingerprint. */
export const renewedAnnotation = "purlin.dev/certificate";
const lastThird = 1 / 3;
const defaultDays = 365;

/**
 * Ensures that a certificate exists and is renewed in time. A Secret with any content that the authority did
 * not sign is left alone: another tool manages it.
 */
export async function ensureLeaf(deps: CertificateDeps, request: LeafRequest, signal: AbortSignal): Promise<Leaf> {
  const { client, namespace, clock } = deps;
  return during(`cannot keep the certificate in Secret "${namespace}/${request.secretName}"`, async () => {
    const authority = await ensureAuthority(deps, signal);
    const existing = await client.get(otherKinds.secret, { namespace, name: request.secretName }, { signal });
    const isEmpty = existing === undefined || certificateKeys.every((key) => secretText(existing, key) === undefined);
    if (isEmpty)
      return leafOf(await apply(deps, { request, existing, data: issue(deps, authority, request) }, signal), authority);
    const certPem = signedBy(authority, existing);
    if (certPem === undefined) return { secret: existing, mark: undefined, renewInMs: undefined };
    const now = new Date(clock.now());
    // One that was issued while the clock was ahead may also end after the authority that was renewed since.
    const canImprove = endsBefore(certPem, authority.certPem) || readValidity(certPem).notBefore > now;
    if (shouldRenew(certPem, now, lastThird) && canImprove) {
      const data = issue(deps, authority, request);
      const mark = fingerprint(data["tls.crt"] ?? "");
      return leafOf(await apply(deps, { request, existing, data, mark }, signal), authority);
    }
    const data = Object.fromEntries(certificateKeys.map((key) => [key, secretText(existing, key) ?? ""]));
    const mark = annotationOf(existing, renewedAnnotation);
    return leafOf(await apply(deps, { request, existing, data, mark }, signal), authority);
  });

  function leafOf(secret: KubeObject, authority: KeyPair): Leaf {
    const certPem = secretText(secret, "tls.crt") ?? "";
    const { notBefore, notAfter } = readValidity(certPem);
    const renewAt = notAfter.getTime() - (notAfter.getTime() - notBefore.getTime()) * lastThird;
    const isLast = !endsBefore(certPem, authority.certPem);
    const renewInMs = isLast ? undefined : Math.max(0, renewAt - clock.now());
    return { secret, mark: annotationOf(secret, renewedAnnotation), renewInMs };
  }
}

function issue({ clock, days = defaultDays }: CertificateDeps, authority: KeyPair, request: LeafRequest): Texts {
  const { usage, commonName, dnsNames, ipAddresses = [] } = request;
  const names = { commonName, dnsNames, ipAddresses };
  const now = new Date(clock.now());
  const { certPem, keyPem } = issueCertificate(authority, { ...names, usages: [usage], days, now });
  return { "ca.crt": authority.certPem, "tls.crt": certPem, "tls.key": keyPem };
}

type Texts = Readonly<Record<string, string>>;

interface Wanted {
  readonly request: LeafRequest;
  readonly existing: KubeObject | undefined;
  readonly data: Texts;
  readonly mark?: string | undefined;
}

/** The same data with another owner counts as a change: the Secret must not be deleted with its old owner. */
async function apply(
  { client, namespace }: { readonly client: ControllerClient; readonly namespace: string },
  { request, existing, data, mark }: Wanted,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { secretName: name, owner } = request;
  const owners = owner === undefined ? existing?.metadata.ownerReferences : [owner];
  const wanted: KubeObject = {
    ...otherKinds.secret,
    metadata: {
      name,
      namespace,
      ...(mark !== undefined && { annotations: { [renewedAnnotation]: mark } }),
      ...(owners && { ownerReferences: owners }),
    },
    type: existing?.["type"] ?? "Opaque",
    data: secretData(data),
  };
  return applyOwned(client, wanted, { existing, signal });
}

/** The certificate of a complete Secret, if the authority signed it, by whichever certificate of its own. */
function signedBy(authority: KeyPair, secret: KubeObject): string | undefined {
  const certPem = secretText(secret, "tls.crt");
  const trusted = secretText(secret, "ca.crt");
  if (certPem === undefined || trusted === undefined || secretText(secret, "tls.key") === undefined) return undefined;
  try {
    const { publicKey } = new X509Certificate(authority.certPem);
    if (!new X509Certificate(trusted).publicKey.equals(publicKey)) return undefined;
    return new X509Certificate(certPem).verify(publicKey) ? certPem : undefined;
  } catch {
    // Without a valid certificate there is no signature.
    return undefined;
  }
}

/** No certificate outlives its authority: renewing one that ends with it has no effect. */
function endsBefore(certPem: string, authorityPem: string): boolean {
  return readValidity(certPem).notAfter < readValidity(authorityPem).notAfter;
}

function fingerprint(certPem: string): string {
  return createHash("sha256").update(certPem).digest("hex").slice(0, 16);
}

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
const certificateKeys = ["ca.crt", "tls.crt", "tls.key"] as const;

/** A file of a Secret as text; undefined when it is missing or empty. */
export function secretText(secret: KubeObject, key: (typeof certificateKeys)[number]): string | undefined {
  const encoded = textAt(secret, ["data", key]);
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
}

/** Texts as the data of a Secret. */
export function secretData(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
}
