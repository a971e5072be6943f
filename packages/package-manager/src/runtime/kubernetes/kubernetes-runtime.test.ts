// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerReference, memberAt } from "@purlin/kube-objects/object";
import { namespace } from "../../../test/package-cluster.ts";
import { startKubernetesScene } from "../../../test/package-scene.ts";
import { runtimeKinds } from "./runtime-names.ts";

const one = "fn-aaaaaaaaaaaa";
const two = "fn-bbbbbbbbbbbb";
const leads = (service: object | undefined): unknown =>
  service && memberAt(service, ["spec", "selector", "pkg.crossplane.io/revision"]);

test("a function gets account, Service, certificate and Deployment; its endpoint is published when it answers", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one });
  await scene.pass(one);
  assert.deepEqual(await scene.names("deployment"), [one]);
  assert.deepEqual(await scene.names("serviceAccount"), [one]);
  assert.deepEqual(await scene.names("service"), ["fn"]);
  assert.deepEqual(await scene.names("secret"), ["crossplane-root-ca", "fn-tls-server"]);
  assert.equal(
    await scene.condition(one),
    'False UnhealthyPackageRevision: function package deployment has no condition of type "Available" yet',
  );
  assert.equal(await scene.endpoint(one), undefined, "no caller is sent to a function that does not answer");
  await scene.deployed(one);
  await scene.pass(one);
  assert.equal(await scene.condition(one), "True HealthyPackageRevision");
  assert.equal(await scene.condition(one, "RuntimeActive"), "True ActiveRuntime");
  assert.equal(await scene.endpoint(one), "dns:///fn.crossplane-system:9443");
  const { tlsServerSecretName } = (await scene.revision(one))["status"] as Record<string, string>;
  assert.equal(tlsServerSecretName, "fn-tls-server");
});

test("what is settled is not written again", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one });
  await scene.pass(one);
  await scene.deployed(one);
  await scene.pass(one);
  scene.cluster.takeWrites();
  for (let i = 0; i < 3; i++) await scene.pass(one);
  assert.deepEqual(scene.cluster.takeWrites(), []);
});

test("a newcomer is started beside the old one and takes Service, certificate and calls over when it is up", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one });
  await scene.pass(one);
  await scene.deployed(one);
  await scene.pass(one);
  const first = await scene.revision(one);
  await scene.revise({ name: two, number: 2 });
  await scene.pass(two);
  assert.deepEqual(await scene.names("deployment"), [one, two]);
  assert.equal(leads(await scene.find("service", "fn")), one);
  assert.equal(await scene.endpoint(two), undefined);
  await scene.deployed(two);
  await scene.pass(two);
  const service = await scene.find("service", "fn");
  assert.equal(leads(service), two);
  assert.equal(service?.metadata.ownerReferences?.[0]?.name, two);
  assert.equal((await scene.find("secret", "fn-tls-server"))?.metadata.ownerReferences?.[0]?.name, two);
  assert.equal(await scene.endpoint(two), "dns:///fn.crossplane-system:9443");
  scene.cluster.takeWrites();
  await scene.pass(one);
  assert.deepEqual(scene.cluster.takeWrites(), [], "the old one writes nothing");
  assert.equal(await scene.endpoint(one), "dns:///fn.crossplane-system:9443");
  assert.equal(first.metadata.uid, (await scene.revision(one)).metadata.uid);
});

test("an inactive revision loses its Deployment and its endpoint; what is the package's stays", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one });
  await scene.pass(one);
  await scene.deployed(one);
  await scene.pass(one);
  await scene.revise({ name: one, desiredState: "Inactive" });
  await scene.pass(one);
  assert.deepEqual(await scene.names("deployment"), []);
  assert.deepEqual(await scene.names("service"), ["fn"]);
  assert.deepEqual(await scene.names("secret"), ["crossplane-root-ca", "fn-tls-server"]);
  assert.equal(await scene.endpoint(one), undefined);
  assert.equal(await scene.condition(one), "Unknown InactivePackageRevision: Package revision is inactive");
});

