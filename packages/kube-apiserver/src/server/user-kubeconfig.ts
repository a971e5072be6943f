// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { issueCertificate, type KeyPair } from "@purlin/certificates";
import { printYaml } from "@purlin/kube-objects/yaml";
import { load } from "js-yaml";
import { revokedBefore } from "../auth/revoked-users.ts";
import { readPair } from "./serving-certificates.ts";

/** What a kubeconfig contains. */
interface KubeconfigParts {
  readonly server: string;
  readonly authority: KeyPair;
  readonly client: KeyPair;
  readonly user: string;
  readonly namespace?: string | undefined;
}

/** A kubeconfig with everything in it. */
export function kubeconfigText({ server, authority, client, user, namespace }: KubeconfigParts): string {
  const name = "purlin";
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  return printYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": base64(authority.certPem) } }],
    users: [
      {
        name: user,
        user: { "client-certificate-data": base64(client.certPem), "client-key-data": base64(client.keyPem) },
      },
    ],
    contexts: [{ name, context: { cluster: name, user, ...(namespace === undefined ? {} : { namespace }) } }],
    "current-context": name,
  });
}

/** A user that gets a kubeconfig. */
interface KubeconfigUser {
  readonly name: string;
  readonly groups: readonly string[];
  readonly namespace?: string | undefined;
  /** How long the certificate is valid. */
  readonly days: number;
}

/**
 * A kubeconfig for a user of the server with this data directory, with a certificate that the server's authority signs. The
 * address is that of the operator's kubeconfig.
 */
export function issueUserKubeconfig(directory: string, { name, groups, namespace, days }: KubeconfigUser): string {
  const stored = readPair(join(directory, "pki", "ca.pem"));
  if (stored.state !== "good") {
    throw new Error(`cannot read pki/ca.pem: ${stored.state === "missing" ? "no such file" : stored.reason}`);
  }
  const validFrom = revokedBefore(directory, name);
  const client = issueCertificate(stored.pair, {
    ...{ commonName: name, organizations: groups, usages: ["client"], days },
    ...(validFrom && { validFrom }),
  });
  return kubeconfigText({ server: serverOf(directory), authority: stored.pair, client, user: name, namespace });
}

function serverOf(directory: string): string {
  const config = load(readFileSync(join(directory, "kubeconfig"), "utf8")) as {
    readonly clusters?: readonly { readonly cluster?: { readonly server?: string } }[];
  };
  const server = config.clusters?.[0]?.cluster?.server;
  if (server === undefined) throw new Error("kubeconfig names no server");
  return server;
}
