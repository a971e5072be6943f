// SPDX-License-Identifier: Apache-2.0
// Holders of a ServiceAccount's token try to do more on a running `purlin up` than their roles allow.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { KubeClient, Kubeconfig } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { load } from "js-yaml";
import { clientOf, type PurlinProcess, startPurlin } from "../../e2e/harness/purlin-process.ts";

const features = ["--enable-operations", "--enable-function-rollouts"];
const rbac = "rbac.authorization.k8s.io";
const namespace = "team";
const accounts = { none: undefined, viewer: "view", editor: "edit", owner: "admin" } as const;

type Account = keyof typeof accounts;

let running: PurlinProcess;
let operator: KubeClient;
let place: { readonly url: string; readonly ca: string };
const tokens = new Map<string, string>();
const directory = mkdtempSync(join(tmpdir(), "hostile-rights-"));

before(async () => {
  running = startPurlin("up", "--data-dir", join(directory, "d"), "--port", "0", "--registry-port", "0", ...features);
  await running.says("registry at");
  const file = join(directory, "d", "kubeconfig");
  const cluster = (load(readFileSync(file, "utf8")) as Kubeconfig).clusters?.[0]?.cluster;
  const ca = Buffer.from(String(cluster?.["certificate-authority-data"]), "base64").toString();
  place = { url: String(cluster?.server), ca };
  operator = await clientOf(file);
  for (const name of [namespace, "other"]) await operator.create(objectOf("v1", "Namespace", name));
  await operator.create({ ...objectOf("v1", "Secret", "s", namespace), stringData: { password: "hunter2" } });
  await operator.create(objectOf("v1", "ConfigMap", "kept", namespace));
  for (const [name, role] of Object.entries(accounts)) await addAccount(name, role);
});
after(async () => {
  await operator?.close();
  await running?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

function objectOf(apiVersion: string, kind: string, name: string, inNamespace?: string) {
  return { apiVersion, kind, metadata: { name, ...(inNamespace !== undefined && { namespace: inNamespace }) } };
}

function bindingOf(name: string, role: string, subject: string) {
  return {
    ...objectOf(`${rbac}/v1`, "RoleBinding", name, namespace),
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", namespace, name: subject }],
  };
}

async function addAccount(name: string, role: string | undefined): Promise<void> {
  await operator.create(objectOf("v1", "ServiceAccount", name, namespace));
  if (role !== undefined) await operator.create(bindingOf(name, role, name));
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  tokens.set(
    name,
    stringAt((await operator.raw({ method: "POST", path, body })) as JsonObject, ["status", "token"]) ?? "",
  );
}

interface Attempt {
  /** `METHOD PATH`. */
  readonly line: string;
  readonly body?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(account: Account, { line, body, headers = {} }: Attempt): Promise<{ code: number; text: string }> {
  const [method = "", path = ""] = line.split(" ");
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number; text: string }>();
  const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const own = { authorization: `Bearer ${tokens.get(account)}`, "content-type": contentType };
  const sent = request(
    `${place.url}${path}`,
    { method, ca: place.ca, agent: false, headers: { ...own, ...headers } },
    (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    },
  );
  sent.on("error", reject);
  sent.end(body && JSON.stringify(body));
  return promise;
}

const inTeam = `/api/v1/namespaces/${namespace}`;
const roles = `/apis/${rbac}/v1`;
const masters = { "impersonate-user": "admin", "impersonate-group": "system:masters" };
const controlPlane = { "impersonate-user": "system:purlin:control-plane" };
const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
const clusterAdmin = {
  ...objectOf(`${rbac}/v1`, "ClusterRoleBinding", "mine"),
  roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "ServiceAccount", namespace, name: "editor" }],
};
const tokenRequest = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
const source = { "purlin.dev/source": "/etc/passwd" };

const operation = { mode: "Pipeline", pipeline: [{ step: "a", functionRef: { name: "mine" } }] };

