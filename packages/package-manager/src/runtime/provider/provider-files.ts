// SPDX-License-Identifier: Apache-2.0
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "@purlin/base";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import type { KubeClient } from "@purlin/kube-client";
import { controllerReference, type KubeObject, textAt } from "@purlin/kube-objects/object";
import { otherKinds } from "../../package-kinds.ts";
import { renewedAnnotation } from "../certificates/certificate-secrets.ts";
import { runtimeNames, serverNames } from "../kubernetes/runtime-names.ts";
import { ensureNamespace, runtimeFieldManager } from "../owned-objects.ts";
import type { RuntimeContext, RuntimePreparation } from "../package-runtime.ts";
import { type ProviderRuntimeOptions, runtimeConfigOf, secretsOf } from "./provider-host.ts";
import type { ProviderAccount } from "./provider-roles.ts";

/** Where clients in a Pod look for their credentials. */
export const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

const tokenSeconds = 3600;
/** A token is replaced when this part of its life is over, as kubelets do. */
const usedPart = 0.8;

/** What a token ends with: when the object is deleted, so is every token that was issued for it. */
interface BoundSecret {
  readonly name: string;
  readonly uid: string;
}

interface Issued {
  readonly renewAt: number;
  readonly for: string;
}

/** The files of the Providers on this machine: credentials, kubeconfigs and volumes. */
export interface ProviderFiles {
  /** Writes the credentials of a revision; the same token until it is to be replaced. Resolves to the time until then. */
  account(revision: string, account: ProviderAccount, bound: BoundSecret): Promise<number>;
  /** A path in the folder of a revision. */
  folder(revision: string, path: string): string;
  /** Writes a file of a revision unless it has that content. Resolves to its path. */
  write(revision: string, file: string, content: string): Promise<string>;
  /** Writes the files of a volume, and removes others. Resolves to its folder. */
  volume(revision: string, name: string, files: Readonly<Record<string, Buffer>>): Promise<string>;
  remove(revision: string): Promise<void>;
}

/** The dependencies of the files. */
interface FileDeps {
  readonly directory: string;
  readonly clock: Clock;
  /** Issues tokens. */
  readonly grants: Pick<KubeClient, "raw">;
  /** The authority of the API server. */
  readonly authority: () => string;
}

/** Opens the folder of the files of Providers. */
export function openProviderFiles({ directory, clock, grants, authority }: FileDeps): ProviderFiles {
  const issued = new Map<string, Issued>();
  const folderOf = (revision: string): string => join(directory, revision);

  async function issue({ namespace, name }: ProviderAccount, bound: BoundSecret): Promise<string> {
    const boundObjectRef = { apiVersion: "v1", kind: "Secret", ...bound };
    const answer = await grants.raw({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${encodeURIComponent(name)}/token`,
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: tokenSeconds, boundObjectRef },
      },
    });
    return textAt(answer as object, ["status", "token"]) ?? "";
  }

  return {
    folder: (revision, path) => join(folderOf(revision), path),
    async account(revision, account, bound) {
      const key = JSON.stringify([account, bound]);
      const known = issued.get(revision);
      const folder = join(folderOf(revision), "serviceaccount");
      await replace(join(folder, "ca.crt"), authority());
      await replace(join(folder, "namespace"), account.namespace);
      if (known?.for === key && clock.now() < known.renewAt) return known.renewAt - clock.now();
      await replace(join(folder, "token"), await issue(account, bound));
      const lifeMs = tokenSeconds * 1000 * usedPart;
      issued.set(revision, { renewAt: clock.now() + lifeMs, for: key });
      return lifeMs;
    },
    async write(revision, file, content) {
      const path = join(folderOf(revision), file);
      await replace(path, content);
      return path;
    },
    async volume(revision, name, files) {
      const folder = join(folderOf(revision), "volumes", name);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      for (const [file, content] of Object.entries(files)) await replace(join(folder, safeName(file)), content);
      const wanted = new Set(Object.keys(files).map((file) => safeName(file).split("/")[0]));
      for (const found of await readdir(folder)) {
        if (!wanted.has(found)) await rm(join(folder, found), { recursive: true, force: true });
      }
      return folder;
    },
    async remove(revision) {
      issued.delete(revision);
      await rm(folderOf(revision), { recursive: true, force: true });
    },
  };
}

/** A path of a volume stays in its folder. */
function safeName(path: string): string {
  if (path === "" || path.split("/").some((part) => part === "" || part === "." || part === "..")) {
    throw new Error(
      `the runtime config has a volume with the path ${JSON.stringify(path)}: use a relative path without ".."`,
    );
  }
  return path;
}

/** Readers see the old content or the new one. */
async function replace(path: string, content: string | Buffer): Promise<void> {
  const before = await readFile(path).catch(() => undefined);
  if (before?.equals(Buffer.from(content)) === true) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.new`;
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, path);
}

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
