// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  app,
  creating,
  failed,
  ready,
  type StaticCluster,
  startStaticCluster,
  stored,
  withStatus,
} from "../../test/platform.ts";
import { traceTable } from "./trace-table.ts";
import { type TraceNode, type TraceOptions, traceDocument, traceDot, traceNames, traceTree } from "./trace-tree.ts";

let cluster: StaticCluster;
before(async () => {
  cluster = await startStaticCluster();
  const long = "x".repeat(65);
  await cluster.put(
    withStatus(bucket("files"), [failed(long)]),
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "login", namespace: "default" },
      stringData: { password: "canary" },
    },
    withStatus(app("shop", { crossplane: { resourceRefs: refs } }), creating("Unready resources: files")),
    withStatus(claim, [
      { type: "Synced", status: "True", reason: "ReconcileSuccess" },
      {
        type: "Ready",
        status: "False",
        reason: "Waiting",
        message: "Claim is waiting for composite resource to become Ready",
      },
    ]),
    withStatus({ apiVersion: "example.org/v1", kind: "XShop", metadata: { name: "web-x" }, spec: {} }, ready),
    withStatus(
      fn,
      [
        { type: "Installed", status: "True", reason: "ActivePackageRevision" },
        { type: "Healthy", status: "True", reason: "HealthyPackageRevision" },
      ],
      { currentRevision: "fn-2" },
    ),
    withStatus(revision("fn-2", "Active"), [
      { type: "RevisionHealthy", status: "True", reason: "HealthyPackageRevision" },
    ]),
    revision("fn-1", "Inactive"),
  );
});
after(() => cluster[Symbol.asyncDispose]());

const bucket = (name: string): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "Bucket",
  metadata: { name, namespace: "default", annotations: { "crossplane.io/composition-resource-name": "files" } },
  spec: {},
});
const refs = [
  { apiVersion: "v1", kind: "Secret", name: "login" },
  { apiVersion: "example.org/v1", kind: "Bucket", name: "files" },
  { apiVersion: "example.org/v1", kind: "Bucket", name: "absent" },
];
const claim: KubeObject = {
  apiVersion: "example.org/v1",
  kind: "Shop",
  metadata: { name: "web", namespace: "default" },
  spec: { resourceRef: { apiVersion: "example.org/v1", kind: "XShop", name: "web-x" } },
};
const fn: KubeObject = {
  apiVersion: "pkg.crossplane.io/v1",
  kind: "Function",
  metadata: { name: "fn" },
  spec: { package: "registry.example.org/fn:v2" },
};
const revision = (name: string, desiredState: string): KubeObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "FunctionRevision",
  metadata: { name, labels: { "pkg.crossplane.io/package": "fn" } },
  spec: { desiredState, image: "registry.example.org/fn:v2", revision: 1 },
});

async function trace(object: KubeObject, options: Partial<TraceOptions> = {}): Promise<TraceNode> {
  return traceTree(await stored(cluster, object), { client: cluster.client, ...options });
}

const table = (node: TraceNode, wide = false): string =>
  traceTable([node], { now: Date.now(), wide, clean: (text) => text });

test("the table of a composite resource: columns, tree, missing child, cut messages", async () => {
  assert.equal(
    table(await trace(app("shop"))),
    [
      "NAME                         SYNCED   READY   STATUS",
      "App/shop (default)           True     False   Creating: Unready resources: files",
      '├─ Bucket/absent (default)   -        -       Error: buckets.example.org "absent" not found',
      `├─ Bucket/files (default)    False    -       ReconcileError: ...${"x".repeat(64)}`,
      "└─ Secret/login (default)    -        -       ",
      "",
    ].join("\n"),
  );
});

test("the table of a claim shows its composite resource", async () => {
  assert.equal(
    table(await trace(claim)),
    [
      "NAME                 SYNCED   READY   STATUS",
      "Shop/web (default)   True     False   Waiting: Claim is waiting for composite resource to become Ready",
      "└─ XShop/web-x       True     True    Available",
      "",
    ].join("\n"),
  );
});

test("the table of a package shows its active revision, or all of them", async () => {
  assert.equal(
    table(await trace(fn)),
    [
      "NAME                       VERSION   INSTALLED   HEALTHY   STATE    STATUS                   ",
      "Function/fn                v2        True        True      -        HealthyPackageRevision   ",
      "└─ FunctionRevision/fn-2   v2        -           True      Active   HealthyPackageRevision   ",
      "",
    ].join("\n"),
  );
  assert.match(table(await trace(fn, { packageRevisions: "all" })), /FunctionRevision\/fn-1 +v2 +- +- +Inactive/);
  assert.doesNotMatch(table(await trace(fn, { packageRevisions: "none" })), /FunctionRevision/);
});

test("the runtime config of a package is shown where that is asked for, also one that does not exist", async () => {
  const type = { apiVersion: "pkg.crossplane.io/v1beta1", kind: "DeploymentRuntimeConfig" };
  const configured = (name: string): KubeObject => ({
    ...{ ...fn, metadata: { name } },
    spec: { package: "registry.example.org/fn:v2", runtimeConfigRef: { name } },
  });
  await cluster.put({ ...type, metadata: { name: "tuned" }, spec: {} }, configured("tuned"), configured("untuned"));
  assert.doesNotMatch(table(await trace(configured("tuned"))), /DeploymentRuntimeConfig/);
  const shown = async (name: string): Promise<string> =>
    table(await trace(configured(name), { packageRuntimeConfigs: true }));
  assert.match(await shown("tuned"), /\n└─ DeploymentRuntimeConfig\/tuned +-/);
  assert.match(await shown("untuned"), /DeploymentRuntimeConfig\/untuned .*Error: .*"untuned" not found/);
});

test("wide shows resource names, ages and whole messages", async () => {
  const text = table(await trace(app("shop")), true);
  assert.match(text, /^NAME +RESOURCE +SYNCED +READY +AGE +TIME-TO-READY +STATUS\n/);
  assert.match(text, /Bucket\/files \(default\) +files +False +- +\d+s +- +ReconcileError: x{65}\n/);
});

test("own columns replace the usual ones", async () => {
  const columns = [{ title: "KIND", value: ({ kind }: KubeObject) => kind }];
  const text = traceTable([await trace(claim)], { now: 0, columns, clean: (one) => one });
  assert.match(text, /^NAME +KIND +STATUS\nShop\/web \(default\) +Shop +Waiting/);
});

test("JSON has a status for a child that is not found, and no values of Secrets", async () => {
  const document = JSON.stringify(traceDocument(await trace(app("shop"))));
  assert.doesNotMatch(document, /canary|Y2FuYXJ5/);
  const { children, purlin } = JSON.parse(document) as {
    children: { error?: { ErrStatus: { code: number } }; object: KubeObject }[];
    purlin: object;
  };
  assert.equal(children[0]?.error?.ErrStatus.code, 404);
  assert.equal(children[0]?.object.metadata.name, "absent");
  assert.deepEqual(purlin, {
    state: "waiting",
    reasons: ["Ready: Creating: Unready resources: files"],
    functionRevisions: [],
  });
});

test("names and the graph have every object", async () => {
  const node = await trace(claim);
  assert.deepEqual(traceNames([node]), ["shop.example.org/web", "xshop.example.org/web-x"]);
  const dot = traceDot([node]);
  assert.match(
    dot,
    /^graph {2}\{\n\tn1\[label="Name: Shop\/web\\nApiVersion: example\.org\/v1\\nNamespace: default\\n/,
  );
  assert.match(dot, /\tn1--n2;\n\}\n$/);
});
