// SPDX-License-Identifier: Apache-2.0
import { widgetCrd } from "../../packages/kube-apiserver/test/test-server.ts";
import { type JsonObject, parseJson, printJson } from "../../packages/kube-objects/src/json/index.ts";
import type { ServerClient } from "./server-client.ts";

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Serves the widgets of the tests under a group of their own, and waits until they can be listed. */
export async function createWidgets(client: ServerClient, group: string): Promise<void> {
  const crd = parseJson(printJson(widgetCrd as JsonObject).replaceAll("example.org", group)) as JsonObject;
  const name = String((crd["metadata"] as JsonObject)["name"]);
  if ((await client.send(`${definitions}/${name}`)).code === 404) await client.create(definitions, crd);
  await client.until(`/apis/${group}/v1/widgets`);
}

/** Takes the widgets of a group away again: other recordings may have kinds of that name. */
export async function removeWidgets(client: ServerClient, group: string): Promise<void> {
  await client.send(`${definitions}/widgets.${group}`, { method: "DELETE" });
  await client.until(`${definitions}/widgets.${group}`, 404);
}

/** Serves a cluster-scoped kind K of a group, with one schema, and waits until its objects can be listed. */
export async function createKind(client: ServerClient, group: string, openAPIV3Schema: JsonObject): Promise<string> {
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  const spec = { group, scope: "Cluster", names: { plural: "ks", kind: "K" }, versions };
  await client.create(definitions, { metadata: { name: `ks.${group}` }, spec });
  await client.until(`/apis/${group}/v1/ks`);
  return `/apis/${group}/v1/ks`;
}

/** Makes a namespace where there is none. */
export async function createNamespace(client: ServerClient, name: string): Promise<void> {
  await client.create("/api/v1/namespaces", { metadata: { name } });
  await client.until(`/api/v1/namespaces/${name}/serviceaccounts/default`);
}
