// SPDX-License-Identifier: Apache-2.0
// What users get wrong, and what they may set, on a real API server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, withMember } from "@purlin/kube-objects/object";
import { buildImage, createRegistryClient, parseReference, pushPackage, runtimeLabel } from "@purlin/oci";
import { namespace } from "../../../test/package-cluster.ts";
import { type KubernetesScene, startKubernetesScene } from "../../../test/package-scene.ts";
import { otherKinds } from "../../package-kinds.ts";
import { createRevisionLeases } from "../package-runtime.ts";
import { runtimeKinds } from "./runtime-names.ts";

const one = "fn-aaaaaaaaaaaa";
const two = "fn-bbbbbbbbbbbb";

async function configure(scene: KubernetesScene, name: string, spec: JsonObject): Promise<void> {
  const config = { ...otherKinds.runtimeConfig, metadata: { name }, spec };
  const stored = await scene.cluster.kube.apply(config, { fieldManager: "test", force: true });
  await cached(scene, stored);
}

/** Waits until the caches know an object as it is. */
async function cached({ cluster }: KubernetesScene, object: KubeObject): Promise<void> {
  const key = { name: object.metadata.name ?? "" };
  await eventually("the cache contains it", async () => {
    const seen = await cluster.client.get(object, key);
    return seen?.metadata.resourceVersion === object.metadata.resourceVersion;
  });
}

const named = (template: string, name: string): JsonObject => ({
  [template]: {
    metadata: { name },
    ...(template === "deploymentTemplate" && { spec: { selector: {}, template: { spec: { containers: [] } } } }),
  },
});

test("without its runtime config nothing runs; it recovers when the config is there", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one, spec: { runtimeConfigRef: { name: "mine" } } });
  await assert.rejects(scene.pass(one), /cannot get DeploymentRuntimeConfig "mine": not found/);
  assert.match(await scene.condition(one), /^False .*cannot get DeploymentRuntimeConfig "mine": not found; create it$/);
  assert.deepEqual(await scene.names("deployment"), []);
  await configure(scene, "mine", {});
  await scene.pass(one);
  assert.deepEqual(await scene.names("deployment"), [one]);
});

test("a runtime config of another kind is refused only when kind and group are foreign", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one, spec: { runtimeConfigRef: { name: "default", kind: "Other" } } });
  await scene.pass(one);
  await scene.revise({
    name: one,
    spec: { runtimeConfigRef: { name: "default", kind: "Other", apiVersion: "e.org/v1" } },
  });
  await assert.rejects(scene.pass(one), /runtime config "default" is a Other \(e\.org\/v1\)/);
});

test("an ImageConfig chooses the runtime config by image, and its pull secret goes to the Pods", async () => {
  await using scene = await startKubernetesScene();
  const deploymentTemplate = { metadata: { labels: { chosen: "yes" } } };
  await configure(scene, "chosen", {
    deploymentTemplate: { ...deploymentTemplate, spec: { selector: {}, template: { spec: { containers: [] } } } },
  });
  const imageConfig = await scene.cluster.kube.create({
    ...otherKinds.imageConfig,
    metadata: { name: "acme" },
    spec: {
      matchImages: [{ prefix: "registry.example.org/acme" }],
      runtime: { configRef: { name: "chosen" } },
      registry: { authentication: { pullSecretRef: { name: "pull" } } },
    },
  });
  await cached(scene, imageConfig);
  const applied = [{ name: "acme", reason: "SetImagePullSecret" }];
  await scene.revise({
    name: one,
    spec: { packagePullSecrets: [{ name: "own" }] },
    status: { appliedImageConfigRefs: applied },
  });
  await scene.pass(one);
  const deployment = await scene.find("deployment", one);
  assert.deepEqual(deployment?.metadata.labels, { chosen: "yes" });
  assert.deepEqual(memberAt(deployment ?? {}, ["spec", "template", "spec", "imagePullSecrets"]), [
    { name: "own" },
    { name: "pull" },
  ]);
  const { appliedImageConfigRefs } = (await scene.revision(one))["status"] as { appliedImageConfigRefs: object };
  assert.deepEqual(appliedImageConfigRefs, [...applied, { name: "acme", reason: "ConfigureRuntime" }]);
  await scene.cluster.kube.delete({ ...otherKinds.imageConfig, name: "acme" });
  await eventually(
    "the cache contains it",
    async () => (await scene.cluster.client.get(otherKinds.imageConfig, { name: "acme" })) === undefined,
  );
  scene.cluster.takeEvents();
  await assert.rejects(scene.pass(one), /cannot get ImageConfig "acme" for its pull secret: not found/);
  assert.match(
    scene.cluster.takeEvents().join(),
    /^Warning FetchResolvedImageConfig: cannot run package: cannot get Image/,
  );
});

