// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { definitionsPath, widgetCrd } from "../../test/test-server.ts";
import { metaOf } from "../objects/object-members.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const roles = `${rbac}/clusterroles`;
const bindings = `${rbac}/clusterrolebindings`;
const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";

async function items(server: TestServer, url: string): Promise<readonly JsonObject[]> {
  return (await server.body(url))["items"] as JsonObject[];
}

async function names(server: TestServer, url: string): Promise<string[]> {
  return (await items(server, url)).map((item) => metaOf(item).name ?? "");
}

/** Waits until the roles that are made of others, and the APIServices, are complete. */
async function settled(server: TestServer): Promise<void> {
  const isWhole = async (): Promise<boolean> => {
    const { rules } = (await server.body(`${roles}/admin`)) as { readonly rules?: readonly JsonObject[] };
    const accounts = await names(server, "/api/v1/serviceaccounts");
    return (rules ?? []).length === 29 && accounts.length === 4 && (await names(server, apiServices)).length === 21;
  };
  while (!(await isWhole())) await new Promise((resolve) => setImmediate(resolve));
}

test("a new cluster has what every cluster has", async () => {
  await using server = await startTestServer();
  await settled(server);
  assert.deepEqual(await names(server, "/api/v1/namespaces"), [
    "default",
    "kube-node-lease",
    "kube-public",
    "kube-system",
  ]);
  const rules = Object.fromEntries(
    (await items(server, roles)).map((role) => [metaOf(role).name, (role["rules"] as JsonObject[]).length]),
  );
  // As many as on kube-apiserver 1.36.3; the conformance suite compares them one by one.
  const counts = await Promise.all(
    [roles, bindings, `${rbac}/roles`, `${rbac}/rolebindings`].map((url) => names(server, url)),
  );
  assert.deepEqual(
    counts.map((all) => all.length),
    [69, 50, 7, 7],
  );
  const { admin, edit, view, "cluster-admin": all, "system:kube-scheduler": scheduler } = rules;
  assert.deepEqual([admin, edit, view, all, scheduler], [29, 27, 12, 2, 27]);
  const { spec } = (await server.body("/api/v1/namespaces/default/services/kubernetes")) as {
    readonly spec: JsonObject;
  };
  assert.equal(spec["clusterIP"], "10.0.0.1");
});

test("what is there already costs no write at a start, and what is missing comes back", async () => {
  const directory = tempDirectory();
  const revision = async (server: TestServer): Promise<string> =>
    metaOf(await server.body("/api/v1/namespaces")).resourceVersion ?? "";
  let first: string;
  {
    await using server = await startTestServer({ directory });
    await settled(server);
    first = await revision(server);
  }
  {
    await using server = await startTestServer({ directory });
    await settled(server);
    assert.equal(await revision(server), first);
    await server.delete(`${roles}/system:monitoring`);
  }
  await using server = await startTestServer({ directory });
  assert.equal((await server.send(`${roles}/system:monitoring`)).code, 200);
});