test("with names of their own, two revisions run side by side; one that is deactivated leaves nothing", async () => {
  await using scene = await startKubernetesScene();
  for (const [index, name] of [one, two].entries()) {
    await scene.revise({ name, number: index + 1, isPerRevision: true });
    await scene.pass(name);
    await scene.deployed(name);
    await scene.pass(name);
  }
  assert.deepEqual(await scene.names("service"), [one, two], "a package that never had one gets no Service");
  assert.deepEqual(await scene.names("deployment"), [one, two]);
  const secrets = ["crossplane-root-ca", `${one}-tls-server`, `${two}-tls-server`];
  assert.deepEqual(await scene.names("secret"), secrets);
  assert.equal(await scene.endpoint(one), `dns:///${one}.crossplane-system:9443`);
  assert.equal(await scene.endpoint(two), `dns:///${two}.crossplane-system:9443`);
  await scene.revise({ name: one, isPerRevision: true, desiredState: "Inactive" });
  await scene.pass(one);
  assert.deepEqual(await scene.names("service"), [two]);
  assert.deepEqual(await scene.names("deployment"), [two]);
  assert.deepEqual(await scene.names("secret"), ["crossplane-root-ca", `${two}-tls-server`]);
  assert.equal(await scene.endpoint(one), undefined);
});

test("names change from the package's to the revision's without a gap; the package's Service stays as an alias", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one });
  await scene.pass(one);
  await scene.deployed(one);
  await scene.pass(one);
  await scene.revise({ name: one, isPerRevision: true });
  await scene.pass(one);
  assert.deepEqual(await scene.names("service"), ["fn", one]);
  assert.equal(await scene.endpoint(one), "dns:///fn.crossplane-system:9443", "the Deployment has not seen it yet");
  await scene.deployed(one, { updatedReplicas: 0 });
  await scene.pass(one);
  assert.equal(await scene.endpoint(one), "dns:///fn.crossplane-system:9443", "old Pods serve, new ones do not yet");
  await scene.deployed(one);
  await scene.pass(one);
  assert.equal(await scene.endpoint(one), `dns:///${one}.crossplane-system:9443`);
  await scene.pass(one);
  const alias = await scene.find("service", "fn");
  assert.equal(alias?.metadata.ownerReferences?.[0]?.kind, "Function");
  assert.equal(leads(alias), one);
  const secrets = ["crossplane-root-ca", `${one}-tls-server`];
  assert.deepEqual(await scene.names("secret"), secrets, "the package's certificate is of no use");
  scene.cluster.takeWrites();
  await scene.pass(one);
  assert.deepEqual(scene.cluster.takeWrites(), []);
});

test("names change back, and the revision's own go when calls have moved", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one, isPerRevision: true });
  await scene.pass(one);
  await scene.deployed(one);
  await scene.pass(one);
  await scene.revise({ name: one });
  await scene.pass(one);
  assert.deepEqual(await scene.names("service"), ["fn", one]);
  assert.equal(await scene.endpoint(one), `dns:///${one}.crossplane-system:9443`);
  await scene.deployed(one);
  await scene.pass(one);
  assert.equal(await scene.endpoint(one), "dns:///fn.crossplane-system:9443");
  await scene.pass(one);
  assert.deepEqual(await scene.names("service"), ["fn"]);
  assert.deepEqual(await scene.names("secret"), ["crossplane-root-ca", "fn-tls-server"]);
});

