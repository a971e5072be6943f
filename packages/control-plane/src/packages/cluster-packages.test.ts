// SPDX-License-Identifier: Apache-2.0
// Packages on a cluster, from the registry to calls over mutual TLS. The test plays everything that Kubernetes would do.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Clock, systemClock } from "@purlin/base";
import { create, RunFunctionRequest } from "@purlin/function-protocol";
import type { NameResolver, RunStep } from "@purlin/function-runner";
import { response } from "@purlin/function-sdk";
import { eventually } from "@purlin/kube-controller/testing";
import { textOf } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  buildImage,
  createRegistryClient,
  openContentStore,
  parseReference,
  pushPackage,
  startRegistry,
} from "@purlin/oci";
import { conditionStatus, type EmbeddedApi, startEmbeddedApi } from "../../test/embedded-api.ts";
import { type Pods, runPods } from "../../test/pods.ts";
import type { ControlPlaneDeps } from "../control-plane.ts";
import { startControlPlane } from "../start-control-plane.ts";
import { type ClusterPackageOptions, openClusterPackages } from "./cluster-packages.ts";

const namespace = "crossplane-system";
const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const secretType = { apiVersion: "v1", kind: "Secret" };

interface Scene extends AsyncDisposable {
  readonly api: EmbeddedApi;
  readonly pods: Pods;
  readonly parts: ControlPlaneDeps;
  readonly registry: string;
  /** Pushes a function package that prints its version. */
  publish(version: string): Promise<void>;
  install(version: string, name?: string): Promise<void>;
}