test("a start gives bootstrap roles and bindings what they lack, unless their annotation turns it off", async () => {
  const directory = tempDirectory();
  const turnedOff = { annotations: { "rbac.authorization.kubernetes.io/autoupdate": "false" } };
  const own = { apiGroups: ["own"], resources: ["x"], verbs: ["get"] };
  {
    await using server = await startTestServer({ directory });
    await settled(server);
    await server.patch(`${roles}/system:basic-user`, { rules: [own], metadata: { labels: null } });
    await server.patch(`${roles}/system:auth-delegator`, { rules: [own], metadata: turnedOff });
    await server.patch(`${bindings}/system:basic-user`, { subjects: null });
    await server.patch(`${bindings}/system:discovery`, { subjects: null, metadata: turnedOff });
    await server.delete(`${bindings}/system:monitoring`);
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
    await server.post(bindings, { metadata: { name: "system:monitoring" }, roleRef });
  }
  await using server = await startTestServer({ directory });
  const basic = await server.body(`${roles}/system:basic-user`);
  const [first, ...added] = basic["rules"] as JsonObject[];
  assert.deepEqual(first, own, "what was added stays");
  assert.equal(added.length, 3, "each missing right is a rule");
  assert.equal(metaOf(basic).labels?.["kubernetes.io/bootstrapping"], "rbac-defaults");
  assert.deepEqual((await server.body(`${roles}/system:auth-delegator`))["rules"], [own]);
  assert.equal(((await server.body(`${bindings}/system:basic-user`))["subjects"] as JsonObject[]).length, 1);
  assert.equal((await server.body(`${bindings}/system:discovery`))["subjects"], undefined);
  const { roleRef } = (await server.body(`${bindings}/system:monitoring`)) as { readonly roleRef: JsonObject };
  assert.equal(roleRef["name"], "system:monitoring", "a binding of another role is created again");
});

const asUser = (name: string) => ({ user: { name, groups: ["system:authenticated"] } });

test("a new server answers the operator before its roles are stored; requests that depend on roles wait", async () => {
  const done: string[] = [];
  await using server = await startTestServer({ directory: tempDirectory() });
  const note = async <T>(what: string, response: Promise<T>): Promise<T> => {
    const value = await response;
    done.push(what);
    return value;
  };
  const impersonating = { headers: { "impersonate-user": "jane" } };
  const spec = { nonResourceAttributes: { path: "/api", verb: "get" }, user: "jane", groups: ["system:authenticated"] };
  const review = { method: "POST", body: { spec } };
  const [, user, impersonated, listed, reviewed, ready] = await Promise.all([
    server.server.bootstrapped.then(() => done.push("roles")),
    note("user", server.send("/api", asUser("jane"))),
    note("impersonated", server.send("/api", impersonating)),
    note("list", names(server, roles)),
    note("review", server.body("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)),
    note("ready", server.send("/readyz")),
    note("write", server.post("/api/v1/namespaces/default/configmaps", { metadata: { name: "first" } })),
  ]);
  assert.deepEqual(done.slice(0, 2), ["write", "roles"]);
  assert.deepEqual([user.code, impersonated.code, ready.code], [200, 200, 200]);
  assert.ok(listed.includes("view") && listed.includes("system:public-info-viewer"), listed.join());
  assert.equal((reviewed["status"] as JsonObject)["allowed"], true);
});

test("a start on existing data resolves after its roles are stored", async () => {
  const directory = tempDirectory();
  {
    await using server = await startTestServer({ directory });
    await settled(server);
    await server.delete(`${roles}/system:monitoring`);
  }
  await using server = await startTestServer({ directory });
  // Read before any other turn of the event loop.
  const found = server.send(`${roles}/system:monitoring`);
  let isBootstrapped = false;
  void server.server.bootstrapped.then(() => {
    isBootstrapped = true;
  });
  await Promise.resolve();
  assert.ok(isBootstrapped);
  assert.equal((await found).code, 200);
});

test("a server that is closed while its roles are stored ends in order", async () => {
  const directory = tempDirectory();
  await (await startTestServer({ directory })).server.close();
  await using server = await startTestServer({ directory });
  await settled(server);
});

test("every served version has an APIService", async () => {
  await using server = await startTestServer();
  await settled(server);
  const apps = await server.body(`${apiServices}/v1.apps`);
  assert.deepEqual(apps["spec"], { group: "apps", version: "v1", groupPriorityMinimum: 17_800, versionPriority: 15 });
  const order = ["name", "uid", "resourceVersion", "creationTimestamp", "labels", "managedFields"];
  assert.deepEqual(Object.keys(metaOf(apps)), order);
  const [fields] = metaOf(apps).managedFields ?? [];
  assert.equal(fields?.manager, "kube-apiserver");
});

const widgets = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};

test("the APIService of a custom group comes and goes with its kinds", async () => {
  await using server = await startTestServer();
  const url = `${apiServices}/v1.example.org`;
  await server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgets);
  await server.until(url, ({ code }) => code === 200);
  const { spec } = await server.body(url);
  assert.deepEqual(spec, { group: "example.org", version: "v1", groupPriorityMinimum: 1000, versionPriority: 100 });
  await server.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org");
  await server.until(url, ({ code }) => code === 404);
});

