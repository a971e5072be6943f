// SPDX-License-Identifier: Apache-2.0
import { controllerReference } from "@purlin/kube-objects/object";
import type { CertificatePorts } from "../certificates/authority-secret.ts";
import { ensureLeaf, type Leaf } from "../certificates/leaf-secret.ts";
import { serverNames } from "./runtime-names.ts";
import type { RuntimeScene } from "./runtime-scene.ts";

/** The certificates of a revision. */
export interface RevisionCertificates {
  /** Changes when any of them is renewed; undefined while all are the first. */
  readonly mark: string | undefined;
  /** How long until one is to be renewed; undefined when that is somebody else's business. */
  readonly renewInMs: number | undefined;
}

/**
 * Sees that the certificates of a revision are there. The Secret may be shared by all revisions of a package; then it
 * belongs to the one in charge.
 */
export async function ensureCertificates(scene: RuntimeScene, isInCharge: boolean): Promise<RevisionCertificates> {
  const { options, revision, names, signal } = scene;
  const { objects: client, namespace, clock, certificateDays: days } = options;
  const ports: CertificatePorts = { client, namespace, clock, days };
  const owner = isInCharge ? controllerReference(revision) : undefined;
  const leaves: Leaf[] = [];
  const dnsNames = serverNames(names, namespace);
  const server = {
    secretName: names.serverSecret,
    commonName: names.service,
    dnsNames,
    usage: "server",
    owner,
  } as const;
  leaves.push(await ensureLeaf(ports, server, signal));
  if (names.clientSecret !== undefined) {
    const name = revision.metadata.name ?? "";
    const request = { commonName: name, dnsNames: [name], usage: "client", owner } as const;
    leaves.push(await ensureLeaf(ports, { secretName: names.clientSecret, ...request }, signal));
  }
  const marks = leaves.flatMap(({ mark }) => mark ?? []);
  const times = leaves.flatMap(({ renewInMs }) => renewInMs ?? []);
  return {
    mark: marks.length > 0 ? marks.join("-") : undefined,
    renewInMs: times.length > 0 ? Math.min(...times) : undefined,
  };
}
