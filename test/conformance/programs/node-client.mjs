// SPDX-License-Identifier: Apache-2.0
// The official JavaScript client: CRUD, an informer, and what the informer does when its version is too old.
// Arguments: kubeconfig, namespace, API version of the widgets, an old version.
import { setTimeout as delay } from "node:timers/promises";
import * as k8s from "@kubernetes/client-node";

const [file, namespace, apiVersion, oldVersion] = process.argv.slice(2);
const [group, version] = apiVersion.split("/");
const config = new k8s.KubeConfig();
config.loadFromFile(file);
const core = config.makeApiClient(k8s.CoreV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const generic = k8s.KubernetesObjectApi.makeApiClient(config);
const found = {};

async function crud() {
  const created = await core.createNamespacedConfigMap({
    namespace,
    body: { metadata: { name: "node" }, data: { a: "1" } },
  });
  const read = await core.readNamespacedConfigMap({ namespace, name: "node" });
  read.data.b = "2";
  const replaced = await core.replaceNamespacedConfigMap({ namespace, name: "node", body: read });
  const patched = await generic.patch({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "node", namespace },
    data: { c: "3" },
  });
  const listed = await core.listNamespacedConfigMap({ namespace, labelSelector: "!none" });
  const deleted = await core.deleteNamespacedConfigMap({ namespace, name: "node" });
  found.crud = {
    created: created.data,
    replaced: replaced.data,
    patched: patched.data,
    listed: listed.items.length,
    deleted: deleted.status,
  };
  found.missing = await core.readNamespacedConfigMap({ namespace, name: "node" }).then(
    () => "found",
    (error) => error.code,
  );
}

const coordinates = { group, version, namespace, plural: "widgets" };

/** An informer whose first list claims to be as old as can be, so that its watch is refused. */
async function informer() {
  let lists = 0;
  const list = async () => {
    lists += 1;
    const answer = await custom.listNamespacedCustomObject(coordinates);
    if (lists === 1) answer.metadata.resourceVersion = oldVersion;
    return answer;
  };
  const made = k8s.makeInformer(config, `/apis/${group}/${version}/namespaces/${namespace}/widgets`, list);
  const seen = new Set();
  for (const event of ["add", "update", "delete"])
    made.on(event, (object) => seen.add(`${event} ${object.metadata.name}`));
  const errors = [];
  made.on("error", (error) => {
    errors.push(error.statusCode ?? error.code ?? String(error));
    setTimeout(() => void made.start(), 100);
  });
  await made.start();
  const until = async (text) => {
    for (let n = 0; n < 1200 && !seen.has(text); n += 1) await delay(50);
  };
  for (let n = 0; n < 1200 && lists < 2; n += 1) await delay(50);
  await custom.createNamespacedCustomObject({
    ...coordinates,
    body: { apiVersion, kind: "Widget", metadata: { name: "node" }, spec: { size: 1 } },
  });
  await until("add node");
  await custom.replaceNamespacedCustomObject({
    ...coordinates,
    name: "node",
    body: { ...made.get("node", namespace), spec: { size: 2 } },
  });
  await until("update node");
  await custom.deleteNamespacedCustomObject({ ...coordinates, name: "node" });
  await until("delete node");
  await made.stop();
  found.informer = { relisted: lists >= 2, seen: [...seen].sort() };
}

await crud();
await informer();
console.log(JSON.stringify(found));
process.exit(0);
