// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient } from "@purlin/kube-controller";
import { isJsonObject } from "@purlin/kube-objects";
import { memberAt, textAt } from "@purlin/kube-objects/object";
import { type CredentialsFor, credentialsFromDockerConfig, firstCredentials } from "@purlin/oci";
import { otherKinds } from "../package-kinds.ts";

/** Where pull secrets are read. */
export interface PullSecretSource {
  readonly client: Pick<ControllerClient, "get">;
  readonly namespace: string;
  /** The control plane's own account: its pull secrets count as well. */
  readonly serviceAccount?: string | undefined;
}

/** The credentials that some pull secrets hold, those named first coming first. Absent ones are an error that names them. */
export async function readPullSecrets(
  source: PullSecretSource,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<CredentialsFor> {
  const inherited = await secretsOfAccount(source, signal);
  const found: CredentialsFor[] = [];
  for (const name of new Set([...names, ...inherited])) {
    const isRequired = names.includes(name);
    const secret = await readPullSecret(source, name, signal);
    if (secret !== undefined) found.push(secret);
    else if (isRequired) throw new Error(`cannot get pull secret: Secret "${name}" not found in ${source.namespace}`);
  }
  return firstCredentials(found);
}

async function readPullSecret(
  { client, namespace }: PullSecretSource,
  name: string,
  signal: AbortSignal | undefined,
): Promise<CredentialsFor | undefined> {
  const secret = await client.get(otherKinds.secret, { namespace, name }, { signal });
  if (secret === undefined) return undefined;
  const where = `Secret ${namespace}/${name}`;
  const current = textAt(secret, ["data", ".dockerconfigjson"]);
  if (current !== undefined) return credentialsFromDockerConfig(decode(current), where);
  const old = textAt(secret, ["data", ".dockercfg"]);
  if (old !== undefined) return credentialsFromDockerConfig(`{"auths":${decode(old)}}`, where);
  throw new Error(`${where}: a pull secret holds .dockerconfigjson; this one does not`);
}

function decode(text: string): string {
  return Buffer.from(text, "base64").toString("utf8");
}

async function secretsOfAccount(source: PullSecretSource, signal: AbortSignal | undefined): Promise<string[]> {
  const { client, namespace, serviceAccount } = source;
  if (serviceAccount === undefined) return [];
  const account = await client.get(otherKinds.serviceAccount, { namespace, name: serviceAccount }, { signal });
  const secrets = account && memberAt(account, ["imagePullSecrets"]);
  if (!Array.isArray(secrets)) return [];
  return secrets.flatMap((one) => (isJsonObject(one) && typeof one["name"] === "string" ? [one["name"]] : []));
}