test("what the control plane may pull its packages may pull; an account that is named must exist", async () => {
  await using scene = await startKubernetesScene({ serviceAccount: "crossplane" });
  await scene.revise({ name: one, spec: { packagePullSecrets: [{ name: "own" }] } });
  await assert.rejects(
    scene.pass(one),
    /cannot get ServiceAccount "crossplane-system\/crossplane", the control plane's own: not found/,
  );
  const account = {
    ...runtimeKinds.serviceAccount,
    metadata: { name: "crossplane", namespace },
    imagePullSecrets: [{ name: "inherited" }],
  };
  await scene.cluster.kube.create(account);
  await scene.passUntil("it recovers", one, async () => (await scene.names("serviceAccount")).includes(one));
  const own = await scene.find("serviceAccount", one);
  assert.deepEqual(own?.["imagePullSecrets"], [{ name: "own" }, { name: "inherited" }]);
  const pods = memberAt((await scene.find("deployment", one)) ?? {}, ["spec", "template", "spec", "imagePullSecrets"]);
  assert.deepEqual(pods, [{ name: "own" }]);
});

test("where the template names an account none is made", async () => {
  await using scene = await startKubernetesScene();
  const spec = { serviceAccountName: "theirs", containers: [] };
  await configure(scene, "default", { deploymentTemplate: { spec: { selector: {}, template: { spec } } } });
  await scene.revise({ name: one });
  await scene.pass(one);
  assert.deepEqual(await scene.names("serviceAccount"), []);
  assert.deepEqual(await scene.names("deployment"), [one]);
});

for (const template of ["deploymentTemplate", "serviceTemplate"]) {
  test(`a name fixed in ${template} cannot be shared by revisions that run side by side`, async () => {
    await using scene = await startKubernetesScene();
    await configure(scene, "default", named(template, "fixed"));
    await scene.revise({ name: one, isPerRevision: true });
    await scene.pass(one);
    await scene.revise({ name: two, number: 2, isPerRevision: true });
    await assert.rejects(scene.pass(two), /"fixed", and fn-aaaaaaaaaaaa would share it/);
    assert.match(await scene.condition(two), new RegExp(`take spec\\.${template}\\.metadata\\.name out`));
  });
}

test("a Deployment whose name is fixed goes to the newest, and the revision that had it before does not delete it", async () => {
  await using scene = await startKubernetesScene();
  await configure(scene, "default", named("deploymentTemplate", "fixed"));
  await scene.revise({ name: one });
  await scene.pass(one);
  await scene.revise({ name: two, number: 2 });
  await scene.passUntil("it is the newcomer's", two, async () => {
    const found = await scene.find("deployment", "fixed");
    return found?.metadata.ownerReferences?.[0]?.name === two;
  });
  await scene.revise({ name: one, desiredState: "Inactive" });
  await scene.pass(one);
  assert.deepEqual(await scene.names("deployment"), ["fixed"]);
});

test("a revision that was never activated runs nothing and is as healthy as its installation", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one, desiredState: "" });
  await scene.pass(one);
  assert.equal(await scene.condition(one), "True HealthyPackageRevision");
  for (const kind of ["deployment", "service", "secret", "serviceAccount"] as const)
    assert.deepEqual(await scene.names(kind), []);
});

test("before its revision is healthy a package has certificate and Service, and nothing runs", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one, status: { conditions: [] } });
  await scene.pass(one);
  assert.equal(await scene.condition(one), "False UnhealthyPackageRevision: Package revision is not healthy yet");
  assert.deepEqual(await scene.names("service"), ["fn"]);
  assert.deepEqual(await scene.names("deployment"), []);
});

test("a paused revision is left alone", async () => {
  await using scene = await startKubernetesScene();
  const created = await scene.revise({ name: one });
  const paused = withMember(created, ["metadata", "annotations"], { "crossplane.io/paused": "true" });
  await cached(scene, await scene.cluster.kube.update(paused));
  await scene.pass(one);
  assert.deepEqual(await scene.names("service"), []);
});

