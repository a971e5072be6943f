// SPDX-License-Identifier: Apache-2.0
// By what the servers of APIServices recognize this server and its clients.
import { type KeyPair, shouldRenew } from "@purlin/certificates";
import { type JsonObject, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { objectAt } from "@purlin/kube-objects/object";
import type { Catalog } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import type { InternalClient } from "./internal-client.ts";
import { frontProxyName, issueFrontProxyClient, type ServingCertificates } from "./serving-certificates.ts";

/** Issues the certificate of this server as a client of other servers: on the first use, and again before it expires. */
export function frontProxyClients(authority: () => KeyPair): () => KeyPair {
  let issued: { readonly by: KeyPair; readonly pair: KeyPair } | undefined;
  return () => {
    const [by, now] = [authority(), new Date()];
    if (issued === undefined || issued.by !== by || shouldRenew(issued.pair.certPem, now)) {
      issued = { by, pair: issueFrontProxyClient(by, now) };
    }
    return issued.pair;
  };
}

const configMap = { name: "extension-apiserver-authentication", namespace: "kube-system" };
const path = `/api/v1/namespaces/${configMap.namespace}/configmaps`;

/** Writes the ConfigMap from which other servers read how to authenticate. When it is up to date, nothing is written. */
export async function publishAuthorities(
  { client, catalog }: { readonly client: InternalClient; readonly catalog: () => Catalog },
  store: Store<JsonObject>,
  { authority, frontProxy }: ServingCertificates,
): Promise<void> {
  if (catalog().find("", "v1", "configmaps") === undefined) return;
  const data = {
    "client-ca-file": authority.certPem,
    "requestheader-allowed-names": printJson([frontProxyName]),
    "requestheader-client-ca-file": frontProxy.certPem,
    "requestheader-extra-headers-prefix": printJson(["X-Remote-Extra-"]),
    "requestheader-group-headers": printJson(["X-Remote-Group"]),
    "requestheader-uid-headers": printJson(["X-Remote-Uid"]),
    "requestheader-username-headers": printJson(["X-Remote-User"]),
  };
  const existing = store.get(`//configmaps/${configMap.namespace}/${configMap.name}`)?.value;
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: configMap, data };
  if (existing === undefined) await client.send("POST", path, { body: object });
  else if (!jsonEqual(objectAt(existing, ["data"]), data)) {
    await client.send("PUT", `${path}/${configMap.name}`, { body: { ...existing, data } });
  }
}
