// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { isExported, placeOf } from "./export-command.ts";
import { portable } from "./portable-object.ts";

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;

const objects = `apiVersion: example.org/v1
kind: Widget
metadata: {name: w, namespace: team}
spec: {size: 3}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec: {ports: [{port: 80}], selector: {app: web}}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: team}
stringData: {password: secret}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
`;

let folder: TempFolder;
let first: EmbeddedServer;
let second: EmbeddedServer;
const purlin = (...args: string[]): Promise<Outcome> => runInProcess(args, { cwd: folder.path, env: {} });
const serve = (name: string): Promise<EmbeddedServer> =>
  startEmbeddedServer({ directory: join(folder.path, name), port: 0, warn: () => {} });

before(async () => {
  folder = tempFolder({ "objects.yaml": objects, "crd.yaml": crd });
  first = await serve("first");
  second = await serve("second");
  const applied = await purlin("apply", "-f", "crd.yaml", "-f", "objects.yaml", "--data-dir", "first");
  assert.equal(applied.exitCode, 0, applied.stderr);
});
after(async () => {
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("what was exported is applied to another server as one file, and exported from there the same", async () => {
  const exported = await purlin("export", "--data-dir", "first", "--out", "all.yaml");
  assert.deepEqual([exported.stderr, exported.stdout, exported.exitCode], ["", "all.yaml: 5 objects\n", 0]);
  const applied = await purlin("apply", "-f", "all.yaml", "--data-dir", "second");
  assert.equal(applied.exitCode, 0, applied.stderr);
  const before = await purlin("export", "--data-dir", "first");
  const after = await purlin("export", "--data-dir", "second");
  assert.equal(after.stdout, before.stdout);
  assert.doesNotMatch(before.stdout, /uid|resourceVersion|managedFields|clusterIP:|^status:|kube-root-ca/m);
});

test("types, a namespace, a selector and no Secrets", async () => {
  const names = async (...flags: string[]): Promise<string[]> => {
    const { stdout } = await purlin("export", "--data-dir", "first", ...flags);
    return [...stdout.matchAll(/^kind: (.*)$/gm)].map(([, kind]) => kind ?? "");
  };
  assert.deepEqual(await names(), ["Namespace", "CustomResourceDefinition", "Secret", "Service", "Widget"]);
  assert.deepEqual(await names("--kinds", "widgets,services"), ["Widget", "Service"]);
  assert.deepEqual(await names("--namespace", "team", "--no-secrets"), ["Service", "Widget"]);
  assert.deepEqual(await names("--selector", "a=b"), []);
  const unknown = await purlin("export", "--data-dir", "first", "--kinds", "gadgets");
  assert.match(unknown.stderr, /the server does not have a resource type "gadgets"/);
});

const meta = { name: "x", uid: "1", resourceVersion: "2", generation: 3, creationTimestamp: "2026-01-01T00:00:00Z" };

test("a composite resource and a claim keep what a user chose, not what was composed", () => {
  const spec = {
    size: "small",
    crossplane: {
      compositionRef: { name: "apps" },
      compositionRevisionRef: { name: "apps-1" },
      resourceRefs: [{ kind: "ConfigMap", name: "y" }],
    },
  };
  const xr = { apiVersion: "example.org/v1", kind: "App", metadata: meta, spec, status: { a: 1 } };
  assert.deepEqual(portable(xr, { isComposite: true }), {
    apiVersion: "example.org/v1",
    kind: "App",
    metadata: { name: "x" },
    spec: { size: "small", crossplane: { compositionRef: { name: "apps" } } },
  });
  const manual = { compositionUpdatePolicy: "Manual", compositionRevisionRef: { name: "apps-1" } };
  const claim = { ...xr, spec: { ...manual, resourceRef: { name: "x-1" } } };
  assert.deepEqual(portable(claim, { isComposite: true })["spec"], manual);
});

test("what the server adds to Services, Pods, Jobs and claims of volumes is left out", () => {
  const specOf = (apiVersion: string, kind: string, spec: object): unknown =>
    portable({ apiVersion, kind, metadata: meta, spec } as never, { isComposite: false })["spec"];
  assert.deepEqual(specOf("v1", "Service", { clusterIP: "10.0.0.3", clusterIPs: ["10.0.0.3"], type: "ClusterIP" }), {
    type: "ClusterIP",
  });
  assert.deepEqual(specOf("v1", "Service", { clusterIP: "None" }), { clusterIP: "None" });
  assert.deepEqual(specOf("v1", "PersistentVolumeClaim", { volumeName: "pv", storageClassName: "a" }), {
    storageClassName: "a",
  });
  const annotations = { "volume.kubernetes.io/storage-provisioner": "purlin.dev/simulated", note: "1" };
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", annotations },
    spec: { volumeName: "pv", storageClassName: "standard" },
  };
  assert.deepEqual(portable(claim, { isComposite: false }), {
    ...claim,
    metadata: { name: "data", annotations: { note: "1" } },
    spec: {},
  });
  const token = { name: "kube-api-access-x", mountPath: "/var/run" };
  assert.deepEqual(
    specOf("v1", "Pod", { nodeName: "n", volumes: [token], containers: [{ name: "c", volumeMounts: [token] }] }),
    { volumes: [], containers: [{ name: "c", volumeMounts: [] }] },
  );
  const labels = { app: "a", "controller-uid": "1", "batch.kubernetes.io/job-name": "x" };
  assert.deepEqual(specOf("batch/v1", "Job", { selector: {}, template: { metadata: { labels } } }), {
    template: { metadata: { labels: { app: "a" } } },
  });
});

test("finalizers and annotations of users are kept, those of controllers are not", () => {
  const metadata = {
    name: "x",
    finalizers: ["finalizer.apiextensions.crossplane.io", "example.org/mine"],
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", note: "1" },
    labels: { "crossplane.io/composite": "x" },
  };
  const object = portable({ apiVersion: "v1", kind: "ConfigMap", metadata }, { isComposite: false });
  assert.deepEqual(object["metadata"], { name: "x", finalizers: ["example.org/mine"], annotations: { note: "1" } });
});

test("objects of the server, of controllers and on their way out are not exported", () => {
  const owner = { apiVersion: "v1", kind: "A", name: "a", uid: "1", controller: true };
  const object = (apiVersion: string, kind: string, metadata: object = {}, rest: object = {}): boolean =>
    isExported({ apiVersion, kind, metadata: { name: "x", ...metadata }, ...rest } as never);
  assert.equal(object("v1", "ConfigMap"), true);
  assert.equal(object("v1", "ConfigMap", { ownerReferences: [owner] }), false);
  assert.equal(object("v1", "ConfigMap", { ownerReferences: [{ ...owner, controller: false }] }), true);
  assert.equal(object("v1", "ConfigMap", { deletionTimestamp: "2026-01-01T00:00:00Z" }), false);
  assert.equal(object("v1", "ConfigMap", { namespace: "kube-system" }), false);
  assert.equal(object("v1", "Secret", {}, { type: "kubernetes.io/service-account-token" }), false);
  assert.equal(object("v1", "Event"), false);
  assert.equal(object("example.org/v1", "XApp", {}, { spec: { claimRef: { name: "a" } } }), false);
  assert.equal(object("apiextensions.crossplane.io/v1", "CompositionRevision"), false);
  const crdOf = (name: string): boolean => object("apiextensions.k8s.io/v1", "CustomResourceDefinition", { name });
  assert.equal(crdOf("functions.pkg.crossplane.io"), false);
  assert.equal(crdOf("simulations.simulation.purlin.dev"), false);
  assert.equal(object("storage.k8s.io/v1", "StorageClass", { annotations: { "purlin.dev/simulated": "true" } }), false);
  // Simulated Pods of users have the mark, too.
  const annotations = { "purlin.dev/simulated": "true" };
  assert.equal(object("v1", "Pod", { annotations }), true);
  assert.equal(object("v1", "Pod", { annotations, ownerReferences: [owner] }), false);
  assert.equal(crdOf("buckets.s3.aws.crossplane.io"), true);
});

test("definitions come before what they define", () => {
  const place = (kind: string, isComposite = false): number =>
    placeOf({ apiVersion: "v1", kind, metadata: { name: "x" } }, isComposite);
  assert.ok(place("Namespace") < place("CompositeResourceDefinition"));
  assert.ok(place("CompositeResourceDefinition") < place("Composition"));
  assert.ok(place("Deployment") < place("App", true));
});

test("--output json is one List, and can be applied as well", async () => {
  const { exitCode, stdout } = await purlin("export", "--data-dir", "first", "--output", "json", "--kinds", "widgets");
  assert.equal(exitCode, 0);
  const { kind, items } = JSON.parse(stdout) as { kind: string; items: { metadata: { name: string } }[] };
  assert.deepEqual([kind, items.map(({ metadata }) => metadata.name)], ["List", ["w"]]);
  folder.write("list.json", stdout);
  const applied = await purlin("apply", "--data-dir", "first", "-f", "list.json");
  assert.deepEqual([applied.exitCode, applied.stderr], [0, ""]);
});