const everyone: readonly Account[] = ["none", "viewer", "editor", "owner"];
const attempts: readonly (readonly [name: string, by: readonly Account[], attempt: Attempt])[] = [
  ["to read Secrets", ["none", "viewer"], { line: `GET ${inTeam}/secrets` }],
  ["to read Secrets of another namespace", everyone, { line: "GET /api/v1/namespaces/other/secrets" }],
  ["to read all Secrets", everyone, { line: "GET /api/v1/secrets" }],
  ["to watch all ConfigMaps", everyone, { line: "GET /api/v1/configmaps?watch=true" }],
  ["to write", ["none", "viewer"], { line: `POST ${inTeam}/configmaps`, body: objectOf("v1", "ConfigMap", "x") }],
  ["to change", ["none", "viewer"], { line: `PATCH ${inTeam}/configmaps/kept`, body: { data: { a: "b" } } }],
  ["to delete", ["none", "viewer"], { line: `DELETE ${inTeam}/configmaps/kept` }],
  ["to delete all", ["none", "viewer"], { line: `DELETE ${inTeam}/configmaps` }],
  ["to become cluster-admin", everyone, { line: `POST ${roles}/clusterrolebindings`, body: clusterAdmin }],
  ["to change a bootstrap role", everyone, { line: `PATCH ${roles}/clusterroles/view`, body: { rules: everything } }],
  [
    "to change the role of the control plane",
    everyone,
    { line: `PATCH ${roles}/clusterroles/purlin:compose`, body: { rules: everything } },
  ],
  [
    "to grant more than it has",
    everyone,
    { line: `POST ${roles}/namespaces/${namespace}/rolebindings`, body: bindingOf("up", "cluster-admin", "owner") },
  ],
  [
    "to create a role with more than it has",
    everyone,
    {
      line: `POST ${roles}/namespaces/${namespace}/roles`,
      body: { ...objectOf(`${rbac}/v1`, "Role", "up", namespace), rules: everything },
    },
  ],
  ["to impersonate the administrator", everyone, { line: "GET /api/v1/secrets", headers: masters }],
  ["to impersonate the control plane", everyone, { line: "GET /api/v1/secrets", headers: controlPlane }],
  [
    "to take a token of a controller",
    everyone,
    { line: "POST /api/v1/namespaces/kube-system/serviceaccounts/default/token", body: tokenRequest },
  ],
  [
    "to take a token of another account",
    ["none", "viewer"],
    { line: `POST ${inTeam}/serviceaccounts/owner/token`, body: tokenRequest },
  ],
  [
    "to write a ClusterRole of aggregated rights",
    everyone,
    {
      line: `POST ${roles}/clusterroles`,
      body: {
        ...objectOf(`${rbac}/v1`, "ClusterRole", "up"),
        metadata: { name: "up", labels: { [`${rbac}/aggregate-to-edit`]: "true" } },
        rules: everything,
      },
    },
  ],
  [
    "to run a program of the machine",
    everyone,
    {
      line: "POST /apis/pkg.crossplane.io/v1/functions",
      body: {
        ...objectOf("pkg.crossplane.io/v1", "Function", "mine"),
        metadata: { name: "mine", annotations: source },
        spec: { package: "example.org/x:v1" },
      },
    },
  ],
  ["to delete all Compositions", everyone, { line: "DELETE /apis/apiextensions.crossplane.io/v1/compositions" }],
  [
    "to delete a definition",
    everyone,
    { line: "DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/functions.pkg.crossplane.io" },
  ],
  [
    "to see every write",
    everyone,
    {
      line: "POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      body: objectOf("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "mine"),
    },
  ],
  ["to take over a group of the API", everyone, { line: "DELETE /apis/apiregistration.k8s.io/v1/apiservices/v1.apps" }],
  ["to delete its namespace", ["none", "viewer", "editor"], { line: `DELETE ${inTeam}` }],
  ["to read metrics", everyone, { line: "GET /metrics" }],
  ["to read recorded runs", everyone, { line: "GET /purlin/v1/runs" }],
  ["to take a snapshot of everything", everyone, { line: "POST /purlin.dev/snapshot" }],
  [
    "to run a function with the rights of the control plane",
    everyone,
    {
      line: "POST /apis/ops.crossplane.io/v1alpha1/operations",
      body: { ...objectOf("ops.crossplane.io/v1alpha1", "Operation", "mine"), spec: operation },
    },
  ],
  [
    "to run a function whenever a Secret changes",
    everyone,
    {
      line: "POST /apis/ops.crossplane.io/v1alpha1/watchoperations",
      body: {
        ...objectOf("ops.crossplane.io/v1alpha1", "WatchOperation", "mine"),
        spec: { watch: { apiVersion: "v1", kind: "Secret" }, operationTemplate: { spec: operation } },
      },
    },
  ],
  [
    "to keep a namespace from being deleted",
    everyone,
    {
      line: `POST /apis/protection.crossplane.io/v1beta1/namespaces/${namespace}/usages`,
      body: {
        ...objectOf("protection.crossplane.io/v1beta1", "Usage", "mine", namespace),
        spec: { of: { apiVersion: "v1", kind: "Namespace", resourceRef: { name: namespace } }, reason: "mine" },
      },
    },
  ],
  [
    "to move composite resources to another revision",
    everyone,
    {
      line: "POST /apis/pkg.crossplane.io/v1alpha1/functionrollouts",
      body: {
        ...objectOf("pkg.crossplane.io/v1alpha1", "FunctionRollout", "mine"),
        spec: { functionRef: { name: "mine" }, steps: [{ percent: 100 }] },
      },
    },
  ],
  [
    "to activate kinds",
    everyone,
    {
      line: "POST /apis/apiextensions.crossplane.io/v1alpha1/managedresourceactivationpolicies",
      body: {
        ...objectOf("apiextensions.crossplane.io/v1alpha1", "ManagedResourceActivationPolicy", "mine"),
        spec: { activate: ["*"] },
      },
    },
  ],
  [
    "to name another user in headers of a proxy",
    everyone,
    { line: "GET /api/v1/secrets", headers: { "x-remote-user": "admin", "x-remote-group": "system:masters" } },
  ],
];

for (const [name, by, attempt] of attempts) {
  test(`a ServiceAccount that tries ${name} is forbidden`, async () => {
    for (const account of by) {
      const { code, text } = await send(account, attempt);
      assert.equal(code, 403, `${account}: ${text}`);
      assert.match(text, /is forbidden|forbidden: User/, account);
      assert.ok(!text.includes("hunter2"), account);
    }
  });
}

test("an account has exactly the rights of its role", async () => {
  const { code, text } = await send("viewer", { line: `GET ${inTeam}/configmaps/kept` });
  assert.equal(code, 200, text);
  assert.equal(memberAt(JSON.parse(text) as JsonObject, ["data"]), undefined, "no attack changed it");
  const created = { line: `POST ${inTeam}/configmaps`, body: objectOf("v1", "ConfigMap", "mine") };
  assert.equal((await send("editor", created)).code, 201);
});

test("the token of a deleted account is refused", async () => {
  await operator.raw({ method: "DELETE", path: `${inTeam}/serviceaccounts/owner` });
  assert.equal((await send("owner", { line: `GET ${inTeam}/configmaps` })).code, 401);
});

test("an account loses the rights of a binding with the binding", async () => {
  await operator.raw({ method: "DELETE", path: `${roles}/namespaces/${namespace}/rolebindings/editor` });
  assert.equal((await send("editor", { line: `GET ${inTeam}/configmaps` })).code, 403);
});