test("what a revision had by other names stays for a while, which begins again when the revision went meanwhile", async () => {
  let now = Date.now();
  const clock = { now: () => now, schedule: () => () => {} };
  await using scene = await startKubernetesScene({ clock, lingerMs: 5_000 });
  const serve = async (): Promise<void> => {
    await scene.pass(one);
    await scene.deployed(one);
    await scene.pass(one);
  };
  await scene.revise({ name: one, isPerRevision: true });
  await serve();
  await scene.revise({ name: one });
  await serve();
  assert.deepEqual(await scene.pass(one), { requeueAfterMs: 5_000 });
  await scene.revise({ name: one, desiredState: "Inactive" });
  await scene.pass(one);
  now += 5_000;
  await scene.revise({ name: one });
  await serve();
  assert.deepEqual(await scene.pass(one), { requeueAfterMs: 5_000 }, "nothing is known of the time before");
  assert.deepEqual(await scene.names("service"), ["fn", one]);
  now += 5_000;
  await scene.pass(one);
  assert.deepEqual(await scene.names("service"), ["fn"]);
});

test("the alias follows the newest revision that serves", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one });
  await scene.pass(one);
  await scene.revise({ name: one, isPerRevision: true });
  await scene.pass(one);
  await scene.deployed(one);
  await scene.pass(one);
  await scene.revise({ name: two, number: 2, isPerRevision: true });
  await scene.pass(two);
  assert.equal(leads(await scene.find("service", "fn")), one);
  await scene.deployed(two);
  await scene.pass(two);
  assert.equal(leads(await scene.find("service", "fn")), two);
  await scene.pass(one);
  assert.equal(leads(await scene.find("service", "fn")), two, "the old one does not take it back");
  await scene.revise({ name: two, number: 2, isPerRevision: true, desiredState: "Inactive" });
  await scene.pass(two);
  await scene.pass(one);
  assert.equal(leads(await scene.find("service", "fn")), one);
});

test("a Service of another owner is not adopted", async () => {
  await using scene = await startKubernetesScene();
  const spec = { selector: { app: "mine" }, ports: [{ port: 80 }] };
  const theirs = { ...runtimeKinds.service, metadata: { name: "fn", namespace }, spec };
  await scene.cluster.kube.create(theirs);
  await scene.revise({ name: one });
  await assert.rejects(scene.pass(one));
  assert.match(
    await scene.condition(one),
    /^False UnhealthyPackageRevision: cannot prepare package runtime: Service "crossplane-system\/fn" is in the way: it has no owner/,
  );
  assert.match(scene.cluster.takeEvents().join(), /Warning SyncPackage: .*is in the way/);
  assert.deepEqual(memberAt((await scene.find("service", "fn")) ?? {}, ["spec", "selector"]), { app: "mine" });
});

test("what an older Crossplane left is handed over, also where it did not apply its objects", async () => {
  await using scene = await startKubernetesScene();
  const { kube } = scene.cluster;
  const first = await scene.revise({ name: one });
  const owners = { ownerReferences: [controllerReference(first)] };
  const selector = { "pkg.crossplane.io/revision": one, "pkg.crossplane.io/function": "fn" };
  const ports = [{ name: "grpc", port: 9443, protocol: "TCP", targetPort: "grpc" }];
  const metadata = { name: "fn", namespace, ...owners };
  const theirs = { fieldManager: "crossplane" };
  await kube.create({ ...runtimeKinds.service, metadata, spec: { clusterIP: "None", selector, ports } }, theirs);
  const secret = { name: "fn-tls-server", namespace, ...owners };
  await kube.create({ ...runtimeKinds.secret, metadata: secret, data: {} }, theirs);
  await scene.pass(one);
  await scene.revise({ name: two, number: 2 });
  await scene.pass(two);
  await scene.deployed(two);
  await scene.passUntil("the newcomer has it all", two, async () => (await scene.endpoint(two)) !== undefined);
  for (const [kind, name] of [
    ["service", "fn"],
    ["secret", "fn-tls-server"],
  ] as const) {
    const found = await scene.find(kind, name);
    assert.deepEqual(
      found?.metadata.ownerReferences?.map((owner) => owner.name),
      [two],
      kind,
    );
  }
});
