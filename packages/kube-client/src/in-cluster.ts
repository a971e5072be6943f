// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterAccess } from "./cluster-access.ts";
import { tokenFile } from "./token-file.ts";

/** Where a Pod finds its service account, by convention. */
export const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The access a Pod has to its own cluster, or undefined when this process is not in one. */
export async function inClusterAccess(
  env: Readonly<Record<string, string | undefined>>,
  directory: string = serviceAccountDirectory,
): Promise<ClusterAccess | undefined> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (!host || !port) return undefined;
  const read = (name: string): Promise<string> => readFile(join(directory, name), "utf8");
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    caPem: await read("ca.crt"),
    namespace: (await read("namespace").catch(() => "default")).trim(),
    credentials: tokenFile(join(directory, "token")),
  };
}