test("a Provider has a certificate to call with, a Service for webhooks, and no endpoint", async () => {
  await using scene = await startKubernetesScene();
  const name = "provider-aaaaaaaaaaaa";
  await scene.revise({ name, kind: "Provider", package: "provider" });
  await scene.pass(name, "Provider");
  await scene.deployed(name);
  await scene.pass(name, "Provider");
  assert.deepEqual(await scene.names("secret"), ["crossplane-root-ca", "provider-tls-client", "provider-tls-server"]);
  const { status } = (await scene.revision(name, "Provider")) as unknown as { status: Record<string, unknown> };
  assert.deepEqual(
    [status["tlsServerSecretName"], status["tlsClientSecretName"], status["endpoint"]],
    ["provider-tls-server", "provider-tls-client", undefined],
  );
  scene.cluster.takeWrites();
  await scene.pass(name, "Provider");
  assert.deepEqual(scene.cluster.takeWrites(), []);
});

test("a TypeScript function without a base is refused with the command that adds one", async () => {
  await using scene = await startKubernetesScene();
  const { cluster } = scene;
  const image = await buildImage(cluster.store, {
    platform: { os: "linux", architecture: "amd64" },
    process: { entrypoint: ["node"], cmd: [], env: [], workingDir: "/", user: "2000" },
    base: [],
    layers: [],
    packageYaml: "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn}\n",
    labels: { [runtimeLabel]: "node" },
  });
  const reference = `${cluster.registry}/acme/bare:v1`;
  await pushPackage(createRegistryClient(), cluster.store, { images: [image], to: parseReference(reference) });
  await scene.revise({ name: one, spec: { image: reference }, status: { resolvedImage: reference } });
  await assert.rejects(scene.pass(one), /brings no Node to run on/);
  assert.match(await scene.condition(one), /purlin xpkg build .* --base /);
  assert.deepEqual(await scene.names("deployment"), []);
});

test("with a digest the image is run by it, and nothing else", async () => {
  await using scene = await startKubernetesScene();
  const digest = `sha256:${"a".repeat(64)}`;
  const resolvedImage = `mirror.example.org/acme/fn:v1@${digest}`;
  await scene.revise({ name: one, isPerRevision: true, spec: { digest }, status: { resolvedImage } });
  await scene.pass(one);
  const containers = memberAt((await scene.find("deployment", one)) ?? {}, ["spec", "template", "spec", "containers"]);
  assert.equal((containers as { image: string }[])[0]?.image, `mirror.example.org/acme/fn@${digest}`);
});

test("what is retired stays while calls are on their way, and while a run uses it", async () => {
  let isInUse = true;
  let now = Date.now();
  const clock = { now: () => now, schedule: () => () => {} };
  await using scene = await startKubernetesScene({
    clock,
    lingerMs: 5_000,
    leases: { ...createRevisionLeases(), isHeld: () => isInUse },
  });
  await scene.revise({ name: one });
  await scene.pass(one);
  await scene.revise({ name: one, desiredState: "Inactive" });
  assert.deepEqual(await scene.pass(one), { requeueAfterMs: 5_000 });
  now += 5_000;
  assert.deepEqual(await scene.pass(one), { requeueAfterMs: 1_000 });
  assert.deepEqual(await scene.names("deployment"), [one]);
  isInUse = false;
  assert.deepEqual(await scene.pass(one), {});
  assert.deepEqual(await scene.names("deployment"), []);
});

test("a Deployment that exceeded its progress deadline is reported in one event", async () => {
  await using scene = await startKubernetesScene();
  await scene.revise({ name: one });
  await scene.pass(one);
  assert.deepEqual(scene.cluster.takeEvents(), [], "a starting Deployment is not a problem");
  await scene.deployed(one, { conditions: [{ type: "Available", status: "False", message: "no Pods" }] });
  await scene.pass(one);
  const message = "function package deployment is unavailable with message: no Pods";
  assert.deepEqual(scene.cluster.takeEvents(), [`Warning SyncPackage: ${message}`]);
  assert.equal(await scene.condition(one), `False UnhealthyPackageRevision: ${message}`);
  await scene.pass(one);
  assert.deepEqual(scene.cluster.takeEvents(), []);
});
