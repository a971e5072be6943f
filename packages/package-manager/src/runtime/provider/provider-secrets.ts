// SPDX-License-Identifier: Apache-2.0

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { controllerReference, type KubeObject } from "@purlin/kube-objects/object";
import { otherKinds } from "../../package-kinds.ts";
import { ensureNamespace, runtimeFieldManager } from "../apply-owned.ts";
import { renewedAnnotation } from "../certificates/leaf-secret.ts";
import { runtimeNames, serverNames } from "../kubernetes/runtime-names.ts";
import type { RuntimeContext, RuntimePreparation } from "../package-runtime.ts";
import type { ProviderFiles } from "./provider-files.ts";
import { type ProviderRuntimeOptions, runtimeConfigOf, secretsOf } from "./provider-host.ts";

const names = ["ca.crt", "tls.crt", "tls.key"] as const;

type Certificate = Readonly<Record<(typeof names)[number], string>>;

/** Webhooks trust the authority: while a package is upgraded, they are called at the old process and at the new one. */
const annotations = { [renewedAnnotation]: "authority" };

/** Makes the certificates of revisions and writes them to their Secrets. */
export function createProviderSecrets(
  options: ProviderRuntimeOptions,
  files: ProviderFiles,
): (context: RuntimeContext) => Promise<RuntimePreparation> {
  const { client, processes, namespace } = options;
  // Functions do not trust it: a Provider cannot call them.
  const clients = createAuthority({ commonName: "purlin providers" });

  async function clientCertificate(revision: string): Promise<Certificate> {
    const known = await readCertificate(files.folder(revision, "client")).catch(() => undefined);
    if (known?.["ca.crt"] === clients.certPem) return known;
    const issued = issueCertificate(clients, { commonName: revision, dnsNames: [revision], usages: ["client"] });
    const made = { "ca.crt": clients.certPem, "tls.crt": issued.certPem, "tls.key": issued.keyPem };
    for (const name of names) await files.write(revision, join("client", name), made[name]);
    return made;
  }

  async function apply({ revision, signal }: RuntimeContext, name: string, certificate: Certificate): Promise<void> {
    const data = names.map((key) => [key, Buffer.from(certificate[key]).toString("base64")]);
    const object: KubeObject = {
      ...otherKinds.secret,
      metadata: { name, namespace, annotations, ownerReferences: [controllerReference(revision)] },
      type: "Opaque",
      data: Object.fromEntries(data),
    };
    await client.applyIfChanged(object, { fieldManager: runtimeFieldManager, force: true, signal });
  }

  return async (context) => {
    const { type, revision, signal } = context;
    const name = revision.metadata.name ?? "";
    const service = runtimeNames(type, revision, await runtimeConfigOf(client, revision, signal));
    const [folder, own] = await Promise.all([
      processes.certificates(name, serverNames(service, namespace)),
      clientCertificate(name),
      ensureNamespace(client, namespace, signal),
    ]);
    const secrets = secretsOf(name);
    await apply(context, secrets.server, await readCertificate(folder));
    await apply(context, secrets.client, own);
    return { tlsServerSecretName: secrets.server, tlsClientSecretName: secrets.client };
  };
}

async function readCertificate(folder: string): Promise<Certificate> {
  const entries = names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const);
  return Object.fromEntries(await Promise.all(entries)) as Certificate;
}