const apiServicesPath = "/apis/apiregistration.k8s.io/v1/apiservices";

const specOf = async (server: TestServer, name: string): Promise<JsonObject> =>
  ((await server.body(`${apiServicesPath}/${name}`)) as { readonly spec: JsonObject }).spec;

const rows: Record<string, { reason: string; want: JsonObject }> = {
  "v1.": {
    reason: "the core group comes first, and has no name",
    want: { version: "v1", groupPriorityMinimum: 18_000, versionPriority: 1 },
  },
  "v1.apps": {
    reason: "then workloads",
    want: { group: "apps", version: "v1", groupPriorityMinimum: 17_800, versionPriority: 15 },
  },
  "v1.coordination.k8s.io": {
    reason: "a group with dots",
    want: { group: "coordination.k8s.io", version: "v1", groupPriorityMinimum: 16_500, versionPriority: 15 },
  },
};

test("every built-in version has an APIService that says it is here", async () => {
  await using server = await startTestServer();
  for (const [name, { reason, want }] of Object.entries(rows)) {
    await server.until(`${apiServicesPath}/${name}`, ({ code }) => code === 200);
    assert.deepEqual(await specOf(server, name), want, reason);
  }
  const { status, metadata } = (await server.body(`${apiServicesPath}/v1.apps`)) as Record<
    string,
    Record<string, unknown>
  >;
  const [condition] = (status?.["conditions"] ?? []) as readonly JsonObject[];
  assert.deepEqual([condition?.["type"], condition?.["status"], condition?.["reason"]], ["Available", "True", "Local"]);
  assert.deepEqual(metadata?.["labels"], { "kube-aggregator.kubernetes.io/automanaged": "onstart" });
  const own = await server.send(`${apiServicesPath}/v1.apiregistration.k8s.io`);
  assert.equal(own.code, 404, "the group of APIServices itself has none");
});

test("versions of a definition come and go with it", async () => {
  await using server = await startTestServer();
  await server.post(definitionsPath, widgetCrd);
  const { group } = (widgetCrd as { readonly spec: { readonly group: string } }).spec;
  const path = `${apiServicesPath}/v1.${group}`;
  await server.until(path, ({ code }) => code === 200);
  const { spec, metadata } = (await server.body(path)) as Record<string, Record<string, unknown>>;
  assert.deepEqual([spec?.["groupPriorityMinimum"], spec?.["versionPriority"]], [1000, 100]);
  assert.deepEqual(metadata?.["labels"], { "kube-aggregator.kubernetes.io/automanaged": "true" });
  const { name } = (widgetCrd as { readonly metadata: { readonly name: string } }).metadata;
  await server.delete(`${definitionsPath}/${name}`);
  await server.until(path, ({ code }) => code === 404);
});

test("an APIService of a user stays when served versions change, and one of the server is restored", async () => {
  await using server = await startTestServer();
  await server.until(`${apiServicesPath}/v1.apps`, ({ code }) => code === 200);
  const spec = { group: "example.org", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
  const own = {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v1.example.org" },
    spec,
  };
  await server.post(apiServicesPath, own);
  await server.delete(`${apiServicesPath}/v1.apps`);
  await server.post(definitionsPath, widgetCrd);
  await server.until(`${apiServicesPath}/v1.apps`, ({ code }) => code === 200);
  assert.deepEqual(await specOf(server, "v1.example.org"), spec);
});
