// SPDX-License-Identifier: Apache-2.0
// Recorded runs, read through the service proxy of a real kube-apiserver.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { serveRuns } from "@purlin/control-plane";
import { createKubeClient } from "@purlin/kube-client";
import { openRunStore } from "@purlin/run-store";
import { runInProcess } from "../../packages/cli/test/test-io.ts";
import { eventually } from "../e2e/harness/plane.ts";
import { startKubernetesServer } from "./kubernetes-server.ts";

/** kube-apiserver refuses endpoints on loopback. */
const address = Object.values(networkInterfaces())
  .flatMap((ones) => ones ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

const namespace = "crossplane-system";
const skip = address === undefined && "this machine has no address but loopback";

test("runs ls and runs show read the recorder behind the Service purlin-runs", { skip }, async () => {
  await using opened = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "purlin-runs-"));
  opened.defer(() => rmSync(directory, { recursive: true, force: true }));
  const store = opened.use(openRunStore({ directory }));
  const xr = { apiVersion: "example.org/v1", kind: "App", metadata: { name: "shop", namespace: "default", uid: "u1" } };
  const [beganMs, endedMs] = [Date.now() - 10, Date.now()];
  store.record({ xr, after: xr, cause: "spec", beganMs, endedMs, steps: [], writes: [], outcome: "unchanged" });
  const recorder = await serveRuns(`${address}:0`, { state: "running" }, store);
  opened.defer(() => recorder.close());
  const server = await startKubernetesServer();
  opened.defer(() => server.stop());
  const users = createKubeClient(server.connect());
  opened.defer(() => users.close());
  const purlin = (...args: readonly string[]) => runInProcess([...args, "--kubeconfig", server.kubeconfig]);

  const without = await purlin("runs", "ls");
  assert.equal(without.exitCode, 1);
  assert.match(without.stderr, /the API server has no recorded runs: .*\(services "purlin-runs" not found\)/);

  const port = Number(recorder.address.split(":").at(-1));
  const metadata = { name: "purlin-runs", namespace };
  const ports = [{ name: "runs", port, protocol: "TCP" }];
  await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await users.create({ apiVersion: "v1", kind: "Service", metadata, spec: { ports } });
  // kube-apiserver forwards to addresses of Pods only.
  const containers = [{ name: "purlin", image: "example.org/purlin" }];
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "purlin", namespace },
    spec: { containers, serviceAccountName: "default" },
  };
  await users.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } });
  const made = await users.create(pod);
  const ip = address ?? "";
  await users.update({ ...made, status: { phase: "Running", podIP: ip, podIPs: [{ ip }] } }, { subresource: "status" });
  const targetRef = { kind: "Pod", name: "purlin", namespace };
  // Which of the two a release of kube-apiserver reads is its own choice.
  const subsets = [{ addresses: [{ ip, targetRef }], ports }];
  await users.create({ apiVersion: "v1", kind: "Endpoints", metadata, subsets });
  await users.create({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": "purlin-runs" } },
    addressType: "IPv4",
    endpoints: [{ targetRef, addresses: [ip], conditions: { ready: true } }],
    ports,
  });
  const listed = await eventually("the endpoints are known", async () => {
    const outcome = await purlin("runs", "ls");
    return outcome.exitCode === 0 && outcome;
  });
  const [, id = "", xrName] = /^RUN.*\n(\S+) +\S+ +(\S+)/.exec(listed.stdout) ?? [];
  assert.equal(xrName, "App/default/shop", listed.stdout);
  const shown = await purlin("runs", "show", id);
  assert.equal(shown.exitCode, 0, shown.stderr);
  assert.match(shown.stdout, new RegExp(id));
});
