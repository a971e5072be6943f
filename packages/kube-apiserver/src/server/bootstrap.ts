// SPDX-License-Identifier: Apache-2.0
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Catalog } from "../registry/registry.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import { metaOf } from "../rest/object-meta.ts";
import { objectKey } from "../rest/storage-key.ts";
import type { Store } from "../store/store.ts";
import { bootstrapBindings, bootstrapRoles } from "./bootstrap-roles.ts";
import { type InternalClient, resourcePath } from "./internal-client.ts";

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];
const RBAC = "rbac.authorization.k8s.io";

/** The Service the API server is known by inside a cluster. Nothing routes to it here. */
const SERVICE: JsonObject = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "kubernetes", namespace: "default", labels: { component: "apiserver", provider: "kubernetes" } },
  spec: {
    clusterIP: "10.0.0.1",
    ipFamilyPolicy: "SingleStack",
    ports: [{ name: "https", port: 443, targetPort: 6443 }],
  },
};

interface BootstrapOptions {
  readonly client: InternalClient;
  readonly catalog: () => Catalog;
  readonly store: Store<JsonObject>;
}

/** Makes what is missing of what every cluster has. Once it is there, a start costs a look at each and no write. */
export async function bootstrap(options: BootstrapOptions): Promise<void> {
  const typeOf = (group: string, resource: string): ResourceType => {
    const type = options.catalog().find(group, "v1", resource);
    if (type === undefined) {
      throw new Error(`${resource} are not served`);
    }
    return type;
  };
  const namespaces = NAMESPACES.map(
    (name): JsonObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }),
  );
  await createAll(options, typeOf("", "namespaces"), namespaces);
  await Promise.all([
    createAll(options, typeOf("", "services"), [SERVICE]),
    createAll(options, typeOf(RBAC, "clusterroles"), bootstrapRoles()),
    createAll(options, typeOf(RBAC, "clusterrolebindings"), bootstrapBindings()),
  ]);
}

async function createAll(
  { client, store }: BootstrapOptions,
  type: ResourceType,
  objects: readonly JsonObject[],
): Promise<void> {
  const missing = objects.filter((object) => {
    const { namespace = "", name = "" } = metaOf(object);
    return store.get(objectKey(type, namespace, name)) === undefined;
  });
  await Promise.all(
    missing.map((object) => createMissing(client, resourcePath(type, metaOf(object).namespace ?? ""), object)),
  );
}

/** Creates an object unless it is there. */
export async function createMissing(client: InternalClient, path: string, object: JsonObject): Promise<void> {
  try {
    await client.send("POST", path, { body: object });
  } catch (error) {
    if (!isAlreadyExists(error)) {
      throw error;
    }
  }
}
