// SPDX-License-Identifier: Apache-2.0
import { dump } from "js-yaml";
import type { ServingCertificates } from "./serving-certificates.ts";

/** A kubeconfig with which the operator reaches the server, everything in it. */
export function adminKubeconfig(server: string, { authority, admin }: ServingCertificates): string {
  const name = "purlin";
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  return dump({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": base64(authority.certPem) } }],
    users: [
      {
        name: "admin",
        user: { "client-certificate-data": base64(admin.certPem), "client-key-data": base64(admin.keyPem) },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: "admin" } }],
    "current-context": name,
  });
}