/** With `misled`, DNS answers for "fn" with the address of "other". */
async function start(options: Partial<ClusterPackageOptions> = {}, { misled = false } = {}): Promise<Scene> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "purlin-cluster-packages-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const api = starting.use(await startEmbeddedApi());
  const registry = await startRegistry({ directory: join(directory, "registry") });
  starting.defer(() => registry.close());
  // Says which pod answered, after a while, so that there are always calls under way.
  const pods = starting.use(
    runPods(api.users, namespace, (pod) => async (req) => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      const rsp = response.to(req);
      response.normal(rsp, `pod ${pod}`);
      return rsp;
    }),
  );
  const packages = await openClusterPackages({
    directory,
    functionRevisionSelectors: false,
    lingerMs: 500,
    ...options,
  });
  const names: NameResolver = misled
    ? { resolve: (host) => pods.names.resolve(host.replace(/^fn\./, "other.")) }
    : pods.names;
  const functions = { security: packages.security, names };
  const settings = { functionRevisionSelectors: options.functionRevisionSelectors ?? false };
  const plane = startControlPlane({ client: api.connect(), packages, functions, settings });
  starting.defer(() => plane.stop());
  const parts = await plane.ready;
  const store = await openContentStore(join(directory, "build"));
  const closing = starting.move();
  const reference = (version: string, name = "fn"): string => `${registry.address}/acme/${name}:${version}`;
  return {
    api,
    pods,
    parts,
    registry: registry.address,
    async publish(version) {
      const image = await buildImage(store, {
        platform: { os: "linux", architecture: "amd64" },
        process: { entrypoint: ["/fn"], cmd: [], env: [], workingDir: "/", user: "2000" },
        base: [],
        layers: [],
        packageYaml: `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn, annotations: {v: ${version}}}\n`,
      });
      for (const name of ["fn", "other"]) {
        const to = parseReference(reference(version, name));
        await pushPackage(createRegistryClient(), store, { images: [image], to });
      }
    },
    async install(version, name = "fn") {
      const object = { ...functionType, metadata: { name }, spec: { package: reference(version, name) } };
      await api.users.apply(object as KubeObject, { fieldManager: "user", force: true });
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const healthy = ({ api }: Scene, name = "fn"): Promise<unknown> =>
  eventually(`${name} is healthy`, async () => {
    const found = await api.users.get(functionType, { name });
    return conditionStatus(found, "Healthy") === "True";
  });

/** Calls the function once; the answer is the pod that gave it. */
async function call(runStep: RunStep): Promise<string> {
  const request = create(RunFunctionRequest, {});
  const deadline = Date.now() + 60_000;
  const { response: answer } = await runStep({ step: "s", functionName: "fn" }, request, { deadline });
  return answer.results[0]?.message ?? "";
}

interface Load extends AsyncDisposable {
  /** Which pods answered, and what failed, so far. */
  readonly answers: Map<string, number>;
  readonly failures: string[];
  stop(): Promise<void>;
}

/** Calls all the time, several at once. */
function load(runStep: RunStep): Load {
  const answers = new Map<string, number>();
  const failures: string[] = [];
  let stopping = false;
  const one = async (): Promise<void> => {
    while (!stopping) {
      await call(runStep).then(
        (pod) => answers.set(pod, (answers.get(pod) ?? 0) + 1),
        (error: unknown) => failures.push(String(error)),
      );
    }
  };
  const running = Promise.all([one(), one(), one(), one()]);
  const stop = async (): Promise<void> => {
    stopping = true;
    await running;
  };
  return { answers, failures, stop, [Symbol.asyncDispose]: stop };
}

async function poke({ users }: EmbeddedApi, token: string): Promise<void> {
  for (const { metadata } of (await users.list(revisionType)).items) {
    const annotations = { look: token };
    await users.patch({ ...revisionType, name: metadata.name ?? "" }, { metadata: { annotations } }, { type: "merge" });
  }
}

test("a function is installed, runs in a Deployment, is called, and is upgraded under load without a failed call", async () => {
  await using scene = await start();
  const { api, parts } = scene;
  await scene.publish("v1");
  await scene.install("v1");
  await healthy(scene);
  assert.equal(await call(parts.runStep), "pod 1");
  await using calling = load(parts.runStep);
  await scene.publish("v2");
  await scene.install("v2");
  await eventually("the new one answers", async () => (calling.answers.get("pod 2") ?? 0) > 10);
  await eventually("one Deployment is left", async () => {
    const { items } = await api.users.list({ apiVersion: "apps/v1", kind: "Deployment" }, { namespace });
    return items.length === 1;
  });
  await calling.stop();
  assert.deepEqual(calling.failures, []);
});

test("certificates of both sides are renewed while calls are under way, and none fails", async () => {
  const minuteMs = 60_000;
  // The first certificates are as old as they may get: they are good for half an hour, and twenty minutes have passed.
  let offsetMs = -20 * minuteMs;
  const clock: Clock = { now: () => Date.now() + offsetMs, schedule: systemClock.schedule };
  await using scene = await start({ clock, certificateDays: 30 / 1440 });
  const { api, parts } = scene;
  await scene.publish("v1");
  await scene.install("v1");
  await healthy(scene);
  assert.equal(await call(parts.runStep), "pod 1");
  const secretOf = (name: string): Promise<KubeObject> => api.users.get(secretType, { namespace, name });
  const [server, client] = [await secretOf("fn-tls-server"), await secretOf("crossplane-tls-client")];
  await using calling = load(parts.runStep);
  offsetMs = 0;
  await poke(api, "time has passed");
  await api.users.patch(
    { ...secretType, namespace, name: "crossplane-tls-client" },
    { metadata: { annotations: { look: "again" } } },
    { type: "merge" },
  );
  await eventually("a pod with the new certificate answers", async () => (calling.answers.get("pod 2") ?? 0) > 20);
  await eventually("we call with a new one", async () => {
    return JSON.stringify((await secretOf("crossplane-tls-client"))["data"]) !== JSON.stringify(client["data"]);
  });
  assert.notDeepEqual((await secretOf("fn-tls-server"))["data"], server["data"]);
  await calling.stop();
  assert.deepEqual(calling.failures, []);
  assert.equal(scene.pods.started, 2);
  assert.match(await call(parts.runStep), /^pod 2$/);
});

test("an object that a user deletes is created again, and the function keeps serving", async () => {
  await using scene = await start();
  const { api, parts } = scene;
  await scene.publish("v1");
  await scene.install("v1");
  await healthy(scene);
  const [{ metadata: revision } = assert.fail()] = (await api.users.list(revisionType)).items;
  const deployments = { apiVersion: "apps/v1", kind: "Deployment" };
  for (const [type, name] of [
    [{ apiVersion: "v1", kind: "Service" }, "fn"],
    [{ apiVersion: "v1", kind: "ServiceAccount" }, revision.name ?? ""],
    [deployments, revision.name ?? ""],
    [secretType, "fn-tls-server"],
    [secretType, "crossplane-tls-client"],
  ] as const) {
    const before = await api.users.get(type, { namespace, name });
    await api.users.delete({ ...type, namespace, name });
    await eventually(`${type.kind} ${name} is back`, async () => {
      const found = await api.users.get(type, { namespace, name });
      return found.metadata.uid !== before.metadata.uid;
    });
  }
  // The new certificate differs; a server with the old one is replaced together with the Pods.
  await api.users.delete({ ...deployments, namespace, name: revision.name ?? "" });
  await eventually("a Pod with the new certificate is up", async () => {
    const found = await api.users.get(deployments, { namespace, name: revision.name ?? "" });
    return conditionStatus(found, "Available") === "True";
  });
  assert.match(await call(parts.runStep), /^pod \d+$/);
});

test("an address that answers with the certificate of another function is not called", async () => {
  await using scene = await start({}, { misled: true });
  const { parts } = scene;
  await scene.publish("v1");
  await scene.install("v1");
  await scene.install("v1", "other");
  await healthy(scene);
  await healthy(scene, "other");
  const refusals: string[] = [];
  // A machine that is busy may not have found out why when the first call ends.
  await eventually("the call is refused for its certificate", async () => {
    const call = { deadline: Date.now() + 3_000 };
    const run = parts.runStep({ step: "s", functionName: "fn" }, create(RunFunctionRequest, {}), call);
    const refusal = await run.then(() => "it was called", textOf);
    refusals.push(refusal);
    return /fn\.crossplane-system.* is not in the cert's altnames/.test(refusal);
  });
  assert.equal(refusals.includes("it was called"), false);
});

test("a platform that runs functions elsewhere sets Secret, endpoint and condition, and they are used", async () => {
  await using scene = await start({ runtimes: { Function: "External", Provider: "Deployment" } });
  const { api } = scene;
  await scene.publish("v1");
  await scene.install("v1");
  const [revision] = await eventually("there is a revision", async () => {
    const { items } = await api.users.list(revisionType);
    return items.length > 0 && items;
  });
  const name = revision?.metadata.name ?? "";
  await eventually("without a certificate it is not healthy", async () => {
    const found = await api.users.get(revisionType, { name });
    return conditionStatus(found, "RevisionHealthy") === "False";
  });
  const spec = (await api.users.get(revisionType, { name }))["spec"] as Record<string, unknown>;
  assert.equal(spec["tlsServerSecretName"], undefined, "no runtime here runs it");
  await api.users.create({ ...secretType, metadata: { name: "theirs", namespace }, data: { "tls.crt": "eA==" } });
  await eventually("the contract is kept", async () => {
    const found = await api.users.get(revisionType, { name });
    const { conditions = [], ...status } = (found["status"] ?? {}) as { conditions?: object[] };
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const up = { type: "RuntimeHealthy", status: "True", reason: "HealthyPackageRevision", lastTransitionTime };
    const wanted = {
      ...status,
      tlsServerSecretName: "theirs",
      endpoint: "dns:///theirs:9443",
      conditions: [...conditions, up],
    };
    await api.users.update({ ...found, status: wanted } as KubeObject, { subresource: "status" });
    return true;
  });
  await healthy(scene);
  const { items } = await api.users.list({ apiVersion: "apps/v1", kind: "Deployment" }, { namespace });
  assert.deepEqual(items, [], "nothing of ours runs");
  const found = await api.users.get(revisionType, { name });
  assert.equal((found["status"] as { endpoint: string }).endpoint, "dns:///theirs:9443");
});

test("what a cluster needs is made once, and what is there is left as it is", async () => {
  await using api = await startEmbeddedApi();
  const directory = mkdtempSync(join(tmpdir(), "purlin-cluster-packages-"));
  const config = { apiVersion: "pkg.crossplane.io/v1beta1", kind: "DeploymentRuntimeConfig" };
  const run = async (): Promise<void> => {
    const packages = await openClusterPackages({ directory, functionRevisionSelectors: false });
    const plane = startControlPlane({ client: api.connect(), packages, functions: { security: packages.security } });
    await plane.ready;
    packages.security.current();
    await plane.stop();
  };
  await run();
  const serviceTemplate = { metadata: { labels: { mine: "yes" } } };
  const mine = { ...config, metadata: { name: "default" }, spec: { serviceTemplate } };
  await api.users.apply(mine as KubeObject, { fieldManager: "user", force: true });
  api.writes.splice(0);
  await run();
  assert.deepEqual(
    api.writes.filter((write) => !write.includes("/events")),
    [],
  );
  assert.deepEqual((await api.users.get(config, { name: "default" }))["spec"], { serviceTemplate });
  rmSync(directory, { recursive: true, force: true });
});

test("before a control plane runs there is no certificate, which is an error", async () => {
  const directory = mkdtempSync(join(tmpdir(), "purlin-cluster-packages-"));
  const { security } = await openClusterPackages({ directory, functionRevisionSelectors: false });
  assert.throws(() => security.current(), /the client certificate for functions is not ready yet/);
  rmSync(directory, { recursive: true, force: true });
});
