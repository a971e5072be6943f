// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { controlPlaneRules } from "@purlin/control-plane";
import { defaultPlugins, mastersGroup, type User } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { eventually } from "@purlin/kube-controller/testing";
import { isForbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { loadAll } from "js-yaml";
import { controlPlaneRoles, controlPlaneUser, grantorUser, simulatorRoles, simulatorUser } from "./controller-roles.ts";
import { type EmbeddedServer, startEmbeddedServer } from "./embedded-server.ts";

const stack = new AsyncDisposableStack();
const folder = stack.use(tempFolder());
let embedded: EmbeddedServer;

const start = (): Promise<EmbeddedServer> =>
  startEmbeddedServer({
    directory: join(folder.path, "d"),
    port: 0,
    warn: () => {},
    roles: [...controlPlaneRoles, ...simulatorRoles],
    admissionPlugins: [...defaultPlugins, "OwnerReferencesPermissionEnforcement"],
  });

before(async () => {
  embedded = await start();
});
after(async () => {
  await embedded[Symbol.asyncDispose]();
  await stack.disposeAsync();
});

const operator: User = { name: "admin", groups: [mastersGroup] };

async function as<T>(user: User, act: (client: KubeClient) => Promise<T>): Promise<T> {
  const client = createKubeClient(createDirectTransport(embedded.server.handle, user));
  try {
    return await act(client);
  } finally {
    await client.close();
  }
}

const rbac = "rbac.authorization.k8s.io";
const configMap = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
});
const bindingTo = (role: string): KubeObject => ({
  apiVersion: `${rbac}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: role },
  roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
  subjects: [{ apiGroup: rbac, kind: "User", name: "jane" }],
});

test("the control plane may compose every kind, and grant no right that it does not have", async () => {
  await as(controlPlaneUser("rbac"), async (client) => {
    await client.create(configMap("composed"));
    await client.create(bindingTo("view"));
    await assert.rejects(client.create(bindingTo("cluster-admin")), isForbidden);
  });
});

test("the simulator may write Pods, and cannot read Secrets", async () => {
  await as(simulatorUser("rbac"), async (client) => {
    await client.list({ apiVersion: "v1", kind: "Pod" });
    await assert.rejects(client.list({ apiVersion: "v1", kind: "Secret" }), isForbidden);
    await assert.rejects(client.create(configMap("simulated")), isForbidden);
  });
});

const crd: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "providerrevisions.pkg.crossplane.io" },
  spec: {
    group: "pkg.crossplane.io",
    names: { plural: "providerrevisions", kind: "ProviderRevision" },
    scope: "Cluster",
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};
const blockedBy = (apiVersion: string, kind: string, object: KubeObject): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    ownerReferences: [{ apiVersion, kind, name: "o", uid: "1", blockOwnerDeletion: true }],
  },
});
const role = (name: string): KubeObject => ({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name } });
const pod = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: { containers: [{ name: "c", image: "c" }] },
});

test("controllers set owners that block their deletion where rights are needed for that", async () => {
  await as(operator, async (client) => {
    await client.create(crd);
    const list = (): Promise<unknown> => client.list({ apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision" });
    await eventually("the definition is served", () =>
      list().then(
        () => true,
        () => undefined,
      ),
    );
  });
  await as(controlPlaneUser("rbac"), (client) => client.create(blockedBy("example.org/v1", "App", configMap("a"))));
  await as(simulatorUser("rbac"), (client) => client.create(blockedBy("apps/v1", "ReplicaSet", pod("a"))));
  await as(grantorUser("rbac"), async (client) => {
    await client.create(blockedBy("pkg.crossplane.io/v1", "ProviderRevision", role("a")));
    await assert.rejects(client.create(blockedBy("apps/v1", "ReplicaSet", role("b"))), isForbidden);
  });
});

const composeRole = { apiVersion: `${rbac}/v1`, kind: "ClusterRole", name: "purlin:compose" };
const autoupdate = "rbac.authorization.kubernetes.io/autoupdate";

test("an operator narrows what compositions compose, and the narrowed role stays across a restart", async () => {
  const ingresses = [{ apiGroups: ["networking.k8s.io"], resources: ["ingresses"], verbs: ["*"] }];
  const patch = { metadata: { annotations: { [autoupdate]: "false" } }, rules: ingresses };
  await as(operator, (client) => client.patch(composeRole, patch, { type: "merge" }));
  for (let starts = 0; starts < 2; starts += 1) {
    await as(controlPlaneUser("rbac"), async (client) => {
      await assert.rejects(client.list({ apiVersion: "v1", kind: "Pod" }), isForbidden);
      await client.list({ apiVersion: "networking.k8s.io/v1", kind: "Ingress" });
      await client.list({ apiVersion: "v1", kind: "Secret" });
    });
    await embedded[Symbol.asyncDispose]();
    embedded = await start();
  }
  await as(operator, (client) =>
    client.patch(composeRole, { metadata: { annotations: { [autoupdate]: "true" } } }, { type: "merge" }),
  );
  await embedded[Symbol.asyncDispose]();
  embedded = await start();
  await as(controlPlaneUser("rbac"), (client) => client.list({ apiVersion: "v1", kind: "Pod" }));
});

test("the guide lists the rights that the control plane has", () => {
  const guide = readFileSync(new URL("../../../../docs/guide/on-a-cluster.md", import.meta.url), "utf8");
  const manifests = [...guide.matchAll(/^```yaml\n([^`]+)```/gm)].flatMap(([, text = ""]) => loadAll(text));
  const role = manifests
    .map((manifest) => manifest as JsonObject & KubeObject)
    .find(({ metadata }) => metadata.name === "crossplane:system:aggregate-to-crossplane");
  assert.deepEqual(role?.["rules"], controlPlaneRules);
});
