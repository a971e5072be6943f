// SPDX-License-Identifier: Apache-2.0
// What users of the official JavaScript client do, on the API server of a kubeconfig. Prints what it saw, line by line.
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";

// A third-party client, installed elsewhere: its types are not available here.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Untyped = any;

const [entry = "", kubeconfig = ""] = process.argv.slice(2);
const k8s: Untyped = await import(pathToFileURL(entry).href);
const config: Untyped = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const core: Untyped = config.makeApiClient(k8s.CoreV1Api);
const namespace = "javascript";
const patience = Date.now() + 60_000;

async function until(what: string, holds: () => boolean): Promise<void> {
  while (!holds()) {
    if (Date.now() > patience) throw new Error(`waited in vain: ${what}`);
    await delay(20);
  }
}

async function refused(call: () => Promise<unknown>): Promise<string> {
  const error: Untyped = await call().then(
    () => ({ code: "none" }),
    (reason: unknown) => reason,
  );
  const body = typeof error.body === "string" ? JSON.parse(error.body) : error.body;
  return `${error.code} ${body?.reason} ${body?.message}`;
}

const configMap = (name: string, data: Record<string, string>): Untyped => ({
  metadata: { name, labels: { app: "web" } },
  data,
});

await core.createNamespace({ body: { metadata: { name: namespace } } });
await core.createNamespacedConfigMap({ namespace, body: configMap("a", { x: "1" }) });

const list = (): Promise<unknown> => core.listNamespacedConfigMap({ namespace, labelSelector: "app" });
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const informer: Untyped = k8s.makeInformer(config, path, list, "app");
const seen: string[] = [];
for (const verb of ["add", "update", "delete"]) {
  informer.on(verb, ({ metadata, data }: Untyped) =>
    seen.push(`${verb} ${metadata.name} ${JSON.stringify(data ?? {})}`),
  );
}
informer.on("error", (error: unknown) => seen.push(`error ${error}`));
await informer.start();
await until("the first object", () => informer.get("a", namespace) !== undefined);

await core.createNamespacedConfigMap({ namespace, body: configMap("b", { x: "1" }) });
const b: Untyped = await core.readNamespacedConfigMap({ namespace, name: "b" });
await core.replaceNamespacedConfigMap({ namespace, name: "b", body: { ...b, data: { x: "2" } } });
console.log(
  "stale:",
  (await refused(() => core.replaceNamespacedConfigMap({ namespace, name: "b", body: b }))).replace(/\(.*/, ""),
);
console.log("absent:", await refused(() => core.readNamespacedConfigMap({ namespace, name: "none" })));
console.log("taken:", await refused(() => core.createNamespacedConfigMap({ namespace, body: configMap("a", {}) })));
console.log("invalid:", await refused(() => core.createNamespacedConfigMap({ namespace, body: configMap("A_b", {}) })));
await core.deleteNamespacedConfigMap({ namespace, name: "a" });
await until("the changes", () => seen.length >= 4);
console.log(seen.join("\n"));
console.log(
  "held:",
  informer
    .list(namespace)
    .map(({ metadata }: Untyped) => metadata.name)
    .join(),
);
await informer.stop();

const objects: Untyped = k8s.KubernetesObjectApi.makeApiClient(config);
const spec: Untyped = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", namespace }, data: { x: "1" } };
const apply = (body: Untyped, manager: string, force = false): Promise<Untyped> =>
  objects.patch(body, undefined, undefined, manager, force, k8s.PatchStrategy.ServerSideApply);
const applied = await apply(spec, "one");
console.log("applied:", applied.metadata.managedFields.map((one: Untyped) => `${one.manager} ${one.operation}`).join());
const again = await apply(spec, "one");
console.log("again:", applied.metadata.resourceVersion === again.metadata.resourceVersion);
console.log("conflict:", await refused(() => apply({ ...spec, data: { x: "2" } }, "two")));
console.log("forced:", (await apply({ ...spec, data: { x: "2" } }, "two", true)).data.x);
const merged = await objects.patch(
  { ...spec, data: { y: "3" } },
  undefined,
  undefined,
  "m",
  undefined,
  k8s.PatchStrategy.MergePatch,
);
console.log("merged:", JSON.stringify(merged.data));
console.log(
  "listed:",
  (await objects.list("v1", "ConfigMap", namespace, undefined, undefined, undefined, undefined, "app")).items.length,
);

const watched: string[] = [];
const watch: Untyped = new k8s.Watch(config);
const { promise: ended, resolve: end } = Promise.withResolvers<void>();
const abort = await watch.watch(
  `/api/v1/namespaces/${namespace}/secrets`,
  { allowWatchBookmarks: true },
  (type: string, object: Untyped) => {
    // When a bookmark comes is the server's affair.
    if (type !== "BOOKMARK") watched.push(`${type} ${object.kind} ${object.metadata.name}`);
  },
  () => end(),
);
const secrets = { namespace, body: { metadata: { name: "s" }, stringData: { k: "v" } } };
console.log("secret:", (await core.createNamespacedSecret(secrets)).data.k);
await core.deleteNamespacedSecret({ namespace, name: "s" });
await until("the watch", () => watched.length >= 2);
console.log(watched.join("\n"));
abort.abort();
await ended;
await core.deleteNamespace({ name: namespace });
process.exit(0);
