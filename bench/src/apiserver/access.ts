// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { load } from "js-yaml";

/** How to reach an API server, and as whom. */
export interface Access {
  readonly server: string;
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }];
}

/** Reads a kubeconfig with one cluster and one user, everything in it. */
export function readAccess(path: string): Access {
  const { clusters, users } = load(readFileSync(path, "utf8")) as Kubeconfig;
  const pem = (text = ""): string => Buffer.from(text, "base64").toString();
  const { cluster } = clusters[0];
  const { user } = users[0];
  return {
    server: cluster["server"] ?? "",
    caPem: pem(cluster["certificate-authority-data"]),
    certPem: pem(user["client-certificate-data"]),
    keyPem: pem(user["client-key-data"]),
  };
}
